"""The queue of rounds, and the one seat from which it is written.

A round collects frames while the one before it is being written. `flush` wakes the writer; whoever has the seat takes
all rounds that queued up, and for each: write, fsync, tell everybody who waits. The first failure stops the log.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence

from holdfast.io.clock import Clock
from holdfast.types import Buffer
from holdfast.wal.chunks.chunk import Chunk
from holdfast.wal.commit.round import Callback, Flush, Round
from holdfast.wal.commit.thread import WriterThread
from holdfast.wal.errors import Overloaded, WalClosed, WalFailed
from holdfast.wal.format import record
from holdfast.wal.format.frame import HEADER
from holdfast.wal.recovery.reopen import ReopenedWal
from holdfast.wal.settings import WalSettings

log = logging.getLogger(__name__)

_WRITE_EARLY_AT = 4  # A queue filled to one part in this many is written although nobody waits for it yet.


class Rounds:
    """Rounds on their way to the disk. The log's lock guards all state here; no disk call is made under it."""

    def __init__(
        self,
        lock: threading.Lock,
        begun: ReopenedWal,
        settings: WalSettings,
        clock: Clock,
        on_durable: Callable[[Round], None],  # Called under the lock.
        *,
        threaded: bool,
    ) -> None:
        self._lock = lock
        self._writer = begun.writer
        self._chunk = begun.chunk  # The open one.
        self._settings = settings
        self._clock = clock
        self._number = begun.last_round
        self._on_durable = on_durable
        self._seat = threading.Lock()  # Held by whoever writes.
        self._queue: list[Round] = []  # Not taken yet; the last one is open.
        self._writing: list[Round] = []  # Taken, not durable yet.
        self._durable: Round | None = None  # The last durable one; perhaps not everybody was told yet.
        self._failure: Exception | None = None
        self._failure_told = False  # Somebody knows.
        self._marked = False  # A marker follows all that was written. After an open none follows the head yet.
        self._written_at = clock.monotonic()
        self.queued_size = 0
        self.sync_count = 0
        self.on_stop: Callable[[Exception], None] = lambda failure: None  # noqa: ARG005  # Called by whoever wrote.
        self._thread = WriterThread(self._turn, self._mark_when_idle, settings.marker_delay_ms) if threaded else None

    def start(self) -> None:
        if self._thread:
            self._thread.start()
            self._thread.wake()

    # Filling: the caller holds the lock

    def check_open(self) -> None:
        """Raise what stopped the log, if anything did."""
        if self._failure is not None:
            self._failure_told = True
            # The same error is raised again and again: without this its traceback would grow each time.
            raise self._failure.with_traceback(None)

    def check_room(self, size: int) -> None:
        if self.queued_size and self.queued_size + size > self._settings.queue_size_max:
            raise Overloaded(self.queued_size, self._settings.queue_size_max)

    @property
    def room(self) -> int:
        """Bytes that the queue takes at least before it is full."""
        return self._settings.queue_size_max - self.queued_size

    def begin_chunk(self, chunk: Chunk) -> None:
        """From here on frames go into another chunk, in a round of their own."""
        self._chunk = chunk
        self._begin(creates_chunk=True)

    def _begin(self, *, creates_chunk: bool) -> Round:
        self._number += 1
        round_ = Round(self._number, self._chunk, creates_chunk=creates_chunk)
        self._queue.append(round_)
        return round_

    def put(self, kind: int, body: Sequence[Buffer], size: int) -> tuple[Round, int]:
        """Put a frame into the open round; the round, and the byte of the chunk where the frame begins."""
        round_ = self._queue[-1] if self._queue else self._begin(creates_chunk=False)
        offset = round_.add(kind, body, size)
        round_.marks = kind == record.MARKER
        self.queued_size += HEADER.size + size
        if self._thread and self.queued_size * _WRITE_EARLY_AT > self._settings.queue_size_max:
            self._thread.wake()
        return round_, offset

    def pending(self) -> list[Round]:
        """All rounds that are not durable yet, in order."""
        return self._writing + self._queue

    # Waiting

    def flush(self, callback: Callback | None) -> Flush:
        with self._lock:
            self.check_open()
            pending = self.pending()
            last = pending[-1] if pending else self._durable
        if callback is not None:
            # Also when all is durable: those who came before may not have been called yet.
            if last is not None:
                last.when_done(callback)
            else:
                callback(None)
        if not pending:
            return Flush(None)
        if self._thread:
            self._thread.wake()
        else:
            self._turn_here()
        return Flush(pending[-1])

    def sync(self) -> None:
        """Write in the caller's own thread when the seat is free, else wait for whoever has it."""
        if self._seat.locked():
            self.flush(None).wait()
            return
        was_marked = self._turn_here()
        if self._thread and (was_marked or self._queue):
            self._thread.wake()  # To watch for idleness, and to write what queued up meanwhile.
        self.check_open()

    def wait_idle(self, timeout: float | None) -> bool:
        return self._thread.wait_resting(timeout) if self._thread else True

    # Writing: the caller has the seat

    def _turn(self) -> None:
        with self._seat:
            self._write_queue()

    def _turn_here(self) -> bool:
        """A turn in the caller's own thread, who learns of every interrupt; whether all before it was marked."""
        try:
            with self._seat:  # Nothing but `with` is safe from an interrupt between taking it and giving it back.
                was_marked = self._marked
                self._write_queue()
        except BaseException:
            self._failure_told = True
            raise
        return was_marked

    def _write_queue(self) -> None:
        if self._failure is not None:
            self._end_with(self._failure)
            return
        try:
            for round_ in self._take_queue():
                self._writer.write(round_)
                self._note_durable(round_)
                round_.finish(None)
                self._writer.uncache(round_)
                if round_.freed:
                    self._writer.recycle(round_.freed)
        except OSError as failure:
            self._stop(failure)  # Never retry an fsync: the pages may already be gone.
        except BaseException as failure:  # Interrupted in the middle: what follows would leave a hole.
            self._stop(failure)
            raise

    def _take_queue(self) -> list[Round]:
        with self._lock:
            if self._failure is not None:
                return []
            self._writing, self._queue = self._queue, []
            return self._writing.copy()

    def _note_durable(self, round_: Round) -> None:
        with self._lock:
            self._durable = round_
            del self._writing[0]
            round_.buffers = []
            self.queued_size -= round_.size
            self.sync_count += 1
            self._marked = round_.marks
            self._written_at = self._clock.monotonic()
            self._on_durable(round_)

    def _stop(self, cause: BaseException) -> None:
        failure = WalFailed(self._writer.path, cause)
        log.critical("%s", failure)
        if self._durable is not None:
            self._durable.finish(None)  # An interrupted callback was not the last one.
        self._end_with(failure)
        self.on_stop(failure)  # Perhaps nobody waited, as for a marker; and nobody would hear of it otherwise.

    def stop_half_way(self, cause: BaseException) -> None:
        """A change was interrupted: refuse everything from now on. The caller holds the lock; the writer tells."""
        if self._failure is None:
            self._failure = WalFailed(self._writer.path, cause)
            self._failure_told = True
        if self._thread:
            self._thread.wake()

    def _end_with(self, failure: Exception) -> None:
        """Refuse everything from now on, and tell everybody who waits."""
        with self._lock:
            self._failure = failure
            rounds = self.pending()
            self._queue, self._writing = [], []
        for round_ in rounds:
            self._failure_told |= round_.has_waiters
            round_.finish(failure)

    def _mark_when_idle(self) -> bool:
        """Mark when nothing was written for a while; whether to ask again after another while."""
        with self._seat:
            with self._lock:
                if self._marked or self._failure is not None:
                    return False
                if (self._clock.monotonic() - self._written_at) * 1000 < self._settings.marker_delay_ms:
                    return True
            self._write_marker(closing=False)
            return not self._marked and self._failure is None

    def mark(self) -> None:
        """Write a marker now: it proves that all before it is durable."""
        with self._seat:
            with self._lock:
                self.check_open()
            if self._queue or not self._marked:
                self._write_marker(closing=False)
        self.check_open()

    def _write_marker(self, *, closing: bool) -> None:
        with self._lock:
            if self._queue:  # A marker proves only what was durable before its own round was written.
                self._begin(creates_chunk=False)
            padding = record.padding_before_marker(self._chunk.end)
            if padding:  # In one block with what it proves, a marker would be lost together with it.
                self.put(record.MARKER, [bytes(padding)], padding)
            self.put(record.MARKER, [bytes([closing])], 1)
        self._write_queue()

    def close(self) -> None:
        """Write what is left and a closing marker. Raises the log's failure, unless somebody was told of it before."""
        if self._thread:
            self._thread.end()
        with self._seat:
            if self.closed:
                return
            told_before = self._failure_told
            try:
                if self._failure is None:
                    self._write_marker(closing=True)
            finally:
                failure = self._failure
                self._end_with(WalClosed(self._writer.path))  # What came after the marker was never written.
                self._writer.close()
        if failure is not None and not told_before:
            raise failure

    @property
    def closed(self) -> bool:
        return isinstance(self._failure, WalClosed)
