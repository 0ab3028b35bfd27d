"""The write-ahead log: durable entries in order, and back after a crash. Knows nothing of what the entries mean.

Write path: `append` checks the rules, encodes a frame and puts it into the open round (small entries of `append_one`
wait in an open run until somebody flushes, and become one frame) → `flush` wakes the writer →
`Rounds` takes all rounds that queued up → `Writer.write` writes and syncs each → `Round.finish` tells who waits.
All state changes happen under one lock, which is never held during a disk call.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Self

from holdfast.io.chance import Chance, SystemChance
from holdfast.io.clock import Clock, SystemClock
from holdfast.io.disk import Directory
from holdfast.types import Buffer, Position
from holdfast.wal.append import OpenRun, fits_one_frame, frame_size_of, gather, joined, split
from holdfast.wal.atomic_change import AtomicChange
from holdfast.wal.cache import Payload, PayloadCache, payload_size
from holdfast.wal.chunks.chunk import Chunk, ChunkName
from holdfast.wal.commit.round import Callback, Flush, Round
from holdfast.wal.commit.rounds import Rounds
from holdfast.wal.commit.writer import OnFull, give_up_when_full
from holdfast.wal.entries import Entries
from holdfast.wal.errors import EntryTooLarge, LogIdUnknown
from holdfast.wal.format import record
from holdfast.wal.format.frame import HEADER
from holdfast.wal.read import Entry, EntryBlock, RawFrame
from holdfast.wal.recovery.reopen import begin, head_of
from holdfast.wal.recovery.replay import recover
from holdfast.wal.settings import USER_DATA_SIZE_MAX, WalSettings
from holdfast.wal.stat import OpenReport, Stat
from holdfast.wal.state import Current, LogId, Vote, WalState

log = logging.getLogger(__name__)

_USER_DATA_SHARE = 4  # A chunk may be so many times as large as the user data.


class Wal:
    """A write-ahead log in one directory. Use `Wal.open`. Safe to use from several threads."""

    takes_many = True  # What an entry holds is its user's affair.

    def __init__(
        self,
        directory: Directory,
        settings: WalSettings,
        clock: Clock,
        chance: Chance,
        on_full: OnFull,
        *,
        threaded: bool,
    ) -> None:
        self._settings = settings
        self._chance = chance
        self._lock = threading.Lock()
        self._cache = PayloadCache(settings.cache_size_max, settings.cache_entries_max)
        self._run = OpenRun()
        self._file_lock = directory.lock("write-ahead log")
        try:
            recovered = recover(directory)
            begun = begin(directory, settings, chance, recovered, on_full)
        except BaseException:
            self._file_lock.release()
            raise
        self._index = recovered.index
        self._current = Current(begun.state)
        self._chunk = begun.chunk
        self._chunk_size_max = self._size_max_with(begun.state.user_data)
        self._chunk_begins = begun.chunk.end  # Where the chunk's own records begin, behind head and carried records.
        self._chunk_entries = begun.state.next_index - begun.chunk.first_index
        self._durable_index = begun.state.next_index
        self._durable = begun.chunk.position(begun.chunk.end)
        self._cache.pinned_from = self._durable_index
        self._rounds = Rounds(self._lock, begun, settings, clock, self._note_durable, threaded=threaded)
        self._entries = Entries(
            directory, self._lock, self._rounds, self._current, self._index, self._cache, self._end_run
        )
        self.opened = OpenReport.of(recovered)
        self.opened.log_to(log, directory.path)
        self._whole = AtomicChange(self._rounds.stop_half_way)
        self._rounds.start()

    @property
    def on_stop(self) -> Callable[[Exception], None]:
        """Called, in the thread that writes, when the log has stopped by itself."""
        return self._rounds.on_stop

    @on_stop.setter
    def on_stop(self, tell: Callable[[Exception], None]) -> None:
        self._rounds.on_stop = tell

    @classmethod
    def open(
        cls,
        directory: Directory,
        settings: WalSettings | None = None,
        *,
        clock: Clock | None = None,
        chance: Chance | None = None,
        threaded: bool = True,
        on_full: OnFull = give_up_when_full,
    ) -> Self:
        """Lock the directory, replay it, and begin a new chunk. Without a thread, `flush` writes in the caller.

        When a write finds the disk full, `on_full` is asked, in the thread that writes, whether to try it again.
        """
        settings, clock, chance = settings or WalSettings(), clock or SystemClock(), chance or SystemChance()
        return cls(directory, settings, clock, chance, on_full, threaded=threaded)

    # Records

    @property
    def state(self) -> WalState:
        """What all records so far say, taken together."""
        return self._current.state

    def append(self, first: LogId, payloads: Sequence[Payload]) -> Position:
        """Queue entries of one epoch at consecutive indexes; returns the position behind them. Not durable yet."""
        sizes = [len(payload) if type(payload) is bytes else payload_size(payload) for payload in payloads]
        size = sum(sizes)
        if not sizes:
            raise ValueError("append needs at least one payload")
        if size > self._settings.payload_size_max and max(sizes) > self._settings.payload_size_max:
            raise EntryTooLarge(self._settings.payload_size_max, max(sizes))
        with self._lock:
            self._rounds.check_open()
            self._current.check_append(first)
            self._rounds.check_room(self._run.size + size)
            self._end_run()
            if fits_one_frame(len(sizes), size, self._settings.chunk_entries_max):
                self._append_frame(first, payloads, sizes, size)
            else:
                for start, end in split(sizes, self._settings.chunk_entries_max):
                    run = sizes[start:end]
                    self._append_frame(LogId(first.epoch, first.index + start), payloads[start:end], run, sum(run))
            return self._end

    def append_one(self, first: LogId, pieces: tuple[Buffer, ...]) -> None:
        """The same for one entry, given in pieces: the shortest way for those who append one by one."""
        size = sum(map(len, pieces))
        if size > self._settings.payload_size_max:
            raise EntryTooLarge(self._settings.payload_size_max, size)
        payload, run = joined(pieces, size), self._run
        with self._lock:
            self._rounds.check_open()
            self._current.check_append(first)
            if payload is None or size > run.room or first.epoch != run.epoch:
                self._rounds.check_room(run.size + size)
                self._end_run()
                if payload is None:
                    self._append_frame(first, (pieces,), (size,), size)
                    return
                self._begin_run(first, size)
            try:
                run.add(payload, size)
                self._current.append(first.epoch, first.index + 1)
            except BaseException as failure:  # What `AtomicChange` does, without its two calls: this is the hot path.
                self._rounds.stop_half_way(failure)
                raise

    def _begin_run(self, first: LogId, size: int) -> None:
        with self._whole:
            self._make_room(frame_size_of(size), 1)  # Not later: a head speaks of the entries in chunks before it.
            self._index.note_epoch(first)
            chunk_room = self._chunk_size_max - self._chunk.end
            room = min(self._settings.shared_frame_size_max, chunk_room, self._rounds.room)
            self._run.begin(first.epoch, room, self._settings.chunk_entries_max - self._chunk_entries)

    def _end_run(self) -> None:
        """Make one frame of the entries that wait for it."""
        run = self._run
        if not run.sizes:
            return
        with self._whole:
            count = len(run.sizes)
            first = LogId(run.epoch, self._current.next_index - count)
            fixed = record.encode_append(first, run.sizes)
            body = b"".join((fixed, *run.payloads))
            self._put_frame(first, [body], len(body), count)
            self._cache.add(first.index, run.payloads, len(body) - len(fixed))
            run.begin(0, 0, 0)

    def _append_frame(self, first: LogId, payloads: Sequence[Payload], sizes: Sequence[int], size: int) -> None:
        count = len(sizes)
        fixed = record.encode_append(first, sizes)
        size += len(fixed)
        body = gather(fixed, payloads, size)
        try:
            self._make_room(HEADER.size + size, count)
            self._put_frame(first, body, size, count)
            self._cache.add(first.index, payloads, size - len(fixed))
            self._current.append(first.epoch, first.index + count)
        except BaseException as failure:  # As in `append_one`.
            self._rounds.stop_half_way(failure)
            raise

    def _put_frame(self, first: LogId, body: Sequence[Buffer], size: int, count: int) -> None:
        round_, offset = self._rounds.put(record.APPEND, body, size)
        self._index.add(self._chunk, first, offset, HEADER.size + size)
        self._chunk_entries += count
        round_.next_index = first.index + count

    def save_vote(self, vote: Vote) -> Position:
        """Record a vote; it may not be lower than the one before."""
        with self._lock:
            self._rounds.check_open()
            return self._record(record.VOTE, record.encode_id(vote), self._current.state.voted(vote))

    def truncate(self, index: int) -> Position:
        """Cut all entries from `index` on."""
        with self._lock:
            self._rounds.check_open()
            self._current.state.check_truncate(index)
            last = self._index.log_id(index - 1, self._current.state.purged) if index > 0 else None
            body = record.encode_id(last)
            with self._whole:
                position = self._record(record.TRUNCATE, body, self._current.state.truncated(last))
                self._index.truncate(index)
                self._cache.truncate(index)
                self._durable_index = min(self._durable_index, index)
                for round_ in self._rounds.pending():
                    round_.next_index = min(round_.next_index, index)
                self._pin()
            return position

    def purge(self, upto: LogId) -> Position:
        """Let go of all entries up to `upto`. Below the purge point nothing happens."""
        with self._lock:
            self._rounds.check_open()
            state = self._current.state.purge(upto)
            if state is self._current.state:
                return self._end
            self._check_known(upto)
            body = record.encode_id(upto)
            with self._whole:
                position = self._record(record.PURGE, body, state)
                self._cache.forget_below(state.first_index)
                self._rounds.pending()[-1].freed += self._index.take_purged(state.first_index)
            return position

    def frees_a_chunk(self, index: int) -> bool:
        """Whether a purge of all below `index` would free a chunk."""
        with self._lock:
            return len(self._index.chunks) > 1 and self._index.chunks[1].first_index <= index

    def commit(self, log_id: LogId) -> Position:
        """Record how far the entries are committed."""
        with self._lock:
            self._rounds.check_open()
            state = self._current.state.commit(log_id)
            self._check_known(log_id)
            return self._record(record.COMMIT, record.encode_id(log_id), state)

    def save_user_data(self, data: bytes) -> Position:
        """Record bytes that mean something to the log's user only, together with the whole state."""
        if len(data) > USER_DATA_SIZE_MAX:
            raise EntryTooLarge(USER_DATA_SIZE_MAX, len(data))
        with self._lock:
            self._rounds.check_open()
            state = replace(self._current.state, user_data=data)
            position = self._record(record.STATE, record.encode_state(state), state)
            self._chunk_size_max = self._size_max_with(data)
            return position

    def _size_max_with(self, user_data: bytes) -> int:
        """A chunk begins with the user data: where that is large, chunks are, so that it is never most of them."""
        return max(self._settings.chunk_size_max, _USER_DATA_SHARE * len(user_data))

    def _check_known(self, log_id: LogId) -> None:
        if log_id.index < self._current.state.next_index:
            current = self._index.log_id(log_id.index, self._current.state.purged)
            if current is not None and current != log_id:
                raise LogIdUnknown(current, log_id)

    def _record(self, kind: int, body: bytes, state: WalState) -> Position:
        self._end_run()
        with self._whole:
            self._make_room(HEADER.size + len(body), 0)
            round_, _ = self._rounds.put(kind, [body], len(body))
            self._current.state = state
            round_.next_index = state.next_index
        return self._end

    @property
    def _end(self) -> Position:
        return self._chunk.position(self._chunk.end)

    def _make_room(self, size: int, count: int) -> None:
        """Begin a new chunk when the open one is full: by size, or by the number of entries."""
        used = self._chunk.end > self._chunk_begins
        if used and (
            self._chunk.end + size > self._chunk_size_max
            or self._chunk_entries + count > self._settings.chunk_entries_max
        ):
            self._roll_over()

    def _roll_over(self) -> None:
        before = self._chunk
        name = ChunkName(before.name.id + 1, self._chance.bits(64))
        head = head_of(name, before.name.id, before.end, self._end, self._current.state)
        self._chunk = Chunk(name, self._end, 0, self._current.state.next_index)
        self._index.chunks.append(self._chunk)
        self._rounds.begin_chunk(self._chunk)
        body = record.encode_head(head)
        self._rounds.put(record.HEAD, [body], len(body))
        self._chunk_begins = self._chunk.end
        self._chunk_entries = 0
        self._pin()

    # Durability

    def flush(self, callback: Callback | None = None) -> Flush:
        """Make everything appended so far durable: await the result, or be called back with None or the failure."""
        self._frame_all()
        return self._rounds.flush(callback)

    def sync(self) -> None:
        """Make everything appended so far durable, and return when it is. Raises the log's failure."""
        self._frame_all()
        self._rounds.sync()

    def _frame_all(self) -> None:
        if self._run.sizes:  # Without the lock: whoever flushes sees what it has appended itself.
            with self._lock:
                self._end_run()

    def mark(self) -> None:
        """Prove now, not only when idle, that all written so far is durable."""
        self._frame_all()
        self._rounds.mark()

    def _note_durable(self, round_: Round) -> None:
        self._durable_index = max(self._durable_index, round_.next_index)
        self._durable = round_.chunk.position(round_.start + round_.size)
        if not self._settings.cache_open_chunk or self._cache.pinned_from < self._chunk.first_index:
            self._pin()

    def _pin(self) -> None:
        keep = self._chunk.first_index if self._settings.cache_open_chunk else self._durable_index
        self._cache.pinned_from = min(self._durable_index, keep)
        self._cache.evict()

    # Reading

    def read(self, start: int, end: int) -> Iterator[Entry]:
        """The entries `[start, end)`, as far as there are any: from memory where cached, else from disk, in pieces."""
        return self._entries.read(start, end)

    def read_blocks(self, start: int, end: int) -> Iterator[EntryBlock]:
        """The same in blocks of many entries each: for whoever takes bytes, and needs no object for each entry."""
        return self._entries.read_blocks(start, end)

    def read_raw(self, index: int) -> RawFrame:
        """The bytes of the frame of an entry as they are on disk, unchecked: for whoever saves what is damaged."""
        return self._entries.read_raw(index)

    def log_id(self, index: int) -> LogId | None:
        """The log id of the entry at an index, or of the purge point; None when there is none."""
        return self._entries.log_id(index)

    def drain_cache_evictable(self) -> int:
        """Drop every cached payload that need not stay; the number dropped."""
        with self._lock:
            return self._cache.drain_evictable()

    # Looking

    def stat(self) -> Stat:
        """Figures about chunks, cache, queue and state."""
        with self._lock:
            self._end_run()
            return Stat(
                chunks=len(self._index.chunks),
                open_chunk=str(self._chunk.name),
                open_chunk_size=self._chunk.end,
                end=self._end,
                durable=self._durable,
                on_disk_size=self.on_disk_size(),
                queued_size=self._rounds.queued_size,
                sync_count=self._rounds.sync_count,
                cache_entries=len(self._cache),
                cache_size=self._cache.size,
                cache_hits=self._cache.hits,
                cache_misses=self._cache.misses,
                state=self._current.state,
                chunk_starts=tuple(each.first_index for each in self._index.chunks),
            )

    @property
    def queued_size(self) -> int:
        """Bytes that wait to be written."""
        return self._rounds.queued_size + self._run.size

    def on_disk_size(self) -> int:
        """Bytes of the chunks in use, without spare files."""
        return self._end - self._index.chunks[0].start

    @property
    def chunk_size_max(self) -> int:
        return self._settings.chunk_size_max

    def size_from(self, index: int) -> int:
        """Bytes of the log from an entry on: what it would be if this were the oldest one that is needed."""
        with self._lock:
            if index >= self._current.state.next_index:
                return 0
            self._end_run()
            start = self._index.position_of(index)
            return self._end - (self._index.chunks[0].start if start is None else start)

    def index_size(self) -> int:
        """Bytes of memory that it takes to know where each entry is, about."""
        with self._lock:
            return sum(chunk.places.memory_size for chunk in self._index.chunks)

    def wait_worker_idle(self, timeout: float | None = None) -> bool:
        """Wait until the writer has nothing left to do, not even a marker; False on timeout."""
        return self._rounds.wait_idle(timeout)

    def close(self) -> None:
        """Make everything durable, say in the log that it was closed, and let the directory go. Twice is harmless."""
        if self._rounds.closed:
            return
        try:
            self._frame_all()
            self._rounds.close()
        finally:
            # Interrupted before it was done, the writer may still be at work: then nobody else may have the directory.
            if self._rounds.closed:
                self._file_lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
