"""Entries streamed from memory and disk, in pieces: a chunk is never loaded whole, and no lock is held meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from holdfast.io.disk import Directory, File
from holdfast.types import Buffer
from holdfast.wal.cache import Payload
from holdfast.wal.chunks.chunk import Chunk
from holdfast.wal.chunks.frame_index import FrameRange
from holdfast.wal.errors import DamagedLog
from holdfast.wal.format import record
from holdfast.wal.format.frame import Frame, decode, describe_bad
from holdfast.wal.state import LogId


class Entry(NamedTuple):
    """One entry of the log."""

    log_id: LogId
    payload: Buffer


class RawFrame(NamedTuple):
    """Bytes as the disk gives them, where a frame should be: they may be anything."""

    file: str
    offset: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Cached:
    """The next entries are in memory."""

    log_ids: list[LogId]
    payloads: Sequence[Payload]


@dataclass(frozen=True, slots=True)
class Stored:
    """The next entries, up to index `end`, are in these frames of one chunk."""

    chunk: Chunk
    places: list[FrameRange]
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
        try:
            while (found := self._peek(self._next, self._end)) is not None:
                if isinstance(found, Cached):
                    self._next += len(found.payloads)
                    for log_id, payload in zip(found.log_ids, found.payloads, strict=True):
                        yield Entry(log_id, record.payload_of(payload))
                else:
                    yield from self._from_disk(found)
        finally:
            self._close()

    def _from_disk(self, found: Stored) -> Iterator[Entry]:
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
            yield from self._entries_of(frame.body, end)

    def _read_again(self, chunk: Chunk, place: FrameRange) -> Frame | None:
        self._close()
        return decode(
            memoryview(self._read(chunk, place.offset, place.end - place.offset)), 0, place.offset, chunk.seed
        )

    def _entries_of(self, body: memoryview, end: int) -> Iterator[Entry]:
        appended = record.decode_append(body)
        epoch, index = appended.first
        bounds = appended.payload_bounds()
        for number in range(self._next - index, min(appended.entry_count, end - index)):
            self._next = index + number + 1
            yield Entry(LogId(epoch, index + number), body[bounds[number] : bounds[number + 1]])

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
