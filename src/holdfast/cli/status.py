"""`holdfast status`: whether a running broker is well, as its metrics say."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

import typer

from holdfast.cli.terminal.table import give_table
from holdfast.cli.terminal.talk import give_json, tell
from holdfast.errors import Rejected, Unavailable
from holdfast.io.address import Address, parse_address

_TIMEOUT_S = 10.0
_COUNTS = (
    "holdfast_producers_held_back",
    "holdfast_damage_met_total",
    "holdfast_batches_mended_total",
    "holdfast_store_waiting",
    "holdfast_store_waiting_seconds",
    "holdfast_store_waiting_partitions",
)
_COLUMNS = {"topic": "topic", "partition": "partition", "state": "state", "damaged": "damaged objects"}

AddressArgument = Annotated[
    str, typer.Argument(metavar="HOST:PORT", help="Where the broker's metrics are: what `serve --metrics` was given.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="One JSON object instead of a table.")]


def status(address: AddressArgument = "127.0.0.1:9095", as_json: JsonOption = False) -> None:
    """Say who owns the store, which partitions are failed or damaged, and whether producers are held back.

    A failed partition is served to nobody: it is set aside, or another broker has taken it. Of a damaged one all is
    served but what is damaged; the broker's log says which objects these are. Exit code 1: something is not well.

    \b
    Examples:
      holdfast status                          the broker of this machine
      holdfast status 10.0.0.7:9095 --json     for a script
    """
    found = ask(address)
    if as_json:
        give_json(found)
    else:
        _show(found)
    if not found["well"]:
        raise typer.Exit(1)


def ask(address: str) -> dict[str, Any]:
    """What a running broker says of itself, in short."""
    return examine(_samples(_scrape(parse_address(address))))


def examine(samples: Iterable[tuple[str, dict[str, str], float]]) -> dict[str, Any]:
    """What is not well, of the samples of one scrape."""
    partitions: dict[tuple[str, int], dict[str, Any]] = {}
    counts = dict.fromkeys(_COUNTS, 0)
    asked = False
    owner: dict[str, Any] = {}
    for name, labels, value in samples:
        if name == "holdfast_owner":
            owner["is_owner"] = value > 0
        elif name == "holdfast_owner_claim":
            owner["claim"] = int(value)
        elif name == "holdfast_writer_info":
            owner |= labels
        elif name in counts:
            counts[name] += int(value)
        elif name in ("holdfast_partition_failed", "holdfast_partition_damaged"):
            where = labels["topic"], int(labels["partition"])
            row = {"topic": where[0], "partition": where[1], "state": "served", "damaged": 0}
            row = partitions.setdefault(where, row)
            if name == "holdfast_partition_damaged":
                row["damaged"] = int(value)
            elif value:
                row["state"] = "failed"
        asked = asked or name == "holdfast_info"
    if not asked:
        raise Rejected("what answers there is no broker of Holdfast, or has no metrics of one")
    unwell = [row for _, row in sorted(partitions.items()) if row["state"] == "failed" or row["damaged"]]
    held_back = counts["holdfast_producers_held_back"] > 0
    waits = counts["holdfast_store_waiting"] > 0
    return {
        "well": not unwell and not held_back and not waits and owner.get("is_owner", True),
        "owner": owner or None,  # Nobody knows before the store has answered.
        "waits_for_store": waits,
        "waited_seconds": counts["holdfast_store_waiting_seconds"],
        "served_from_log": sorted(f"{topic}-{number}" for topic, number in partitions) if waits else [],
        "partitions": len(partitions),
        "unwell": unwell,
        "producers_held_back": held_back,
        "damage_met": counts["holdfast_damage_met_total"],
        "batches_mended": counts["holdfast_batches_mended_total"],
    }


def _show(found: dict[str, Any]) -> None:
    if found["waits_for_store"]:
        served = found["served_from_log"]
        tell(f"the store has not answered since the start, {found['waited_seconds']} s ago: writes are refused")
        tell(f"{len(served)} partitions are read from the write-ahead log meanwhile: {', '.join(served) or 'none'}")
        return
    if found["owner"] is not None:
        tell(_owner_line(found["owner"]))
    if found["unwell"]:
        give_table(found["unwell"], _COLUMNS, as_json=False)
    if found["producers_held_back"]:
        tell("producers are held back: there is no room for what they send")
    if found["batches_mended"]:
        tell(f"{found['batches_mended']} batches had changed in memory: check this machine's memory")
    tell(f"{len(found['unwell'])} of {found['partitions']} partitions are not well")


def _owner_line(owner: dict[str, Any]) -> str:
    who = f"broker {owner.get('broker', '?')}, process {owner.get('incarnation', '?')}, {owner.get('place', '')}"
    if not owner.get("is_owner", False):
        return f"another has taken the store over, and nothing is acknowledged here; this is {who}"
    return f"owns the store, claim {owner.get('claim', '?')}: {who}"


def _scrape(address: Address) -> str:
    import http.client  # Here: no other command needs it.

    connection = http.client.HTTPConnection(address.host, address.port, timeout=_TIMEOUT_S)
    try:
        connection.request("GET", "/metrics")
        answer = connection.getresponse()
        text = answer.read().decode()
    except (OSError, http.client.HTTPException, UnicodeDecodeError) as failure:
        raise Unavailable(f"no metrics at {address}: {failure}; was the broker started with --metrics?") from failure
    finally:
        connection.close()
    if answer.status != http.client.OK:
        raise Unavailable(f"no metrics at {address}: {answer.status} {answer.reason}")
    return text


def _samples(text: str) -> list[tuple[str, dict[str, str], float]]:
    from prometheus_client.parser import text_string_to_metric_families

    try:
        families = list(text_string_to_metric_families(text))
    except ValueError as failure:
        raise Rejected(f"what answers there are no metrics: {failure}") from failure
    return [(each.name, each.labels, each.value) for family in families for each in family.samples]
