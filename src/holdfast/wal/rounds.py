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
from holdfast.wal import record
from holdfast.wal.begin import Begun
from holdfast.wal.chunk import Chunk
from holdfast.wal.errors import Overloaded, WalClosed, WalFailed
from holdfast.wal.frame import HEADER
from holdfast.wal.round import Callback, Flush, Round
from holdfast.wal.settings import WalSettings
from holdfast.wal.thread import WriterThread

log = logging.getLogger(__name__)

_WRITE_EARLY_AT = 4  # A queue filled to one part in this many is written although nobody waits for it yet.


class Rounds:
    """Rounds on their way to the disk. The log's lock guards all state here; no disk call is made under it."""

    def __init__(
        self,
        lock: threading.Lock,
        begun: Begun,
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
        self._failure: Exception | None = None
        self._marked = False  # A marker follows all that was written. After an open none follows the head yet.
        self._written_at = clock.monotonic()
        self.queued_size = 0
        self.sync_count = 0
        self._thread = WriterThread(self._turn, self._mark_when_idle, settings.marker_delay_ms) if threaded else None

    def start(self) -> None:
        if self._thread:
            self._thread.start()
            self._thread.wake()

    # Filling: the caller holds the lock

    def check_open(self) -> None:
        """Raise what stopped the log, if anything did."""
        if self._failure is not None:
            raise self._failure

    def check_room(self, size: int) -> None:
        if self.queued_size and self.queued_size + size > self._settings.queue_size_max:
            raise Overloaded(self.queued_size, self._settings.queue_size_max)

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
        if not pending:
            if callback is not None:
                callback(None)
            return Flush(None)
        if callback is not None:
            pending[-1].when_done(callback)
        if self._thread:
            self._thread.wake()
        else:
            self._turn()
        return Flush(pending[-1])

    def sync(self) -> None:
        """Write in the caller's own thread when the seat is free, else wait for whoever has it."""
        if not self._seat.acquire(blocking=False):
            self.flush(None).wait()
            return
        was_marked = self._marked
        try:
            self._write_queue()
        finally:
            self._seat.release()
        if self._thread and (was_marked or self._queue):
            self._thread.wake()  # To watch for idleness, and to write what queued up meanwhile.
        self.check_open()

    def wait_idle(self, timeout: float | None) -> bool:
        return self._thread.wait_resting(timeout) if self._thread else True

    # Writing: the caller has the seat

    def _turn(self) -> None:
        with self._seat:
            self._write_queue()

    def _write_queue(self) -> None:
        with self._lock:
            if self._failure is not None:
                return
            rounds, self._queue = self._queue, []
            self._writing = rounds.copy()
        for round_ in rounds:
            try:
                self._writer.write(round_)
                self._note_durable(round_)
                round_.finish(None)
                self._writer.recycle(round_.freed)
            except OSError as failure:
                self._stop(failure)  # Never retry an fsync: the pages may already be gone.
                return
            except BaseException as failure:  # Interrupted in the middle: what follows would leave a hole.
                self._stop(failure)
                raise

    def _note_durable(self, round_: Round) -> None:
        with self._lock:
            self._writing.remove(round_)
            self.queued_size -= round_.size
            self.sync_count += 1
            self._marked = False
            self._written_at = self._clock.monotonic()
            self._on_durable(round_)

    def _stop(self, cause: BaseException) -> None:
        failure = WalFailed(self._writer.path, cause)
        with self._lock:
            self._failure = failure
            rounds = self.pending()
            self._queue, self._writing = [], []
        log.critical("%s", failure)
        for round_ in rounds:
            round_.finish(failure)

    def _mark_when_idle(self) -> bool:
        """Mark when nothing was written for a while; whether to ask again after another while."""
        with self._seat:
            with self._lock:
                if self._marked or self._failure is not None:
                    return False
                idle_ms = (self._clock.monotonic() - self._written_at) * 1000
                if self._queue or idle_ms < self._settings.marker_delay_ms:
                    return True
            self._write_marker(closing=False)
        return False

    def mark(self) -> None:
        """Write a marker now: it proves that all before it is durable."""
        with self._seat:
            self._write_queue()
            if not self._marked:
                self._write_marker(closing=False)

    def _write_marker(self, *, closing: bool) -> None:
        with self._lock:
            self.put(record.MARKER, [bytes([closing])], 1)
        self._write_queue()
        self._marked = True

    def close(self) -> None:
        """Write what is left and a closing marker. Raises what goes wrong now; an earlier failure was told already."""
        if self._thread:
            self._thread.end()
        failed_before = self._failure
        try:
            with self._seat:
                if failed_before is None:
                    self._write_marker(closing=True)
        finally:
            failure, self._failure = self._failure, WalClosed(self._writer.path)
            self._writer.close()
        if failure is not None and failed_before is None:
            raise failure

    @property
    def closed(self) -> bool:
        return isinstance(self._failure, WalClosed)
