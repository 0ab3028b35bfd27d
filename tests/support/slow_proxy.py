"""A TCP proxy as a slow network: every piece comes late, and answers can be held back while requests go on."""

from __future__ import annotations

import asyncio
import contextlib

from tests.torture.proxy import Proxy

_PIECE_SIZE = 1 << 18


class SlowProxy(Proxy):
    """Each piece is passed on `delay_s` after it came."""

    def __init__(self, target: int, delay_s: float = 0.0) -> None:
        super().__init__(target)
        self._delay_s = delay_s
        self._answers_flow = asyncio.Event()
        self._answers_flow.set()

    def hold_answers(self, *, on: bool) -> None:
        """Let the broker's answers wait until told otherwise; requests go through."""
        self._loop.call_soon_threadsafe(self._answers_flow.clear if on else self._answers_flow.set)

    async def _pass_on(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        is_answer = sink.get_extra_info("peername")[1] != self._target
        with contextlib.suppress(OSError):
            while piece := await source.read(_PIECE_SIZE):
                await asyncio.sleep(self._delay_s)
                if is_answer:
                    await self._answers_flow.wait()
                sink.write(piece)
                await sink.drain()
        self._writers.discard(sink)
        with contextlib.suppress(OSError, RuntimeError):
            sink.close()
