"""One round: what is written and made durable together, and everybody who waits for it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections import deque
from collections.abc import Callable, Generator, Sequence
from typing import TypeAlias

from holdfast.types import Buffer
from holdfast.wal.chunks.chunk import Chunk
from holdfast.wal.format.frame import HEADER, encode_header

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
        self.marks = False  # It holds nothing but a marker, and so leaves nothing unproven behind.
        self._lock = threading.Lock()
        self.known = False  # Whether the round is durable or failed.
        self._done = False  # All who waited were told so.
        self._error: Exception | None = None
        self._callbacks: deque[Callback] = deque()
        self._futures: dict[asyncio.AbstractEventLoop, list[asyncio.Future[None]]] = {}

    def add(self, kind: int, body: Sequence[Buffer], size: int) -> int:
        """Put one more frame, whose body has `size` bytes, at the end of the round; the byte where it begins."""
        chunk = self.chunk
        offset = chunk.end
        self.buffers += (encode_header(kind, body, size, self.start, self.number, chunk.seed, chunk.mark), *body)
        size += HEADER.size
        self.size += size
        chunk.end = offset + size
        return offset

    def finish(self, error: Exception | None) -> None:
        """Tell everybody who waits, in the order in which they came; who comes meanwhile is told last."""
        if not self.known:
            self._error = error
            self.known = True
        interruption: BaseException | None = None
        while (callback := self._next_callback()) is not None:
            try:
                callback(error)
            except Exception:  # A caller's mistake must not stop the writer, nor keep the news from the others.
                log.exception("a flush callback failed")
            except BaseException as failure:
                interruption = failure
            self._callbacks.popleft()  # Only now: whoever finishes after an interrupt must find it still there.
        for loop, waiting in self._futures.items():
            with contextlib.suppress(RuntimeError):  # The loop was closed: nobody is left to be told.
                loop.call_soon_threadsafe(_resolve, waiting, error)
        self._futures = {}
        if interruption is not None:
            raise interruption

    def _next_callback(self) -> Callback | None:
        with self._lock:
            if self._callbacks:
                return self._callbacks[0]
            self._done = True
            return None

    @property
    def has_waiters(self) -> bool:
        return bool(self._callbacks or self._futures)

    def check(self) -> None:
        """Raise the failure of a round that is known to have failed."""
        if self._error is not None:
            raise self._error.with_traceback(None)

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
        if not self._round.known:  # Who asks in a callback must not wait for the end of the callbacks.
            done = threading.Event()
            self._round.when_done(lambda _: done.set())
            if not done.wait(timeout):
                raise TimeoutError(f"not durable after {timeout} s")
        self._round.check()
