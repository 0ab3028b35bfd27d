"""The certificates of listeners, looked at while the broker runs: what is renewed counts from the next handshake on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress

from holdfast.broker.net.listener import OpenListener
from holdfast.cli.serve.reload import Reload
from holdfast.io.calls import BlockingCalls
from holdfast.security.tls import LOOK_EVERY_S, WatchedContext


@asynccontextmanager
async def followed(listeners: Sequence[OpenListener], calls: BlockingCalls, reload: Reload) -> AsyncIterator[None]:
    """For as long as the block lasts; SIGHUP looks at once."""
    watched = [each.tls for each in listeners if each.tls is not None]
    if not watched:
        yield
        return
    now = asyncio.Event()
    reload.on_signal.append(now.set)
    task = asyncio.ensure_future(_look(watched, calls, now))
    try:
        yield
    finally:
        reload.on_signal.remove(now.set)
        task.cancel()


async def _look(watched: Sequence[WatchedContext], calls: BlockingCalls, now: asyncio.Event) -> None:
    while True:
        with suppress(TimeoutError):
            await asyncio.wait_for(now.wait(), LOOK_EVERY_S)
        now.clear()
        for each in watched:
            await calls.local(each.look)
