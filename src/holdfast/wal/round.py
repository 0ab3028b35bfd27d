"""One round: what is written and made durable together, and everybody who waits for it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections.abc import Callable, Generator, Sequence
from typing import TypeAlias

from holdfast.types import Buffer
from holdfast.wal.chunk import Chunk
from holdfast.wal.frame import HEADER, encode_header

log = logging.getLogger(__name__)

Callback: TypeAlias = Callable[[Exception | None], None]  # Called with the failure, or with None.


class Round:
    """Frames of one chunk that become durable with one fsync."""

    def __init__(self, number: int, chunk: Chunk, *, creates_chunk: bool) -> None:
        self.number = number
        self.chunk = chunk
        self.creates_chunk = creates_chunk
        self.start = chunk.end  # The byte of the chunk where the round begins.
        self.size = 0
        self.buffers: list[Buffer] = []
        self.next_index: int = 0  # Entries below this are durable with this round.
        self.freed: list[Chunk] = []  # Chunks that nothing needs once this round is durable.
        self._lock = threading.Lock()
        self._done = False
        self._error: Exception | None = None
        self._callbacks: list[Callback] = []
        self._futures: dict[asyncio.AbstractEventLoop, list[asyncio.Future[None]]] = {}

    def add(self, kind: int, body: Sequence[Buffer], size: int) -> int:
        """Put one more frame, whose body has `size` bytes, at the end of the round; the byte where it begins."""
        chunk = self.chunk
        offset = chunk.end
        self.buffers.append(encode_header(kind, body, size, self.start, self.number, chunk.seed))
        self.buffers += body
        size += HEADER.size
        self.size += size
        chunk.end = offset + size
        return offset

    def finish(self, error: Exception | None) -> None:
        """Tell everybody who waits, in the order in which they came."""
        with self._lock:
            self._done = True
            self._error = error
            callbacks, futures = self._callbacks, self._futures
        for callback in callbacks:
            try:
                callback(error)
            except Exception:  # A caller's mistake must not stop the writer, nor keep the news from the others.
                log.exception("a flush callback failed")
        for loop, waiting in futures.items():
            with contextlib.suppress(RuntimeError):  # The loop was closed: nobody is left to be told.
                loop.call_soon_threadsafe(_resolve, waiting, error)

    def when_done(self, callback: Callback) -> None:
        with self._lock:
            if not self._done:
                self._callbacks.append(callback)
                return
        callback(self._error)

    def future(self) -> asyncio.Future[None]:
        """A future of the running loop; all futures of one loop are resolved by one call."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        with self._lock:
            if not self._done:
                self._futures.setdefault(loop, []).append(future)
                return future
        _resolve([future], self._error)
        return future


def _resolve(futures: list[asyncio.Future[None]], error: Exception | None) -> None:
    for future in futures:
        if future.done():
            continue  # Cancelled by its owner.
        if error is None:
            future.set_result(None)
        else:
            future.set_exception(error)


class Flush:
    """The wait for everything appended so far to be durable: `await` it, or call `wait`."""

    __slots__ = ("_round",)

    def __init__(self, round_: Round | None) -> None:
        self._round = round_  # None: all was durable already.

    def __await__(self) -> Generator[object, None, None]:
        if self._round is not None:
            yield from self._round.future()

    def wait(self, timeout: float | None = None) -> None:
        """Block until durable; raises the log's failure, or TimeoutError."""
        if self._round is None:
            return
        done = threading.Event()
        failure: list[Exception | None] = []

        def note(error: Exception | None) -> None:
            failure.append(error)
            done.set()

        self._round.when_done(note)
        if not done.wait(timeout):
            raise TimeoutError(f"not durable after {timeout} s")
        if failure[0] is not None:
            raise failure[0]
