"""How the records and the state of a write-ahead log are shown: as a line of text, and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from holdfast.wal.inspect import RecordLine, WalVerdict
    from holdfast.wal.state import LogId, Vote, WalState

DUMP_HEADING = f"{'position':>12}  {'kind':<8}  {'log ids':<24}  {'size':>10}  crc  {'round':>8}  {'chunk':>6}  detail"


def dump_line(line: RecordLine) -> str:
    """One record, for people: readable without colour, and one line however wide the terminal is."""
    crc = "ok " if line.crc_ok else "BAD"
    return (
        f"{line.position:>12}  {line.kind:<8}  {_ids(line):<24}  {line.size:>10}  {crc}  {line.round:>8}  "
        f"{_chunk_number(line.chunk):>6}  {line.detail}"
    ).rstrip()


def _ids(line: RecordLine) -> str:
    if line.last is None:
        return "-"
    if line.first is None or line.first == line.last:
        return str(line.last)
    return f"{line.first} to {line.last}"


def _chunk_number(name: str) -> int:
    return int(name.partition("-")[0])


def record_facts(line: RecordLine) -> dict[str, object]:
    """One record, for programs."""
    return {
        "position": line.position,
        "kind": line.kind,
        "first": id_facts(line.first),
        "last": id_facts(line.last),
        "size": line.size,
        "crc_ok": line.crc_ok,
        "round": line.round,
        "chunk": line.chunk,
        "byte": line.offset,  # In the chunk's file; offsets count records.
        "detail": line.detail,
    }


def state_facts(state: WalState) -> dict[str, object]:
    """The state, without the user data itself: it may be large, and is not ours to show."""
    return {
        "vote": id_facts(state.vote),
        "purged": id_facts(state.purged),
        "committed": id_facts(state.committed),
        "last": id_facts(state.last),
        "user_data_size": len(state.user_data),
    }


def id_facts(id_: LogId | Vote | None) -> dict[str, Any] | None:
    """A log id or a vote with the names of its numbers."""
    return None if id_ is None else id_._asdict()


def damage_facts(verdict: WalVerdict) -> dict[str, object]:
    """What is wrong, and where."""
    return {
        "damage": verdict.damage,
        "file": verdict.file,
        "byte": verdict.position,  # In the file, as the sentence says it; positions are the whole log's.
        "expected": verdict.expected,
        "found": verdict.found,
    }
