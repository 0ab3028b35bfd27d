"""The one dedicated writer thread, and the seat that makes it one writer.

Whoever holds the seat may write. Normally that is the thread: it sleeps until woken, takes all that queued up as the
next rounds, and writes them. A blocking caller whose seat is free sits down itself for one turn instead of handing its
bytes over and waiting to be told: a hand-over to another thread and back costs a third of an fsync.
"""

from __future__ import annotations

import threading
from collections.abc import Callable


class WriterThread:
    """Runs `turn` when woken, and `idle` when nothing has happened for a while after a turn."""

    def __init__(self, turn: Callable[[], None], idle: Callable[[], bool], idle_delay_ms: int) -> None:
        self._turn = turn
        self._idle = idle  # Returns whether it wants to be called again after another delay.
        self._idle_delay = idle_delay_ms / 1000
        self._wake = threading.Lock()  # Used as a signal: held while there is nothing to do.
        self._wake.acquire()
        self._guard = threading.Lock()
        self._signalled = False
        self._ending = False
        self._resting = threading.Event()
        self._thread = threading.Thread(target=self._run, name="holdfast-wal-writer", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def wake(self) -> None:
        with self._guard:
            if not self._signalled:
                self._signalled = True
                if self._resting.is_set():
                    self._resting.clear()
                self._wake.release()

    def end(self) -> None:
        """Let the thread finish what it is doing, and wait for its end."""
        self._ending = True
        self.wake()
        if self._thread.is_alive():
            self._thread.join()

    def wait_resting(self, timeout: float | None) -> bool:
        """Wait until the thread has nothing to do; False on timeout."""
        return self._resting.wait(timeout)

    def _run(self) -> None:
        watching = False  # Something was written that no marker follows yet.
        try:
            while not self._ending:
                if self._wait(self._idle_delay if watching else None):
                    self._turn()
                    watching = True
                else:
                    watching = self._idle()
        finally:
            self._end_resting()

    def _end_resting(self) -> None:
        """However the thread ends, nobody waits for it any more."""
        with self._guard:
            self._signalled = True  # No later wake may say that there is something to do.
            self._resting.set()

    def _wait(self, timeout: float | None) -> bool:
        with self._guard:
            if not self._signalled and timeout is None:
                self._resting.set()
        woken = self._wake.acquire(timeout=-1 if timeout is None else timeout)
        with self._guard:
            # A wake may come between the timeout and here: then the signal is taken, so that it is not lost.
            if not woken and self._signalled:
                woken = self._wake.acquire()
            self._signalled = False
        return woken
