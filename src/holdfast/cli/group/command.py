"""`holdfast group`: consumer groups of a running broker, their members, and how far they have read.

The parts are imported where they are used: `--help`, `--version` and completion must not wait for them.
"""

from __future__ import annotations

from typing import Annotated

import typer

from holdfast.cli.terminal.complete import group_names, topic_names
from holdfast.cli.terminal.options import BootstrapOption, CommandConfigOption, JsonOption, YesOption, ask_first
from holdfast.cli.terminal.table import give_table
from holdfast.cli.terminal.talk import give_json
from holdfast.units import counted

app = typer.Typer(no_args_is_help=True, help="Consumer groups of a running broker.", rich_markup_mode="rich")

GroupArgument = Annotated[str, typer.Argument(metavar="GROUP", help="The group's id.", autocompletion=group_names)]
WhereArgument = Annotated[
    str,
    typer.Argument(
        metavar="WHERE",
        help="earliest, latest, an offset, -N for the last N of each partition, a time such as 2026-01-31T12:00, "
        "or how long ago: 90s, 2h, 7d.",
    ),
]
TopicOption = Annotated[
    list[str] | None,
    typer.Option("--topic", metavar="TOPIC", help="Only this topic. May be repeated.", autocompletion=topic_names),
]
PartitionOption = Annotated[
    list[int] | None, typer.Option("--partition", metavar="N", help="Only this partition. May be repeated.")
]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Show where it would go on, and change nothing.")]
GroupsArgument = Annotated[
    list[str], typer.Argument(metavar="GROUP…", help="The groups' ids.", autocompletion=group_names)
]


@app.command("list")
def list_command(
    as_json: JsonOption = False, bootstrap: BootstrapOption = None, config: CommandConfigOption = None
) -> None:
    """Which groups there are, and what they are doing.

    \b
    Examples:
      holdfast group list
      holdfast group list --json
    """
    from holdfast.cli.group.work import list_groups
    from holdfast.cli.terminal.broker import asking, broker_at

    columns = {"group": "group", "state": "state", "protocol_type": "protocol type"}
    with asking(broker_at(bootstrap, config)) as client:
        facts = list_groups(client)
    give_table(facts, columns, as_json=as_json)


@app.command("describe")
def describe_command(
    groups: GroupsArgument,
    as_json: JsonOption = False,
    bootstrap: BootstrapOption = None,
    config: CommandConfigOption = None,
) -> None:
    """The members of groups, and which partitions each has.

    \b
    Examples:
      holdfast group describe billing
      holdfast group describe billing audit --json
    """
    from holdfast.cli.group.work import describe_groups
    from holdfast.cli.terminal.broker import asking, broker_at

    columns = {"member": "member", "instance": "instance", "client": "client", "host": "host", "shown": "partitions"}
    with asking(broker_at(bootstrap, config)) as client:
        described = describe_groups(client, groups)
    for each in described:
        if as_json:
            give_json(each)
            continue
        protocol = f", protocol {each['protocol']}" if each["protocol"] else ""
        print(f"group {each['group']}, {each['state']}{protocol}, {counted(len(each['members']), 'member')}")
        if each["members"]:
            rows = [member | {"shown": _partitions(member["partitions"])} for member in each["members"]]
            give_table(rows, columns, as_json=False)


def _partitions(assigned: dict[str, list[int]] | None) -> str:
    if assigned is None:
        return "-"
    return " ".join(f"{topic}-{','.join(map(str, numbers))}" for topic, numbers in assigned.items()) or "none"


@app.command("offsets")
def offsets_command(
    group: GroupArgument,
    as_json: JsonOption = False,
    bootstrap: BootstrapOption = None,
    config: CommandConfigOption = None,
) -> None:
    """How far a group has read: committed offset, end and lag of each partition.

    \b
    Examples:
      holdfast group offsets billing
      holdfast group offsets billing --json
    """
    from holdfast.cli.group.work import find_lags
    from holdfast.cli.terminal.broker import asking, broker_at

    columns = {"topic": "topic", "partition": "partition", "committed": "committed", "end": "end", "lag": "lag"}
    columns |= {"metadata": "metadata"}
    with asking(broker_at(bootstrap, config)) as client:
        lags = find_lags(client, group)
    give_table(lags, columns, as_json=as_json)


@app.command("seek", context_settings={"ignore_unknown_options": True})  # -10 is a place.
def seek_command(
    group: GroupArgument,
    where: WhereArgument,
    topics: TopicOption = None,
    partitions: PartitionOption = None,
    dry_run: DryRunOption = False,
    yes: YesOption = False,
    as_json: JsonOption = False,
    bootstrap: BootstrapOption = None,
    config: CommandConfigOption = None,
) -> None:
    """Let a group without members go on elsewhere: in all topics that it has read, or in those that are named.

    \b
    Examples:
      holdfast group seek billing earliest --dry-run
      holdfast group seek billing 2026-01-31T12:00 --topic orders
      holdfast group seek billing 2h --yes
      holdfast group seek billing 1500 --topic orders --partition 3
      holdfast group seek billing -10
    """
    from holdfast.cli.consume.start import parse_start
    from holdfast.cli.group.work import check_empty, find_seek, seek
    from holdfast.cli.terminal.broker import asking, broker_at
    from holdfast.io.clock import SystemClock

    columns = {"topic": "topic", "partition": "partition", "committed": "committed", "new": "new"}
    with asking(broker_at(bootstrap, config)) as client:
        check_empty(client, group)
        found = find_seek(client, group, parse_start(where, SystemClock().now_ms()), topics or (), partitions or ())
        give_table(found, columns, as_json=as_json)
        if dry_run:
            return
        ask_first(f"Let {group} go on there?", yes=yes)
        seek(client, group, found)


@app.command("delete")
def delete_command(
    groups: GroupsArgument,
    yes: YesOption = False,
    as_json: JsonOption = False,
    bootstrap: BootstrapOption = None,
    config: CommandConfigOption = None,
) -> None:
    """Delete groups without members, with the offsets they committed.

    \b
    Examples:
      holdfast group delete billing
      holdfast group delete billing audit --yes
    """
    from holdfast.cli.terminal.broker import asking, broker_at

    ask_first(f"Delete {', '.join(groups)} with all committed offsets?", yes=yes)
    with asking(broker_at(bootstrap, config)) as client:
        for group in groups:
            client.delete_group(group)
            if as_json:
                give_json({"group": group})
            else:
                print(f"group {group} deleted")
