"""`holdfast cluster`: look at brokers that share a store.

The parts are imported where they are used: `--help`, `--version` and completion must not wait for them.
"""

from __future__ import annotations

from typing import Annotated, Any

import typer

from holdfast.cli.terminal.table import give_table
from holdfast.cli.terminal.talk import give_json, tell

app = typer.Typer(
    no_args_is_help=True,
    help="Look at brokers that share a store, move partitions between them, drain one, and raise their level.",
    rich_markup_mode="rich",
)

_COLUMNS = {
    "broker": "broker",
    "life": "life",
    "address": "address",
    "rack": "rack",
    "state": "state",
    "partitions": "leads",
    "beat": "beat",
    "version": "metadata",
    "release": "release",
    "level": "level",
    "place": "place",
}

PlaceArgument = Annotated[
    str, typer.Argument(metavar="STORE", help="The store they share, such as s3://bucket/prefix.")
]
PartitionArgument = Annotated[str, typer.Argument(metavar="TOPIC:PARTITION", help="What is to be led.")]
BrokerArgument = Annotated[int, typer.Argument(metavar="BROKER", help="Who is to lead it, by its number (node.id).")]
DrainedArgument = Annotated[int, typer.Argument(metavar="BROKER", help="Who is to lead nothing, by its number.")]
SecondsOption = Annotated[float, typer.Option("--seconds", help="For how long to wait until all is handed over.")]
JsonOption = Annotated[bool, typer.Option("--json", help="One JSON object instead of a table.")]
UpgradeJsonOption = Annotated[bool, typer.Option("--json", help="One JSON object instead of a sentence.")]


@app.callback()
def cluster() -> None:
    """Look at brokers that share a store, move partitions between them, drain one, and raise their level."""


@app.command("status")
def status_command(place: PlaceArgument, as_json: JsonOption = False) -> None:
    """Say who is in the cluster, who leads, and who has fallen silent, from the store alone.

    It takes some seconds: a broker lives if it says something meanwhile. Exit code 1: nobody leads, or the leader is
    silent.

    \b
    Examples:
      holdfast cluster status s3://bucket/prefix
      holdfast cluster status /srv/store --json
    """
    from holdfast.io.calls import ThreadCalls
    from holdfast.operate.members import look_at_members
    from holdfast.operate.place import open_place

    found = look_at_members(open_place(place, None).objects, ThreadCalls().block)
    if as_json:
        give_json(found)
    else:
        _show(found)
    if not any(each["state"] == "leads" for each in found["brokers"]):
        raise typer.Exit(1)


@app.command("move")
def move_command(place: PlaceArgument, partition: PartitionArgument, broker: BrokerArgument) -> None:
    """Let a broker lead a partition, where each has a leader of its own (cluster.leaders=many).

    Whoever leads it now hands it over, within a second or two.

    \b
    Examples:
      holdfast cluster move s3://bucket/prefix orders:3 2
    """
    from holdfast.errors import Rejected
    from holdfast.io.calls import ThreadCalls
    from holdfast.operate.members import wish_for
    from holdfast.operate.place import open_place

    topic, _, number = partition.rpartition(":")
    if not topic or not number.isdecimal():
        raise Rejected(f"{partition} is no partition: write TOPIC:PARTITION, as in orders:3")
    wish_for(open_place(place, None).objects, ThreadCalls().block, topic, int(number), broker)
    tell(f"{partition} is to be led by broker {broker}")


@app.command("drain")
def drain_command(place: PlaceArgument, broker: DrainedArgument, seconds: SecondsOption = 60.0) -> None:
    """Let a broker hand over all that it leads, where many lead (cluster.leaders=many), and be given nothing any more.

    When this returns it may be stopped, and nobody has to wait. It leads again when it is started anew.

    \b
    Examples:
      holdfast cluster drain s3://bucket/prefix 2
    """
    from holdfast.io.calls import ThreadCalls
    from holdfast.operate.members import drain
    from holdfast.operate.place import open_place

    count = drain(open_place(place, None).objects, ThreadCalls().block, broker, seconds)
    tell(f"broker {broker} has handed over {count} partitions, and leads nothing")


@app.command("upgrade")
def upgrade_command(place: PlaceArgument, as_json: UpgradeJsonOption = False) -> None:
    """Let brokers write what their release has new, when all of them know it: raise the level of the cluster.

    It goes to the highest level that all brokers know. Releases that do not know it are refused from then on, and
    there is no way back. Exit code 1: some brokers know a higher level, and others do not yet; they are named.

    \b
    Examples:
      holdfast cluster upgrade s3://bucket/prefix
      holdfast cluster upgrade /srv/store --json
    """
    from holdfast.io.calls import ThreadCalls
    from holdfast.operate.levels import upgrade
    from holdfast.operate.place import open_place

    found = upgrade(open_place(place, None).objects, ThreadCalls().block)
    if as_json:
        give_json(found)
    else:
        tell(_raised(found))
    if found["behind"]:
        raise typer.Exit(1)


def _raised(found: dict[str, Any]) -> str:
    known = {each["broker"]: each["level"] for each in found["brokers"]}
    went = f"went from level {found['before']} to" if found["level"] > found["before"] else "is at level"
    count = f"all {len(known)} brokers know" if len(known) > 1 else "its broker knows"
    said = f"cluster {found['cluster']} {went} {found['level']}, which is the highest that {count}"
    if not found["behind"]:
        return said
    behind = "; ".join(f"broker {each} knows up to level {known[each]}" for each in found["behind"])
    return f"{said}: some know level {max(known.values())}, and {behind}; replace these, then ask again"


def _show(found: dict[str, Any]) -> None:
    if found["brokers"]:
        has_racks = any(each["rack"] for each in found["brokers"])
        known = {name for name in found["brokers"][0] if has_racks or name != "rack"}
        columns = {name: title for name, title in _COLUMNS.items() if name in known}
        give_table(found["brokers"], columns, as_json=False)
    leader = next((each for each in found["brokers"] if each["leads"]), None)
    if not found["brokers"]:
        tell("no broker shares this store now")
    elif leader is None:
        tell("nobody leads: the eldest that lives will in a moment")
    elif found["is_spread"]:
        tell(
            f"{found['partitions'] - found['without_leader']} partitions are led, {found['without_leader']} are not; "
            f"{found['to_settle']} lives are to be settled, {found['wishes']} partitions are to move"
        )
    elif leader["state"] == "silent":
        tell(
            f"broker {leader['broker']} leads and is silent: the eldest that lives takes over after cluster.takeover_ms"
        )
    for each in found["brokers"]:
        if each["unreachable"]:
            others = ", ".join(map(str, each["unreachable"]))
            tell(f"broker {each['broker']} cannot reach {others}: transactions over both wait; look at the network")
    size = found["series_size"]
    tell(
        f"cluster {found['cluster']}, metadata {found['version']}, level {found['level']}: "
        f"{found['partitions']} partitions; "
        f"{size} bytes in {found['series']} series of rounds"
    )
