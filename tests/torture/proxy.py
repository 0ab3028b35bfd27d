"""A TCP proxy between clients and the broker: cuts their connections, or holds everything back for a while."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
import threading
from collections.abc import Coroutine
from types import TracebackType
from typing import Any, Self

_PIECE_SIZE = 1 << 18
_RESET = struct.pack("ii", 1, 0)  # SO_LINGER: close by reset, without a farewell.


class Proxy:
    """Listens while its `with` block lasts, in a thread of its own. Where the broker is not there, connections end."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._flows: asyncio.Event = asyncio.Event()
        self.port = 0
        self.lag_s = 0.0  # Everything comes so much later, in either direction.

    def __enter__(self) -> Self:
        self._thread.start()
        self._call(self._listen())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._call(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def connections(self) -> int:
        """How many there are to the broker."""
        return len(self._writers) // 2

    def cut(self, every: int = 1) -> int:
        """Reset every connection, or every so-manieth; how many there were."""
        return self._call(self._cut(every))

    def hold(self, *, on: bool) -> None:
        """Let nothing through, in either direction, until told otherwise."""
        self._loop.call_soon_threadsafe(self._flows.clear if on else self._flows.set)

    def _call(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(30)

    async def _listen(self) -> None:
        self._flows.set()
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            onward, back = await asyncio.open_connection("127.0.0.1", self._target)
        except OSError:
            writer.close()
            return
        for each in (writer, back):
            each.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._writers |= {writer, back}
        for source, sink in ((reader, back), (onward, writer)):
            task = asyncio.ensure_future(self._pass_on(source, sink))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _pass_on(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while piece := await source.read(_PIECE_SIZE):
                await self._flows.wait()
                if self.lag_s:
                    await asyncio.sleep(self.lag_s)
                sink.write(piece)
                await sink.drain()
        self._writers.discard(sink)
        with contextlib.suppress(OSError, RuntimeError):
            sink.close()

    async def _cut(self, every: int) -> int:
        chosen = sorted(self._writers, key=id)[::every]
        for writer in chosen:
            with contextlib.suppress(OSError):
                writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            writer.transport.abort()
        return len(chosen)

    async def _end(self) -> None:
        self._server.close()
        self._flows.set()
        await self._cut(1)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
