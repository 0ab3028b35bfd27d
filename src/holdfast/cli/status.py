"""`holdfast status`: whether a running broker is well, as its metrics say."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from holdfast.cli.terminal.options import CommandConfigOption
from holdfast.cli.terminal.table import give_table
from holdfast.cli.terminal.talk import give_json, tell
from holdfast.operate.status import ask
from holdfast.units import counted

_COLUMNS = {"topic": "topic", "partition": "partition", "state": "state", "damaged": "damaged objects"}

AddressArgument = Annotated[
    str, typer.Argument(metavar="HOST:PORT", help="Where the broker's metrics are: what `serve --metrics` was given.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="One JSON object instead of a table.")]


def status(
    address: AddressArgument = "127.0.0.1:9095", as_json: JsonOption = False, config: CommandConfigOption = None
) -> None:
    """Say in one line whether a broker is well, then what is not: partitions, producers held back, the store, the disk.

    A failed partition is served to nobody: it cannot be opened, it is in quarantine, or another broker has
    taken it. Of a damaged one all is served but what is damaged; the broker's log says which objects these are.
    Exit code 1: something is not well.

    \b
    Examples:
      holdfast status                          the broker of this machine
      holdfast status 10.0.0.7:9095 --json     for a script
      holdfast status broker.example:9095 --command-config client.properties
    """
    from holdfast.client.settings import read_security

    found = ask(address, read_security(config))
    if as_json:
        give_json(found)
    else:
        _show(found)
    if not found["well"]:
        raise typer.Exit(1)


def _show(found: dict[str, Any]) -> None:
    if found["waits_for_store"]:
        served = found["served_from_log"]
        tell(f"the store has not answered since the start, {found['waited_seconds']} s ago: writes are refused")
        are = "is" if len(served) == 1 else "are"
        names = f": {', '.join(served)}" if served else ""
        tell(f"{counted(len(served), 'partition')} {are} read from the write-ahead log meanwhile{names}")
        return
    if found["stands_by"]:
        print("well; ready to take over: another broker of the cluster leads")
        return
    print(_first_line(found))
    if found["owner"] is not None:
        tell(_owner_line(found["owner"]))
    if found["unwell"]:
        give_table(found["unwell"], _COLUMNS, as_json=False)
    if found["producers_held_back"]:
        tell(f"producers are held back: there is no room for what they send ({', '.join(found['held_back_by'])})")
    if found["store_away_seconds"]:
        tell(
            f"the store has not answered for {found['store_away_seconds']:.0f} s: what is acknowledged stays in the "
            "write-ahead log meanwhile, and what is only in the store cannot be read"
        )
    if found["store_failures"]:
        tell(f"{counted(int(found['store_failures']), 'call')} of the store failed since the start")
    for quota, count in sorted(found["throttled"].items()):
        tell(f"{counted(count, 'request')} {'was' if count == 1 else 'were'} told to wait by the quota {quota}")
    if found["batches_mended"]:
        tell(f"{counted(found['batches_mended'], 'batch')} had changed in memory: check this machine's memory")
    if found["unwell"]:
        are = "is" if len(found["unwell"]) == 1 else "are"
        tell(f"{len(found['unwell'])} of {counted(found['partitions'], 'partition')} {are} not well")


def _first_line(found: dict[str, Any]) -> str:
    """Health, and the figures that somebody asks for first."""
    parts = [
        "well" if found["well"] else "NOT WELL",
        f"{found['partitions'] - len(found['unwell'])} of {counted(found['partitions'], 'partition')} served",
    ]
    if found["unflushed_bytes"] is not None:
        age = f", the oldest for {found['unflushed_seconds']:.0f} s" if found["unflushed_seconds"] else ""
        parts.append(f"{_size(found['unflushed_bytes'])} in no segment yet{age}")
    if found["wal_bytes"] is not None:
        parts.append(f"write-ahead log {_size(found['wal_bytes'])}")
    if found["disk_free_bytes"] is not None:
        parts.append(f"disk {_size(found['disk_free_bytes'])} free")
    if found["connections"] is not None:
        parts.append(f"{counted(int(found['connections']), 'connection')}")
    return "; ".join(parts)


def _size(count: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} TiB"


def _owner_line(owner: dict[str, Any]) -> str:
    who = f"broker {owner.get('broker', '?')}, process {owner.get('incarnation', '?')}, {owner.get('place', '')}"
    if not owner.get("is_owner", False):
        return f"another has taken the store over, and nothing is acknowledged here; this is {who}"
    return f"owns the store, claim {owner.get('claim', '?')}: {who}"
