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

from holdfast.io.disk import Directory, File
from holdfast.types import Position
from holdfast.wal import record, scan
from holdfast.wal.chain import Chain, Link, read_chain
from holdfast.wal.chunk import Chunk, ChunkName
from holdfast.wal.errors import Damaged, EntriesMissing
from holdfast.wal.frame import HEADER, Frame
from holdfast.wal.index import EntryIndex
from holdfast.wal.state import LogId, State, Vote

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Recovered:
    """What a directory holds."""

    chain: Chain
    state: State = field(default_factory=State)
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
    recovered.carried = [frame for frame in tail.unproven if frame.kind != record.MARKER]
    recovered.clean = tail.closed
    if tail.torn:
        recovered.cut = (str(chain.links[-1].name), tail.end)
    return recovered


@dataclass(slots=True)
class Tail:
    """How the newest chunk ends."""

    proven: int = 0  # All below this byte is proven durable.
    end: int = 0  # Valid frames end here.
    last_round: int = 0
    closed: bool = False  # The last frame says that the log was closed.
    torn: bool = False  # Something that is no valid frame begins at `end`.
    unproven: list[Frame] = field(default_factory=list)


def read_tail(directory: Directory, link: Link) -> Tail:
    """Find the end of the newest chunk. Raises Damaged when what follows the end proves that it is not the end."""
    tail = Tail()
    with _opened(directory, link.name) as file:
        for frame in scan.frames(file, link.name.seed, 0):
            if frame.round_start > tail.proven:
                tail.unproven.clear()
                tail.proven = frame.round_start
            if frame.kind != record.HEAD:
                tail.unproven.append(frame)
            tail.end, tail.last_round = frame.end, frame.round
            tail.closed = frame.kind == record.MARKER and frame.body[0] == 1
        if scan.find_proof(file, link.name.seed, tail.end, tail.last_round) is not None:
            raise Damaged(str(link.name), tail.end, *scan.explain(file, link.name.seed, tail.end))
        tail.torn = not tail.closed and any(file.read_at(tail.end, HEADER.size))
    return tail


@contextmanager
def _opened(directory: Directory, name: ChunkName) -> Iterator[File]:
    file = directory.open(str(name), write=False)
    try:
        yield file
    finally:
        file.close()


def _replay_proven(directory: Directory, recovered: Recovered, tail: Tail) -> None:
    links = recovered.chain.links
    ends = [link.head.predecessor_end for link in links[1:]] + [tail.proven]
    player = Player(links[0].head.state, recovered.index)
    for link, end in zip(links, ends, strict=True):
        player.check_head(link)
        if end > 0:
            _replay_chunk(directory, link, end, player)
            recovered.predecessor, recovered.predecessor_end = link.name.id, end
            recovered.start = Position(link.head.start + end)
        else:
            # Only the newest chunk can have nothing proven, not even its head: it counts as never made.
            assert link is links[-1]
            recovered.chain.leftovers.append(link.name)
            recovered.start = Position(link.head.start)
    recovered.state = player.state


def _replay_chunk(directory: Directory, link: Link, end: int, player: Player) -> None:
    chunk = Chunk(link.name, Position(link.head.start), end, link.head.state.next_index)
    player.index.chunks.append(chunk)
    reached = 0
    with _opened(directory, link.name) as file:
        for frame in scan.frames(file, chunk.seed, 0, end):
            player.apply(frame.kind, frame.body, chunk, frame.offset)
            reached = frame.end
        if reached != end:
            raise Damaged(str(link.name), reached, *scan.explain(file, chunk.seed, reached))


class Player:
    """Applies records to a state and an index, in order."""

    def __init__(self, state: State, index: EntryIndex) -> None:
        self._state = state
        self.index = index
        # Appends are most of what there is: their effect on the state is kept as two plain numbers.
        self._epoch, self._next_index = (state.last.epoch if state.last else 0), state.next_index
        self._appended = False

    @property
    def state(self) -> State:
        if self._appended:
            s = self._state
            last = LogId(self._epoch, self._next_index - 1)
            self._state = State(s.vote, last, s.committed, s.purged, s.user_data)
            self._appended = False
        return self._state

    @state.setter
    def state(self, state: State) -> None:
        self._state = state
        self._epoch, self._next_index = (state.last.epoch if state.last else 0), state.next_index

    def check_head(self, link: Link) -> None:
        if link.head.state != self.state:
            raise Damaged(str(link.name), 0, f"the state {self.state}", f"{link.head.state}")

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
            self.index.truncate(self._next_index)
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
        if first.index != self._next_index or first.epoch < self._epoch:
            raise Damaged(str(chunk.name), offset, f"an entry {self._epoch}:{self._next_index}", f"{first}")
        self.index.add(chunk, first, offset, HEADER.size + len(body))
        self._epoch, self._next_index = first.epoch, first.index + count
        self._appended = True


def check_complete(state: State, index: EntryIndex) -> None:
    """Every index from the purge point to the last entry must be somewhere."""
    if state.next_index == state.first_index:
        return
    first = index.first_place()
    if first is None or first > state.first_index:
        oldest = str(index.chunks[0].name)
        raise EntriesMissing(state.first_index, state.next_index if first is None else first, oldest)
