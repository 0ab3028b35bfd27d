"""What a life that is over has left, as a log that can only be read: for whoever settles it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from holdfast.log import entry
from holdfast.log.rounds.format import Round
from holdfast.log.rounds.layout import RoundEntry, entries_of
from holdfast.record.batch import read_header
from holdfast.types import Buffer, PartitionId, Position
from holdfast.wal import Entry, LogId, Stat
from holdfast.wal.errors import WalClosed
from holdfast.wal.read import RawFrame
from holdfast.wal.state import WalState


class EstateLog:
    """Entries in memory, in the order of their rounds. What is kept besides them is kept for nobody."""

    def __init__(self, name: str, kept: bytes, entries: Iterable[RoundEntry]) -> None:
        self._name = name
        self._entries = list(entries)
        self._user_data = kept
        self.on_stop: Callable[[Exception], None] = lambda failure: None  # noqa: ARG005

    @property
    def state(self) -> WalState:
        last = LogId(0, len(self._entries) - 1) if self._entries else None
        return WalState(last=last, purged=None, user_data=self._user_data)

    takes_many = False
    queued_size = 0
    chunk_size_max = 1 << 20

    def append_one(self, first: LogId, pieces: tuple[Buffer, ...]) -> object:  # noqa: ARG002
        raise WalClosed(self._name)

    def flush(self, callback: Callable[[Exception | None], None] | None = None) -> None:
        if callback is not None:
            callback(None)

    def sync(self) -> None:
        """All of it is durable."""

    def save_user_data(self, data: bytes) -> None:
        self._user_data = data

    def read(self, start: int, end: int) -> Iterator[Entry]:
        for index in range(start, min(end, len(self._entries))):
            kind, home, content = self._entries[index]
            yield Entry(LogId(0, index), entry.encode_prefix(kind, home) + bytes(content))

    def read_raw(self, index: int) -> RawFrame:
        (found,) = self.read(index, index + 1)
        return RawFrame(self._name, 0, bytes(found.payload))

    def log_id(self, index: int) -> LogId | None:  # noqa: ARG002
        return None  # Nothing is ever purged.

    def frees_a_chunk(self, index: int) -> bool:  # noqa: ARG002
        return False

    def purge(self, upto: LogId) -> None:
        """Its rounds stay until no row names the life."""

    def on_disk_size(self) -> int:
        return self.size_from(0)

    def size_from(self, index: int) -> int:
        return sum(len(each.content) for each in self._entries[index:])

    def index_size(self) -> int:
        return 0

    def stat(self) -> Stat:
        size = self.on_disk_size()
        return Stat(1, self._name, size, Position(size), Position(size), size, 0, 0, 0, 0, 0, 0, self.state)

    def close(self) -> None:
        """There is nothing to let go of."""


def entries_left(rounds: Iterable[Round], homes: Mapping[PartitionId, int]) -> Iterator[RoundEntry]:
    """The batches of these partitions, each in its epoch: those of an earlier stay were flushed before it ended."""
    for found in rounds:
        for each in entries_of(found):
            if each.kind == entry.BATCHES and read_header(each.content).leader_epoch >= homes.get(each.home, 1 << 62):
                yield each
