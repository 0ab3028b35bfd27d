"""Background work between two turns: it rests until somebody wakes it, or for a time."""

from __future__ import annotations

import asyncio

from holdfast.io.calls import BlockingCalls

BACKGROUND = "holdfast-log"  # The name of every task that the logs make by themselves.


async def rest(woken: asyncio.Event, calls: BlockingCalls, seconds: float | None) -> None:
    """Wait until somebody wakes us, or for so long at the most; None is for ever."""
    waits: list[asyncio.Task[object]] = [asyncio.create_task(_until(woken), name=BACKGROUND)]
    if seconds is not None:
        waits.append(asyncio.create_task(_pause(calls, seconds), name=BACKGROUND))
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for each in waits:
            each.cancel()


async def _until(woken: asyncio.Event) -> object:
    return await woken.wait()


async def _pause(calls: BlockingCalls, seconds: float) -> object:
    await calls.pause(seconds)
    return None
