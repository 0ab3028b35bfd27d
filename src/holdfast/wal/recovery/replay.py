"""Open a log's directory: replay every chunk into the state, and tell a torn tail from damage.

What the last round wrote is not known to be durable: it may only be in the page cache, or be there after an fsync that
failed. It is therefore not shown as it is. `recover` replays what is proven, and hands the frames of the last round
over (`carried`) to be written again, into a new chunk whose head says where the proven part of its predecessor ends.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from holdfast.io.disk import Directory, File
from holdfast.types import Position
from holdfast.wal.chunks.chain import Chain, Link, read_chain
from holdfast.wal.chunks.chunk import Chunk, ChunkName
from holdfast.wal.chunks.index import EntryIndex
from holdfast.wal.errors import DamagedLog, EntriesMissing
from holdfast.wal.format import record, scan, walk
from holdfast.wal.format.frame import HEADER, Frame, mark_of
from holdfast.wal.format.walk import Numbers, Walked
from holdfast.wal.state import Current, LogId, Vote, WalState

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Recovered:
    """What a directory holds."""

    chain: Chain
    state: WalState = field(default_factory=WalState)
    index: EntryIndex = field(default_factory=EntryIndex)
    carried: list[Frame] = field(default_factory=list)  # Valid frames that nothing proves to be durable.
    start: Position = Position(0)  # Where the next chunk begins.
    predecessor: int | None = None
    predecessor_end: int = 0
    last_round: int = 0
    clean: bool = True  # The log was closed, or is new.
    cut: tuple[str, int] | None = None  # The file and the byte where a torn tail was cut.


def recover(directory: Directory) -> Recovered:
    """Replay a directory. Raises Corrupt when acknowledged bytes are damaged or missing."""
    chain = read_chain(directory)
    recovered = Recovered(chain)
    if not chain.links:
        return recovered
    tail = read_tail(directory, chain.links[-1])
    _replay_proven(directory, recovered, tail)
    recovered.last_round = tail.last_round
    recovered.carried = tail.unproven
    recovered.clean = tail.closed
    if tail.torn:
        recovered.cut = (str(chain.links[-1].name), tail.end)
    return recovered


@dataclass(slots=True)
class ChunkTail:
    """How the newest chunk ends."""

    proven: int = 0  # All below this byte is proven durable.
    end: int = 0  # Valid frames end here.
    last_round: int = 0
    closed: bool = False  # The last frame says that the log was closed.
    idle: bool = False  # The last frame says that nothing was being written.
    torn: bool = False  # Something that is no valid frame begins at `end`.
    first_record: int | None = None  # Where the first frame is that is neither head nor marker.
    unproven: list[Frame] = field(default_factory=list)

    @property
    def worth_keeping(self) -> bool:
        """Whether a record in the newest chunk is proven. Without one the chunk counts as never made."""
        return self.first_record is not None and self.first_record < self.proven


def read_tail(directory: Directory, link: Link) -> ChunkTail:
    """Find the end of the newest chunk. Raises Damaged when what follows the end proves that it is not the end."""
    tail = ChunkTail()
    seed = link.name.seed
    with _opened(directory, link.name) as file:
        _walk_to_end(file, seed, tail)
        _walk_to_end(file, seed, tail)  # What ended it may have been one wrong read: look again.
        while scan.find_proof(file, seed, tail.end, tail.last_round) is not None:
            if not scan.is_frame(file, seed, tail.end):
                raise DamagedLog(str(link.name), tail.end, *scan.explain(file, seed, tail.end))
            _walk_to_end(file, seed, tail)  # It was written while we looked: without the lock a log may grow.
        tail.torn = not tail.closed and _is_torn(file.read_at(tail.end, HEADER.size), seed, was_idle=tail.idle)
        unproven = _all_frames(file, link.name, tail.proven, tail.end)
        tail.unproven = [frame for frame in unproven if frame.kind not in (record.HEAD, record.MARKER)]
    return tail


def _is_torn(found: bytes, seed: int, *, was_idle: bool) -> bool:
    """Whether these bytes are what is left of a frame. Behind the last one of a recycled file come old bytes: where
    nothing was being written, only what has the mark of this chunk is no leftover."""
    return found[4:7] == mark_of(seed) if was_idle and len(found) == HEADER.size else any(found)


def _all_frames(file: File, name: ChunkName, start: int, end: int) -> list[Frame]:
    """The frames of `[start, end)`, which were valid a moment ago: all of them, on a second look at the latest."""
    reached = start
    for _ in range(2):
        frames = list(scan.frames(file, name.seed, start, end))
        reached = frames[-1].offset + HEADER.size + len(frames[-1].body) if frames else start
        if reached == end:
            return frames
    raise DamagedLog(str(name), reached, *scan.explain(file, name.seed, reached))


def _walk_to_end(file: File, seed: int, tail: ChunkTail) -> None:
    for walked in walk.walk(file, seed, tail.end):
        last = walked.rows[-1].tolist()
        if tail.first_record is None:
            records = np.flatnonzero(~np.isin(walked.rows[:, walk.KIND], (record.HEAD, record.MARKER)))
            tail.first_record = int(walked.rows[records[0], walk.OFFSET]) if len(records) else None
        tail.proven, tail.last_round = last[walk.ROUND_START], last[walk.ROUND]
        tail.end = last[walk.OFFSET] + last[walk.SIZE]
        tail.idle = last[walk.KIND] in (record.HEAD, record.MARKER)
        tail.closed = last[walk.KIND] == record.MARKER and walked.body(-1)[0] == 1


@contextmanager
def _opened(directory: Directory, name: ChunkName) -> Iterator[File]:
    file = directory.open(str(name), write=False)
    try:
        yield file
    finally:
        file.close()


def _replay_proven(directory: Directory, recovered: Recovered, tail: ChunkTail) -> None:
    links = recovered.chain.links
    ends = [link.head.predecessor_end for link in links[1:]] + [tail.proven]
    player = Player(links[0].head.state, recovered.index)
    for link, end in zip(links, ends, strict=True):
        player.check_head(link)
        if link is not links[-1] or tail.worth_keeping:
            _replay_chunk(directory, link, end, player)
            recovered.predecessor, recovered.predecessor_end = link.name.id, end
            recovered.start = Position(link.head.start + end)
        else:
            # What it carried is carried again, and the new chunk takes its place behind the one before. So a log that
            # is opened again and again without being written to does not fill the disk with empty chunks.
            recovered.chain.leftovers.append(link.name)
            recovered.start = Position(link.head.start)
    recovered.state = player.state


def _replay_chunk(directory: Directory, link: Link, end: int, player: Player) -> None:
    chunk = Chunk(link.name, Position(link.head.start), end, link.head.state.next_index)
    player.index.chunks.append(chunk)
    reached = 0
    with _opened(directory, link.name) as file:
        for _ in range(2):  # What was misread once is no damage.
            for walked in walk.walk(file, chunk.seed, reached, end):
                player.apply_walked(walked, chunk)
                reached = int(walked.rows[-1, walk.OFFSET] + walked.rows[-1, walk.SIZE])
            if reached == end:
                break
        if reached != end:
            raise DamagedLog(str(link.name), reached, *scan.explain(file, chunk.seed, reached))


class Player:
    """Applies records to a state and an index, in order."""

    def __init__(self, state: WalState, index: EntryIndex) -> None:
        self._current = Current(state)
        self.index = index

    @property
    def state(self) -> WalState:
        return self._current.state

    @state.setter
    def state(self, state: WalState) -> None:
        self._current.state = state

    def check_head(self, link: Link) -> None:
        if link.head.state != self.state:
            raise DamagedLog(str(link.name), 0, f"the state {self.state}", f"{link.head.state}")

    def apply_walked(self, walked: Walked, chunk: Chunk) -> None:
        """Apply frames in bulk: runs of appends as columns, all others one by one."""
        kinds = walked.rows[:, walk.KIND]
        start = 0
        for other in [*np.flatnonzero(kinds != record.APPEND).tolist(), len(kinds)]:
            if start < other:
                self._apply_appends(walked.rows[start:other], chunk)
            if other < len(kinds):
                offset = int(walked.rows[other, walk.OFFSET])
                self.apply(int(kinds[other]), walked.body(other), chunk, offset)
            start = other + 1

    def _apply_appends(self, rows: Numbers, chunk: Chunk) -> None:
        epochs, firsts, counts = rows[:, walk.EPOCH], rows[:, walk.FIRST], rows[:, walk.COUNT]
        ends = firsts + counts
        in_order = (firsts[1:] == ends[:-1]) & (epochs[1:] >= epochs[:-1])
        first = LogId(int(epochs[0]), int(firsts[0]))
        if not self._current.follows(first) or not in_order.all():
            wrong = 0 if not self._current.follows(first) else int(np.argmin(in_order)) + 1
            expected = self._current.next_index if wrong == 0 else int(ends[wrong - 1])
            found = LogId(int(epochs[wrong]), int(firsts[wrong]))
            raise DamagedLog(str(chunk.name), int(rows[wrong, walk.OFFSET]), f"an entry at {expected}", f"{found}")
        chunk.places.extend(firsts.tobytes(), rows[:, walk.OFFSET].tobytes(), rows[:, walk.SIZE].tobytes())
        for start in [0, *(np.flatnonzero(epochs[1:] != epochs[:-1]) + 1).tolist()]:
            self.index.note_epoch(LogId(int(epochs[start]), int(firsts[start])))
        self._current.append(int(epochs[-1]), int(ends[-1]))

    def apply(self, kind: int, body: memoryview, chunk: Chunk, offset: int) -> None:
        if kind == record.APPEND:
            self._apply_append(body, chunk, offset)
        elif kind == record.VOTE:
            vote = record.decode_id(body)
            assert vote is not None
            self.state = self.state.voted(Vote(*vote))
        elif kind == record.TRUNCATE:
            last = record.decode_id(body)
            self.state = self.state.truncated(last)
            self.index.truncate(self._current.next_index)
        elif kind == record.PURGE:
            purged = record.decode_id(body)
            assert purged is not None
            self.state = self.state.purge(purged)
        elif kind == record.COMMIT:
            committed = record.decode_id(body)
            assert committed is not None
            self.state = self.state.commit(committed)
        elif kind == record.STATE:
            self.state = record.decode_state(body)

    def _apply_append(self, body: memoryview, chunk: Chunk, offset: int) -> None:
        first, count, _ = record.decode_append(body)
        if not self._current.follows(first):
            raise DamagedLog(str(chunk.name), offset, f"an entry at {self._current.next_index}", f"{first}")
        self.index.add(chunk, first, offset, HEADER.size + len(body))
        self._current.append(first.epoch, first.index + count)


def check_complete(state: WalState, index: EntryIndex) -> None:
    """Every index from the purge point to the last entry must be somewhere."""
    if state.next_index == state.first_index:
        return
    first = index.first_place()
    if first is None or first > state.first_index:
        oldest = str(index.chunks[0].name)
        raise EntriesMissing(state.first_index, state.next_index if first is None else first, oldest)
