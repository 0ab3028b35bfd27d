"""What can still be read of a write-ahead log, however damaged: every entry whose frame is whole, and what is lacking.

The log itself stops at the first damage, since what follows might not be what was acknowledged. Here everything is
looked at, and the holes are named.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from holdfast.errors import Corrupt
from holdfast.io.disk import Directory, File
from holdfast.log.metadata import LogMetadata, decode
from holdfast.operate.repair.item import Item
from holdfast.wal.chunks.chain import read_head
from holdfast.wal.chunks.chunk import ChunkName, parse_chunk_name
from holdfast.wal.format import record, scan
from holdfast.wal.format.frame import HEADER, Frame, mark_of
from holdfast.wal.format.record import Head
from holdfast.wal.state import WalState, end_of

_WINDOW_SIZE = 4 << 20


@dataclass
class Salvaged:
    """What was found. Entries are kept as places: a log may be larger than the memory."""

    kept: LogMetadata | None = None
    first_index: int = 0
    next_index: int = 0
    entries: dict[int, tuple[ChunkName, int, int, int]] = field(default_factory=dict)  # chunk, frame, size, number.
    items: list[Item] = field(default_factory=list)
    files: set[str] = field(default_factory=set)  # Those that are damaged.


def salvage(directory: Directory) -> Salvaged:
    """Read every chunk, oldest first: a later entry of the same index replaces an earlier one."""
    found = Salvaged()
    names = sorted((name for text in directory.names() if (name := parse_chunk_name(text))), key=lambda each: each.id)
    heads = {name.id: read_head(directory, name) for name in names}
    ends = {head.predecessor: head.predecessor_end for head in heads.values() if head and head.predecessor is not None}
    _note_missing(found, names, heads)
    for name in names:
        _read_chunk(directory, found, name, ends.get(name.id))
    found.entries = {index: each for index, each in found.entries.items() if index >= found.first_index}
    _note_lost(found)
    return found


def _note_missing(found: Salvaged, names: list[ChunkName], heads: dict[int, Head | None]) -> None:
    """A predecessor that is not there has been purged, if nothing older is there either."""
    there = {name.id for name in names}
    for name in names:
        head = heads[name.id]
        missing = head.predecessor if head is not None else None
        if missing is not None and missing not in there and any(other < missing for other in there):
            found.items.append(Item("chunk", str(name), f"chunk {missing}, which goes before it, is not there"))


def _read_chunk(directory: Directory, found: Salvaged, name: ChunkName, end: int | None) -> None:
    file = directory.open(str(name), write=False)
    try:
        at = last_round = 0
        while True:
            for frame in scan.frames(file, name.seed, at, end):
                _apply(found, name, frame)
                at, last_round = frame.end, frame.round
            if end is not None and at >= end:
                return
            proven = end is not None or scan.find_proof(file, name.seed, at, last_round) is not None
            following = _next_frame(file, name.seed, at + 1, end) if proven else None
            if not proven or (following is None and end is None):
                return  # A torn tail, which was never acknowledged, or a chunk that was never used.
            stop = end if following is None else following
            assert stop is not None
            found.files.add(str(name))
            found.items.append(Item("bytes", str(name), "damaged bytes", at, stop))
            if following is None:
                return
            at = following
    finally:
        file.close()


def _next_frame(file: File, seed: int, start: int, end: int | None) -> int | None:
    """Where the next whole frame begins."""
    base, mark = start, mark_of(seed)
    while len(window := file.read_at(base, _WINDOW_SIZE)) >= HEADER.size:
        at = window.find(mark, 4)
        while 4 <= at <= len(window) - HEADER.size + 4:
            offset = base + at - 4
            if (end is None or offset < end) and scan.is_frame(file, seed, offset):
                return offset
            at = window.find(mark, at + 1)
        base += len(window) - HEADER.size + 1
    return None


def _apply(found: Salvaged, name: ChunkName, frame: Frame) -> None:
    if frame.kind == record.APPEND:
        appended = record.decode_append(frame.body)
        size = frame.end - frame.offset
        for number in range(appended.entry_count):
            found.entries[appended.first.index + number] = (name, frame.offset, size, number)
        found.next_index = max(found.next_index, appended.first.index + appended.entry_count)
    elif frame.kind == record.HEAD:
        _apply_state(found, record.decode_head(frame.body).state)
    elif frame.kind == record.STATE:
        _apply_state(found, record.decode_state(frame.body))
    elif frame.kind == record.PURGE:
        found.first_index = max(found.first_index, end_of(record.decode_id(frame.body)))
        found.next_index = max(found.next_index, found.first_index)


def _apply_state(found: Salvaged, state: WalState) -> None:
    found.first_index = max(found.first_index, state.first_index)
    found.next_index = max(found.next_index, state.next_index)
    if state.user_data:
        try:
            found.kept = decode(state.user_data)
        except Corrupt as failure:
            found.items.append(Item("user data", "the write-ahead log", str(failure)))


def _note_lost(found: Salvaged) -> None:
    start = None
    for index in range(found.first_index, found.next_index + 1):
        if index < found.next_index and index not in found.entries:
            start = index if start is None else start
        elif start is not None:
            found.items.append(Item("entries", "the write-ahead log", "entries that are lost", start, index))
            start = None


def read_entries(directory: Directory, found: Salvaged) -> Iterator[memoryview]:
    """The payloads of all entries that were found, in order."""
    opened: tuple[ChunkName, File] | None = None
    frame: Frame | None = None
    try:
        for _, (name, offset, size, number) in sorted(found.entries.items()):
            if opened is None or opened[0] != name:
                if opened is not None:
                    opened[1].close()
                opened, frame = (name, directory.open(str(name), write=False)), None
            if frame is None or frame.offset != offset:
                frame = scan.read_frame(opened[1], name.seed, offset, size)
            assert frame is not None, "it was whole a moment ago"
            bounds = record.decode_append(frame.body).payload_bounds()
            yield frame.body[bounds[number] : bounds[number + 1]]
    finally:
        if opened is not None:
            opened[1].close()
