"""The write-ahead log in the store, as the journal uses it: entries go into rounds, these into the series of this life.

Write path: `append` puts an entry into the open round → `flush` wakes the thread that begins rounds, one at once after
a silence, else one in each interval, or when it is full → `Series.send` puts it, several at the same time → answers are
counted off in order (`RoundsUnderWay`) → whoever waits for entries below is told.

Nothing is written to a disk. Calls never wait for the store, but for `sync`, `read` and `close`.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from holdfast.errors import HoldfastError, Unavailable
from holdfast.io.calls import made_on_purpose
from holdfast.log import entry
from holdfast.log.rounds.forgetting import Forgetting
from holdfast.log.rounds.format import ROUND, Round, RoundHeader, encode_round
from holdfast.log.rounds.layout import RoundEntry, lay_out, places_of
from holdfast.log.rounds.places import RoundPlaces
from holdfast.log.rounds.reader import PLACE_SIZE, RoundReader, raw
from holdfast.log.rounds.series import Series
from holdfast.log.rounds.under_way import RoundsUnderWay
from holdfast.log.settings import JournalSettings
from holdfast.types import Buffer, Position
from holdfast.wal import Entry, LogId, Stat
from holdfast.wal.errors import EntryTooLarge, Overloaded, ReadBelowPurged, WalClosed, WalFailed
from holdfast.wal.read import RawFrame
from holdfast.wal.settings import USER_DATA_SIZE_MAX
from holdfast.wal.state import WalState

log = logging.getLogger(__name__)

_PURGE_ROUNDS_MIN = 16  # A purge is a round itself.
_TIDY_S = 10.0
_CLOSE_S = 5.0
_RETRY_S_MAX = 2.0

Callback = Callable[[Exception | None], None]


class Inheritance(NamedTuple):
    """What the lives before have left in the store."""

    series: Series
    rounds: list[Round]


class _Taken(NamedTuple):
    """What goes into one round."""

    number: int
    needed_from: int
    start: int  # The index of its first entry.
    entries: list[RoundEntry]
    kept: bytes | None


class _Job(NamedTuple):
    """A round that is to be put."""

    number: int
    data: list[Buffer]
    nonce: str


class RoundsLog:
    """One life's write-ahead log. Safe to use from several threads. Without one of its own, `flush` puts in the caller.

    Its round 0 is there already, and says what is `kept`.
    """

    takes_many = False  # An entry is one batch: whoever reads a round tells entries apart by that.

    def __init__(
        self,
        series: Series,
        kept: bytes,
        left: Sequence[Inheritance],
        settings: JournalSettings,
        *,
        is_clean: bool,
        threaded: bool,
    ) -> None:
        self._series = series
        self._settings = settings
        self._clock, self._chance = series.patience.clock, series.patience.chance
        self._changed = threading.Condition()
        self.is_clean = is_clean  # The life before has closed it.
        self._user_data = kept
        self._is_kept_due = False
        self._kept_round = 0
        self._places = RoundPlaces()
        self._reader = RoundReader()
        self._next_index = self._first_index = 0
        for inherited in left:
            self._inherit(inherited)
        self._durable_index = self._open_index = self._next_index
        self._under_way = RoundsUnderWay(series.grace_s)
        self._under_way.begin()
        self._under_way.exists(0, self._clock.boottime())
        self._places.add(self._next_index)
        self._round_ends: deque[tuple[int, int, int]] = deque()  # Number, end index and bytes of rounds under way.
        self._open: list[RoundEntry] = []
        self._open_size = 0
        self._full: deque[tuple[list[RoundEntry], int]] = deque()  # Rounds that wait to be begun, and their bytes.
        self._queued_size = 0
        self._sent_at = float("-inf")
        self._is_urgent = False
        self._waiting: deque[tuple[int, int, Callback]] = deque()  # Index, kept count, whom to tell.
        self._saves = self._durable_saves = 0
        self._saved_in: deque[tuple[int, int]] = deque()  # Round, and how often was saved by then.
        self._failure: Exception | None = None
        self.on_stop: Callable[[Exception], None] = lambda failure: None  # noqa: ARG005
        self._is_closing = False
        self._gone = threading.Event()
        self._forgetting = Forgetting()
        self._forgetting.add(self._places.release(0))
        self._puts = 0
        self._pool: ThreadPoolExecutor | None = None
        if threaded:
            self._pool = ThreadPoolExecutor(settings.rounds_in_flight_max, thread_name_prefix="holdfast-round")
            for work in (self._run, self._tidy_up):
                threading.Thread(target=work, name="holdfast-rounds", daemon=True).start()

    def _inherit(self, inherited: Inheritance) -> None:
        for found in inherited.rounds:
            places = places_of(found)
            if len(places):
                self._reader.hold(inherited.series, found)
            self._reader.add(self._next_index, inherited.series, found.header.number, places)
            self._next_index += len(places)
        self._places.inherit(inherited.series, self._next_index)

    # Entries

    @property
    def state(self) -> WalState:
        last, purged = (LogId(0, each - 1) if each else None for each in (self._next_index, self._first_index))
        return WalState(last=last, purged=purged, user_data=self._user_data)

    def append_one(self, first: LogId, pieces: tuple[Buffer, ...]) -> None:
        """Queue an entry, given as its prefix and its content. Not durable yet."""
        prefix, content = pieces
        kind, home, _ = entry.decode(prefix)
        with self._changed:
            self._check_open()
            assert first.index == self._next_index
            if self.queued_size and self.queued_size + len(content) > self._settings.queue_size_max:
                raise Overloaded(self.queued_size, self._settings.queue_size_max)
            if len(content) > self._settings.payload_size_max:
                raise EntryTooLarge(self._settings.payload_size_max, len(content))
            self._open.append(RoundEntry(kind, home, content))
            self._open_size += len(content)
            self._queued_size += len(content)
            self._next_index += 1
            if self._open_size >= self._settings.round_size_max:
                self._close_open()
                self._changed.notify_all()

    def _close_open(self) -> None:
        """What comes next goes into another round. The lock is held."""
        self._full.append((self._open, self._open_size))
        self._open, self._open_size = [], 0

    def save_user_data(self, data: bytes) -> None:
        if len(data) > USER_DATA_SIZE_MAX:
            raise EntryTooLarge(USER_DATA_SIZE_MAX, len(data))
        with self._changed:
            self._check_open()
            self._user_data = data
            self._is_kept_due = True
            self._saves += 1

    def flush(self, callback: Callback | None = None) -> None:
        """Begin to make everything durable; `callback` hears when it is, or why it never will be."""
        with self._changed:
            self._check_open()
            is_done = self._durable_index >= self._next_index and self._durable_saves >= self._saves
            if callback is not None and not is_done:
                self._waiting.append((self._next_index, self._saves, callback))
            self._changed.notify_all()
        if callback is not None and is_done:
            callback(None)
        if self._pool is None:
            with made_on_purpose():
                self._put_all()

    def sync(self) -> None:
        """Blocks until everything is durable."""
        if self._pool is None:
            self.flush()
            return
        with self._changed:
            self._check_open()
            index, saves, self._is_urgent = self._next_index, self._saves, True
            self._changed.notify_all()
            while self._durable_index < index or self._durable_saves < saves:
                self._check_open()
                self._changed.wait()

    def _check_open(self) -> None:
        if self._failure is not None:
            raise self._failure.with_traceback(None)

    # Rounds

    def _run(self) -> None:
        """Begin a round whenever it is time. The whole life of a thread."""
        assert self._pool is not None
        while True:
            with self._changed:
                while (wait_s := self._wait_s()) is None or wait_s > 0:
                    if self._failure is not None:
                        return
                    self._changed.wait(wait_s)
                if self._failure is not None:
                    return
                taken = self._take()
            self._pool.submit(self._put, self._begin(taken))

    def _wait_s(self) -> float | None:
        """How long until a round is to be begun; None: until something happens."""
        if not self._has_open or self._under_way.count >= self._settings.rounds_in_flight_max:
            return None
        if self._is_urgent or self._full:
            return 0
        return self._sent_at + self._settings.interval_ms / 1000 - self._clock.monotonic()

    @property
    def _has_open(self) -> bool:
        return bool(self._full or self._open or self._is_kept_due)

    def _take(self) -> _Taken:
        """Close the open round, if none is closed. The lock is held and appends wait: nothing is encoded here."""
        if not self._full:
            self._close_open()
        entries, size = self._full.popleft()
        number, needed_from = self._under_way.begin()
        kept = self._user_data if self._is_kept_due else None
        if kept is not None:
            self._is_kept_due, self._kept_round = False, number
            self._saved_in.append((number, self._saves))
        start = self._open_index
        self._open_index += len(entries)
        self._places.add(self._open_index)
        self._round_ends.append((number, self._open_index, size))
        self._is_urgent = self._is_urgent and self._has_open
        self._sent_at = self._clock.monotonic()
        return _Taken(number, needed_from, start, entries, kept)

    def _begin(self, taken: _Taken) -> _Job:
        """The bytes of a round."""
        rows, places = lay_out(taken.entries, taken.kept)
        nonce = f"{self._chance.bits(128):032x}"
        broker, life = self._series.id.broker, self._series.id.life
        data = encode_round(RoundHeader(ROUND, broker, life, taken.number, taken.needed_from, nonce), rows)
        with self._changed:
            self._reader.add(taken.start, self._series, taken.number, places)
        return _Job(taken.number, data, nonce)

    def _put(self, job: _Job) -> None:
        """Put a round, until it is there or never will be."""
        pause_s = 0.05
        while not self._gone.is_set():
            try:
                self._series.send(*job, lambda: self._under_way.unknown)
            except Unavailable as failure:
                log.debug("round %d is tried again: %s", job.number, failure)
                self._pause(pause_s)
                pause_s = min(2 * pause_s, _RETRY_S_MAX)
            except Exception as failure:
                self._fail(failure)
                return
            except BaseException as failure:  # Interrupted in the middle: who waits would wait for ever.
                self._fail(WalFailed(self._series.id.prefix, failure))
                raise
            else:
                self._note(job.number)
                return

    def _pause(self, seconds: float) -> None:
        if self._pool is None:
            self._series.patience.wait(seconds)
        else:
            self._gone.wait(seconds)

    def _put_all(self) -> None:
        """The same in the caller's thread, one after the other."""
        while self._failure is None:
            with self._changed:
                if not self._has_open:
                    return
                taken = self._take()
            self._put(self._begin(taken))

    def _note(self, number: int) -> None:
        with self._changed:
            end = self._under_way.exists(number, self._clock.boottime())
            self._puts += 1
            while self._round_ends and self._round_ends[0][0] < end:
                _, self._durable_index, size = self._round_ends.popleft()
                self._queued_size -= size
            while self._saved_in and self._saved_in[0][0] < end:
                self._durable_saves = self._saved_in.popleft()[1]
            told = []
            while self._waiting and self._is_durable(*self._waiting[0][:2]):
                told.append(self._waiting.popleft()[2])
            self._changed.notify_all()
        for callback in told:
            callback(None)

    def _is_durable(self, index: int, saves: int) -> bool:
        return self._durable_index >= index and self._durable_saves >= saves

    def _fail(self, failure: Exception) -> None:
        """Nothing is acknowledged any more."""
        with self._changed:
            self._failure = self._failure or failure
            told, self._waiting = self._waiting, deque()
            self._gone.set()
            self._changed.notify_all()
        for _, _, callback in told:
            callback(failure)
        self.on_stop(failure)

    # Purge

    def log_id(self, index: int) -> LogId | None:
        return LogId(0, index) if self._first_index <= index < self._next_index else None

    def frees_a_chunk(self, index: int) -> bool:
        """Whether a purge below this entry is worth a round."""
        with self._changed:
            freed = self._places.round_of(index) - self._under_way.needed_from
            return freed >= _PURGE_ROUNDS_MIN or (freed > 0 and index == self._next_index)

    def purge(self, upto: LogId) -> None:
        """Entries up to this one are needed no more: the next round says so."""
        needed = upto.index + 1
        with self._changed:
            self._check_open()
            self._first_index = max(self._first_index, needed)
            number = self._places.round_of(needed)
            self._under_way.need_from(number)
            self._is_kept_due |= number > self._kept_round  # It has to be in a round that stays.
            self._forgetting.add(self._places.release(needed))
            self._reader.release(needed)
        if self._pool is None:
            with made_on_purpose(), contextlib.suppress(HoldfastError):
                self.tidy()

    def _tidy_up(self) -> None:
        while not self._gone.wait(_TIDY_S):
            try:
                self.tidy()
            except HoldfastError as failure:
                log.debug("old rounds stay for now: %s", failure)

    def tidy(self) -> None:
        """Delete what nobody needs, and nobody may be reading any more."""
        now = self._clock.boottime()
        self._forgetting.go_on(now)
        with self._changed:
            going = self._under_way.to_delete(now)
        self._series.delete(going)
        with self._changed:
            self._under_way.deleted(going.stop)

    # Reading

    def read(self, start: int, end: int) -> Iterator[Entry]:
        """Entries as they were appended. Blocks, and asks the store."""
        with self._changed:
            if start < self._first_index:
                raise ReadBelowPurged(self.state.purged, start)
            found = self._reader.find(start, end)
        yield from self._reader.entries(found, start, end)

    def read_raw(self, index: int) -> RawFrame:
        """The object that has an entry, right or wrong. Blocks."""
        with self._changed:
            (where,) = self._reader.find(index, index + 1)
        return raw(where)

    # Figures

    @property
    def queued_size(self) -> int:
        return self._queued_size

    @property
    def chunk_size_max(self) -> int:
        return self._settings.round_size_max

    def size_from(self, index: int) -> int:
        """Bytes of the rounds from an entry on, each counted as one of some size at least."""
        with self._changed:
            return self._reader.size_from(index)

    def on_disk_size(self) -> int:
        return self.size_from(self._first_index)

    def index_size(self) -> int:
        return (self._next_index - self._first_index) * PLACE_SIZE

    def stat(self) -> Stat:
        with self._changed:
            rounds, end = len(self._reader), self._reader.end
        return Stat(
            chunks=rounds,
            open_chunk=self._series.name(self._under_way.next_number),
            open_chunk_size=self._open_size,
            end=Position(end),
            durable=Position(end - self._queued_size),
            on_disk_size=self.on_disk_size(),
            queued_size=self.queued_size,
            sync_count=self._puts,
            cache_entries=0,
            cache_size=0,
            cache_hits=0,
            cache_misses=0,
            state=self.state,
        )

    # The end

    def close(self) -> None:
        """Put what is open and the seal, within a few seconds: without it the next start takes it for a crash."""
        if self._is_closing:
            return
        self._is_closing = True
        if self._pool is None:
            with made_on_purpose():
                self._end()
        else:
            ending = threading.Thread(target=self._end, daemon=True)
            ending.start()
            ending.join(_CLOSE_S)
        self.abandon()

    def abandon(self) -> None:
        """Let go of it as a crash would."""
        self._is_closing = True
        self._fail(WalClosed(self._series.id.prefix))
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)

    def _end(self) -> None:
        with contextlib.suppress(HoldfastError):
            self.sync()
            self._series.seal({"clean": True, "by": f"life {self._series.id.life} itself"})
