"""`holdfast user`: the users that log in with SCRAM or PLAIN: through a broker, or in a store, before the first start.

The parts are imported where they are used: `--help`, `--version` and completion must not wait for them.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.terminal.options import CommandConfigOption, JsonOption
from holdfast.cli.terminal.table import give_table
from holdfast.cli.terminal.talk import tell

if TYPE_CHECKING:
    from holdfast.security.secret import Secret

app = typer.Typer(no_args_is_help=True, help="Users that log in with SASL.", rich_markup_mode="rich")

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="The user's name.")]
MechanismOption = Annotated[
    str, typer.Option("--mechanism", metavar="MECHANISM", help="SCRAM-SHA-512 or SCRAM-SHA-256.")
]
DataOption = Annotated[
    str | None, typer.Option("--data", metavar="DIR", help="The broker's data directory, if its store lies there.")
]
StoreOption = Annotated[str | None, typer.Option("--store", metavar="URL", help="The store, if it lies elsewhere.")]
BootstrapOption = Annotated[
    str | None, typer.Option("--bootstrap", metavar="HOST:PORT", help="Or a broker that runs, which is asked.")
]


@app.command("add")
def add_command(
    name: NameArgument,
    mechanism: MechanismOption = "SCRAM-SHA-512",
    data: DataOption = None,
    store: StoreOption = None,
    bootstrap: BootstrapOption = None,
    config: CommandConfigOption = None,
) -> None:
    """Make a user, or give one another password: asked for at the terminal, or the first line of stdin.

    In a store also before the first start; a broker that runs takes it from there within seconds. A broker that is
    asked takes it at once, and is not told the password.

    \b
    Examples:
      holdfast user add alice --data ./data
      holdfast user add alice --store s3://bucket/prefix < password.txt
      holdfast user add alice --bootstrap broker.example:9093 --command-config admin.properties
    """
    from holdfast.cli.user.work import UsersPlace, open_users

    with open_users(UsersPlace(data, store, bootstrap, config), is_new=True) as users:
        users.add(name, mechanism, _password(name))
    tell(f"user {name} logs in with {mechanism}, and with PLAIN where it is offered")


@app.command("list")
def list_command(
    data: DataOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
    bootstrap: BootstrapOption = None,
    config: CommandConfigOption = None,
) -> None:
    """Which users there are, and how they log in.

    \b
    Examples:
      holdfast user list --data ./data
      holdfast user list --store s3://bucket/prefix --json
      holdfast user list --command-config admin.properties
    """
    from holdfast.cli.user.work import UsersPlace, list_users, open_users

    with open_users(UsersPlace(data, store, bootstrap, config)) as users:
        facts = list_users(users)
    give_table(facts, {"user": "user", "mechanism": "mechanism", "iterations": "iterations"}, as_json=as_json)


@app.command("remove")
def remove_command(
    name: NameArgument,
    mechanism: Annotated[
        str | None, typer.Option("--mechanism", metavar="MECHANISM", help="Only this one; otherwise all.")
    ] = None,
    data: DataOption = None,
    store: StoreOption = None,
    bootstrap: BootstrapOption = None,
    config: CommandConfigOption = None,
) -> None:
    """Remove a user. Sessions that are open end as `connections.max.reauth.ms` says.

    \b
    Examples:
      holdfast user remove alice --data ./data
      holdfast user remove alice --mechanism SCRAM-SHA-256 --store s3://bucket/prefix
      holdfast user remove alice --command-config admin.properties
    """
    from holdfast.cli.user.work import UsersPlace, open_users, remove

    with open_users(UsersPlace(data, store, bootstrap, config)) as users:
        remove(users, name, mechanism)
    tell(f"user {name} is removed" if mechanism is None else f"user {name} is removed from {mechanism}")


def _password(name: str) -> Secret:
    """Never from an argument: other users of the machine see those."""
    from getpass import getpass

    from holdfast.errors import Rejected
    from holdfast.security.secret import Secret

    if sys.stdin.isatty():
        found = Secret(getpass(f"Password of {name}: "))
        if Secret(getpass("Once more: ")) != found:
            raise Rejected("the two passwords differ")
    else:
        found = Secret(sys.stdin.readline().rstrip("\r\n"))
    if not found:
        raise Rejected("a password is not empty: write it to stdin, or call this at a terminal")
    return found
