"""How partitions, segments, tails and batches are shown to people: one line each, readable without colour."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from holdfast.units import counted

STAT_COLUMNS = {
    "topic": "topic",
    "topic_id": "topic id",
    "partition": "partition",
    "log_start": "log start",
    "flushed": "flushed",
    "log_end": "log end",
    "segments": "segments",
    "bytes": "bytes",
    "records": "records",
    "tail_records": "in the tail",
    "epochs": "epochs",
    "first_timestamp": "first time",
    "last_timestamp": "last time",
}
DUMP_HEADING = (
    f"{'kind':<8} {'base':>14} {'end':>14}  {'position':>10}  {'size':>10}  {'records':>9}  {'codec':<6}  {'crc':<3}  "
    f"{'first time':<24}  {'last time':<24}  detail"
)
_EPOCHS_SHOWN = 3


def stat_row(facts: dict[str, Any]) -> list[str]:
    """One partition."""
    shown = facts | {
        "epochs": epochs_text(facts["epochs"]),
        "first_timestamp": time_text(facts["first_timestamp"]),
        "last_timestamp": time_text(facts["last_timestamp"]),
    }
    return ["-" if shown[name] is None else str(shown[name]) for name in STAT_COLUMNS]


def epochs_text(epochs: list[dict[str, int]]) -> str:
    """The newest epochs, each with the offset where it begins."""
    shown = [f"{each['epoch']}@{each['start']}" for each in epochs]
    return " ".join(["…", *shown[-_EPOCHS_SHOWN:]] if len(shown) > _EPOCHS_SHOWN else shown)


def time_text(timestamp: int | None) -> str:
    """Milliseconds since 1970 as a time in UTC. A client may send any number, also one that no calendar has."""
    if timestamp is None or timestamp == -1:
        return "-"
    try:
        return datetime.fromtimestamp(timestamp // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S") + f".{timestamp % 1000:03}Z"
    except (ValueError, OverflowError, OSError):
        return str(timestamp)


def partition_line(facts: dict[str, Any]) -> str:
    """What stands above the lines of one partition."""
    tail = "" if facts["log_end"] is None else f", log end {facts['log_end']}"
    return (
        f"topic {facts['topic'] or facts['topic_id']} partition {facts['partition']}: log start {facts['log_start']}, "
        f"flushed {facts['flushed']}{tail}, epochs {epochs_text(facts['epochs'])}"
    )


def dump_line(facts: dict[str, Any]) -> str:
    """One segment, tail or batch."""
    crc = {True: "ok", False: "BAD", None: ""}[facts.get("crc_ok")]
    return (
        f"{facts['kind']:<8} {facts['base']:>14} {facts['end']:>14}  {facts.get('position', ''):>10}  "
        f"{facts['size']:>10}  {facts['records']:>9}  {facts.get('codec', ''):<6}  {crc:<3}  "
        f"{time_text(facts['first_timestamp']):<24}  {time_text(facts['last_timestamp']):<24}  {_detail(facts)}"
    ).rstrip()


def _detail(facts: dict[str, Any]) -> str:
    words = [f"entry {facts['entry']}"] if "entry" in facts else []
    if facts.get("producer_id", -1) != -1:
        words.append(f"producer {facts['producer_id']}, epoch {facts['producer_epoch']}, from {facts['base_sequence']}")
    words += [word for word in ("transactional", "control", "compacted") if facts.get(word)]
    if facts.get("aborted_transactions"):
        words.append(f"{facts['aborted_transactions']} aborted")
    if "batches" in facts:
        words.append(f"{counted(facts['batches'], 'batch')} in the write-ahead log")
    if "name" in facts:
        words.append(facts["name"].rpartition("/")[2])
    return ", ".join(words)
