"""The write-ahead log as the event loop sees it: appends at once, word of durability in order, entries read back.

One entry holds one batch. Several appends of one turn of the loop are flushed together.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Protocol

from holdfast.errors import Fenced
from holdfast.log import entry
from holdfast.log.errors import LogsStopped
from holdfast.log.metadata import Identity, LogMetadata, QuarantinedTail, check_quarantined, read_kept, save_kept
from holdfast.log.rounds.log import RoundsLog
from holdfast.types import Buffer, PartitionId
from holdfast.wal import Entry, LogId, Stat, WalFailed
from holdfast.wal.read import RawFrame
from holdfast.wal.state import WalState

_STEP_MAX = 4  # Entries this near to each other are read in one go, with those of other partitions in between.


class EntryLog(Protocol):
    """Where entries are durable: `wal.Wal` on a disk, `log.rounds.log.RoundsLog` in the store."""

    on_stop: Callable[[Exception], None]  # Called, in any thread, when it has stopped by itself.

    @property
    def takes_many(self) -> bool: ...  # Whether one entry may hold several batches.

    @property
    def state(self) -> WalState: ...

    @property
    def queued_size(self) -> int: ...

    @property
    def chunk_size_max(self) -> int: ...

    def append_one(self, first: LogId, pieces: tuple[Buffer, ...]) -> object: ...

    def flush(self, callback: Callable[[Exception | None], None] | None = None) -> object: ...

    def sync(self) -> None: ...

    def save_user_data(self, data: bytes) -> object: ...

    def read(self, start: int, end: int) -> Iterator[Entry]: ...

    def read_raw(self, index: int) -> RawFrame: ...

    def log_id(self, index: int) -> LogId | None: ...

    def frees_a_chunk(self, index: int) -> bool: ...

    def purge(self, upto: LogId) -> object: ...

    def on_disk_size(self) -> int: ...

    def size_from(self, index: int) -> int: ...

    def index_size(self) -> int: ...

    def stat(self) -> Stat: ...

    def close(self) -> object: ...


_TOLD_KEPT = 240
_new_id = partial(tuple.__new__, LogId)


class Journal:
    """Belongs to one event loop; only the calls to the disk happen elsewhere."""

    def __init__(self, wal: EntryLog, identity: Identity, incarnation: str = "", heir_of: Collection[str] = ()) -> None:
        self._wal = wal
        self._loop = asyncio.get_running_loop()
        self._next_index = wal.state.next_index
        self._waiting: deque[tuple[int, Callable[[int], None], int]] = deque()  # (index, whom to tell, what)
        self._flush_due = False
        self._gathering: list[Callable[[], None]] = []  # Who appends something before the next flush.
        self._failure: Exception | None = None
        self._saving = threading.Lock()
        self.incarnation = incarnation  # Of this process.
        self.heir_of = heir_of  # Those of processes before it that had this very directory.
        self.kept = read_kept(wal) or LogMetadata(identity)
        self.hold: Callable[[Callable[[], None]], bool] = lambda then: False  # noqa: ARG005  # Whether to wait.
        self.told: deque[int] = deque(maxlen=_TOLD_KEPT)  # Entries whose waiters were told together.
        self.on_durable: Callable[[], None] = lambda: None
        self.on_failure: Callable[[Exception], None] = lambda failure: None  # noqa: ARG005
        wal.on_stop = self._tell_stopped

    @property
    def identity(self) -> Identity:
        return self.kept.identity

    @property
    def has_stopped(self) -> bool:
        """Whether it takes nothing any more, and tells nobody."""
        return self._failure is not None

    @property
    def next_index(self) -> int:
        return self._next_index

    @property
    def takes_many(self) -> bool:
        """Whether one entry may hold several batches."""
        return self._wal.takes_many

    @property
    def queued_size(self) -> int:
        return self._wal.queued_size

    @property
    def size(self) -> int:
        """Bytes on disk."""
        return self._wal.on_disk_size()

    def size_from(self, index: int) -> int:
        """Bytes of the log from an entry on."""
        return self._wal.size_from(index)

    @property
    def chunk_size_max(self) -> int:
        """Bytes: of so many at once the disk is given back."""
        return self._wal.chunk_size_max

    @property
    def index_size(self) -> int:
        """Bytes of memory that it takes to know where each entry is."""
        return self._wal.index_size()

    def stat(self) -> Stat:
        """Figures about the write-ahead log."""
        return self._wal.stat()

    def raise_generation(self, generation: int) -> None:
        """Blocks until it is durable: nothing may happen in a generation that could be forgotten.

        Any thread may call, here and below: several partitions may be opened at once.
        """
        with self._saving:
            if generation > self.identity.generation:
                self.kept = save_kept(self._wal, self.kept.of_generation(generation))

    def quarantine(self, home: PartitionId, quarantined: QuarantinedTail) -> None:
        """Records of a partition are in a file now. Blocks until that is durable."""
        with self._saving:
            check_quarantined(self.kept.quarantined, home)
            self.kept = save_kept(
                self._wal, replace(self.kept, quarantined={**self.kept.quarantined, home: quarantined})
            )

    def append(self, prefix: bytes, content: Sequence[Buffer], on_durable: Callable[[int], None], number: int) -> int:
        """Queue an entry; `on_durable(number)` is called in the loop once it is durable. The entry's index.

        The prefix says what it is: see `entry.encode_prefix`.

        They are told in the order of the entries, since who hears of a later one may count on those before it. Of
        several in a row only the last is told to the same `on_durable`.
        """
        if self._failure is not None:
            raise self._failure
        index = self._next_index
        try:
            self._wal.append_one(_new_id((self.kept.identity.generation, index)), (prefix, *content))
        except (WalFailed, Fenced) as failure:  # It has stopped, and the loop has not heard of it yet.
            self._done(index, failure)
            assert self._failure is not None
            raise self._failure from failure
        self._next_index = index + 1
        self._waiting.append((index, on_durable, number))
        self._flush_soon()
        return index

    def before_flush(self, gather: Callable[[], None]) -> None:
        """Call once, in this turn of the loop or the next, before anything more is flushed: it may append."""
        self._gathering.append(gather)
        self._flush_soon()

    def _flush_soon(self) -> None:
        if not self._flush_due:
            self._flush_due = True
            self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        gathering, self._gathering = self._gathering, []
        for gather in gathering:
            try:
                gather()
            except Exception as mistake:  # It must not keep the others from their flush.
                told = {"message": "who gathers entries for a flush has failed", "exception": mistake}
                self._loop.call_exception_handler(told)
        self._flush_due = False
        if self._failure is not None:
            return
        end = self._next_index
        try:
            self._wal.flush(lambda failure: self._tell(end, failure))
        except Exception as failure:
            self._done(end, failure)

    def _tell(self, end: int, failure: Exception | None) -> None:
        """Called by the writer."""
        self._loop.call_soon_threadsafe(self._done, end, failure)

    def _tell_stopped(self, failure: Exception) -> None:
        """Called by whoever writes, also when nobody waits for what was written."""
        with contextlib.suppress(RuntimeError):  # The loop has ended, and nobody is left to be told.
            self._loop.call_soon_threadsafe(self._done, self._next_index, failure)

    def _done(self, end: int, failure: Exception | None) -> None:
        if failure is not None:
            if self._failure is None:
                self._failure = failure if isinstance(failure, Fenced) else LogsStopped(failure)
                self._waiting.clear()
                self.on_failure(self._failure)
            return
        if self.hold(lambda: self._say(end)):
            return  # We may not be the owner any more: that is looked up before anybody is told.
        self._say(end)

    def _say(self, end: int) -> None:
        """Everything below this entry is durable."""
        waiting = self._waiting
        before = len(waiting)
        while waiting and waiting[0][0] < end:
            _, tell, number = waiting.popleft()
            while waiting and waiting[0][0] < end and waiting[0][1] == tell:
                number = waiting.popleft()[2]
            tell(number)
        self.told.append(before - len(waiting))
        self.on_durable()

    def stop(self, failure: Exception) -> None:
        """Nobody is told of anything any more. What is appended is still written, and can be read back."""
        self._failure = self._failure or failure
        self._waiting.clear()

    def close(self, *, is_cut_off: bool = False) -> None:
        """Nothing can be appended any more. A log in a store that does not answer is left as a crash leaves it."""
        self._failure = self._failure or LogsStopped("closed")
        if is_cut_off and isinstance(self._wal, RoundsLog):
            self._wal.abandon()
        else:
            self._wal.close()

    def sync(self) -> None:
        """Blocks until everything appended so far is durable."""
        self._wal.sync()

    def read_back(self, places: list[tuple[int, int, int]]) -> list[memoryview]:
        """Pieces of entries' contents, each given as (index, start, size). Blocks."""
        return read_back(self._wal, places)

    def read_raw(self, index: int) -> RawFrame:
        """What is on disk where the frame of an entry should be, right or wrong. Blocks."""
        return self._wal.read_raw(index)

    def frees_a_chunk(self, index: int) -> bool:
        """Whether a purge below this entry would give any room back."""
        return self._wal.frees_a_chunk(index)

    def purge_below(self, index: int, change: Callable[[LogMetadata], LogMetadata]) -> bool:
        """Nothing below this entry is needed any more; what `change` makes of what is kept is saved first.

        False: not now, another thread is saving something, and the loop never waits for a disk. Or never more: the log
        has stopped, and everybody is told.
        """
        log_id = self._wal.log_id(index - 1)
        return log_id is None or self._keep(change, lambda: self._wal.purge(log_id))

    def keep(self, change: Callable[[LogMetadata], LogMetadata]) -> bool:
        """Save what `change` makes of what is kept, without a purge. False: not now, as above."""
        return self._keep(change, lambda: None)

    def _keep(self, change: Callable[[LogMetadata], LogMetadata], then: Callable[[], object]) -> bool:
        if not self._saving.acquire(blocking=False):
            return False
        try:
            kept = change(self.kept)
            if kept != self.kept:
                self._wal.save_user_data(kept.encode())
                self.kept = kept  # Only now: what is not saved must be saved by the next purge.
            then()
        except (WalFailed, Fenced) as failure:  # The writer has stopped, and the loop may not have heard of it yet.
            self._done(self._next_index, failure)
            return False
        finally:
            self._saving.release()
        if not self._flush_due:
            self._flush_due = True
            self._loop.call_soon(self._flush)
        return True


def read_back(wal: EntryLog, places: list[tuple[int, int, int]]) -> list[memoryview]:
    """Pieces of entries' contents, each given as (index, start, size). Blocks."""
    pieces = []
    at, payload = -1 - _STEP_MAX, memoryview(b"")
    entries: Iterator[Entry] = iter(())
    for number, (index, start, size) in enumerate(places):
        if not at <= index <= at + _STEP_MAX:
            at, entries = index - 1, wal.read(index, _end_of_row(places, number))
        while at < index:
            at, payload = at + 1, memoryview(next(entries).payload)
        begin = entry.CONTENT_START + start
        pieces.append(payload[begin : begin + size])
    return pieces


def _end_of_row(places: list[tuple[int, int, int]], number: int) -> int:
    """Behind the last of the entries that are near each other from this place on."""
    index = places[number][0]
    for following, _, _ in islice(places, number, None):
        if not index <= following <= index + _STEP_MAX:
            break
        index = following
    return index + 1
