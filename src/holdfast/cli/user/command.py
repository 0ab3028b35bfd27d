"""`holdfast user`: the users that log in with SCRAM or PLAIN, in a store: before the first start, or beside a broker.

The parts are imported where they are used: `--help`, `--version` and completion must not wait for them.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.terminal.options import JsonOption
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


@app.command("add")
def add_command(
    name: NameArgument,
    mechanism: MechanismOption = "SCRAM-SHA-512",
    data: DataOption = None,
    store: StoreOption = None,
) -> None:
    """Make a user, or give one another password: asked for at the terminal, or the first line of stdin.

    Also before the first start. A broker that runs takes it within seconds.

    \b
    Examples:
      holdfast user add alice --data ./data
      holdfast user add alice --store s3://bucket/prefix < password.txt
    """
    from holdfast.cli.user.work import add_user, open_users

    users = open_users(data, store, is_new=True)
    add_user(users, name, mechanism, _password(name))
    tell(f"user {name} logs in with {mechanism}, and with PLAIN where it is offered")


@app.command("list")
def list_command(data: DataOption = None, store: StoreOption = None, as_json: JsonOption = False) -> None:
    """Which users there are, and how they log in.

    \b
    Examples:
      holdfast user list --data ./data
      holdfast user list --store s3://bucket/prefix --json
    """
    from holdfast.cli.user.work import list_users, open_users

    facts = list_users(open_users(data, store))
    give_table(facts, {"user": "user", "mechanism": "mechanism", "iterations": "iterations"}, as_json=as_json)


@app.command("remove")
def remove_command(
    name: NameArgument,
    mechanism: Annotated[
        str | None, typer.Option("--mechanism", metavar="MECHANISM", help="Only this one; otherwise all.")
    ] = None,
    data: DataOption = None,
    store: StoreOption = None,
) -> None:
    """Remove a user. Sessions that are open end as `connections.max.reauth.ms` says.

    \b
    Examples:
      holdfast user remove alice --data ./data
      holdfast user remove alice --mechanism SCRAM-SHA-256 --store s3://bucket/prefix
    """
    from holdfast.cli.user.work import open_users, remove

    remove(open_users(data, store), name, mechanism)
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
