"""Long loops in slices."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from typing import TypeVar

T = TypeVar("T")

SLICE_S = 0.002


async def paced(items: Iterable[T], now: Callable[[], float]) -> AsyncIterator[T]:
    """The items, one by one; after each two milliseconds everybody else has their turn."""
    began = now()
    for item in items:
        if now() - began > SLICE_S:
            await asyncio.sleep(0)
            began = now()
        yield item
