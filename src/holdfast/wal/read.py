"""Entries streamed from memory and disk, in pieces: a chunk is never loaded whole, and no lock is held meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import NamedTuple, TypeAlias

from holdfast.io.disk import Directory, File
from holdfast.types import Buffer
from holdfast.wal.cache import Payload
from holdfast.wal.chunks.chunk import Chunk
from holdfast.wal.chunks.frame_index import FrameRange
from holdfast.wal.errors import DamagedLog
from holdfast.wal.format import record
from holdfast.wal.format.frame import Frame, decode, describe_bad
from holdfast.wal.format.record import AppendedEntries, Bounds
from holdfast.wal.state import LogId


class Entry(NamedTuple):
    """One entry of the log."""

    log_id: LogId
    payload: Buffer


class EntryBlock(NamedTuple):
    """Entries of one epoch at consecutive indexes: their payloads' bytes, and where each begins and the last one ends.

    Whoever takes bytes takes them from here by the thousand; no entry is an object of its own.
    """

    first: LogId
    data: Buffer
    bounds: Bounds

    @property
    def entry_count(self) -> int:
        return len(self.bounds) - 1

    def payload(self, number: int) -> memoryview:
        """The payload of the entry that comes `number` places after the first."""
        return memoryview(self.data)[self.bounds[number] : self.bounds[number + 1]]


class RawFrame(NamedTuple):
    """Bytes as the disk gives them, where a frame should be: they may be anything."""

    file: str
    offset: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Cached:
    """The next entries are in memory. All have one epoch."""

    first: LogId
    payloads: Sequence[Payload]


@dataclass(frozen=True, slots=True)
class Stored:
    """The next entries, up to index `end`, are in these frames of one chunk."""

    chunk: Chunk
    places: list[FrameRange]
    end: int


class _Part(NamedTuple):
    """The entries `[start, end)` of an append record, counted from its first."""

    appended: AppendedEntries
    start: int
    end: int


Peek: TypeAlias = Callable[[int, int], Cached | Stored | None]  # What comes next in [start, end); None at the end.


class EntryReader:
    """One pass over the entries `[start, end)`."""

    def __init__(self, directory: Directory, peek: Peek, start: int, end: int) -> None:
        self._directory = directory
        self._peek = peek
        self._next = start
        self._end = end
        self._file: File | None = None
        self._chunk: Chunk | None = None

    def entries(self) -> Iterator[Entry]:
        """One by one."""
        for found in self._steps():
            if isinstance(found, Cached):
                payloads: Sequence[Buffer] = [record.payload_of(payload) for payload in found.payloads]
                epoch, index = found.first
            else:
                appended, start, end = found
                epoch, index = appended.first.epoch, appended.first.index + start
                payloads = appended.payloads(start, end)
            yield from map(Entry, map(LogId, repeat(epoch), range(index, index + len(payloads))), payloads)

    def blocks(self) -> Iterator[EntryBlock]:
        """By the frame, or by the run in memory."""
        for found in self._steps():
            if isinstance(found, Cached):
                yield _joined_block(found)
            else:
                (first, _, body), start, end = found
                bounds = found[0].payload_bounds()[start : end + 1]
                yield EntryBlock(LogId(first.epoch, first.index + start), body, bounds)

    def _steps(self) -> Iterator[Cached | _Part]:
        """Runs in memory, and parts of frames on disk."""
        try:
            while (found := self._peek(self._next, self._end)) is not None:
                if isinstance(found, Cached):
                    self._next += len(found.payloads)
                    yield found
                else:
                    yield from self._from_disk(found)
        finally:
            self._close()

    def _from_disk(self, found: Stored) -> Iterator[_Part]:
        first, last = found.places[0], found.places[-1]
        data = memoryview(self._read(found.chunk, first.offset, last.end - first.offset))
        # A frame counts up to where the next one begins: what it holds beyond was cut.
        ends = [*(place.first_index for place in found.places[1:]), found.end]
        for place, end in zip(found.places, ends, strict=True):
            frame = decode(data, place.offset - first.offset, first.offset, found.chunk.seed)
            if frame is None:  # What was misread once is no damage.
                frame = self._read_again(found.chunk, place)
            if frame is None:
                self._peek(self._next, self._end)  # Purged and recycled meanwhile: that is what this raises.
                bad = describe_bad(data, place.offset - first.offset, found.chunk.seed)
                raise DamagedLog(str(found.chunk.name), place.offset, *bad)
            appended = record.decode_append(frame.body)
            index = appended.first.index
            start, self._next = self._next - index, min(index + appended.entry_count, end)
            yield _Part(appended, start, self._next - index)

    def _read_again(self, chunk: Chunk, place: FrameRange) -> Frame | None:
        self._close()
        return decode(
            memoryview(self._read(chunk, place.offset, place.end - place.offset)), 0, place.offset, chunk.seed
        )

    def _read(self, chunk: Chunk, offset: int, size: int) -> bytes:
        if chunk is not self._chunk:
            self._close()
            try:
                self._file = self._directory.open(str(chunk.name), write=False)
            except FileNotFoundError:
                self._peek(self._next, self._end)
                raise DamagedLog(str(chunk.name), 0, "the chunk's file", "none") from None
            self._chunk = chunk
        assert self._file is not None
        return self._file.read_at(offset, size)

    def _close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = self._chunk = None


def _joined_block(cached: Cached) -> EntryBlock:
    payloads = [record.payload_of(payload) for payload in cached.payloads]
    return EntryBlock(cached.first, b"".join(payloads), record.bounds_of(0, list(map(len, payloads))))
