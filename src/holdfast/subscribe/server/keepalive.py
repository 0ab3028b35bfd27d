"""Work that may take long, with a sign of life now and then for whoever waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")


async def with_signs(work: Coroutine[Any, Any, Result], sign: Callable[[], Awaitable[Any]], every_ms: int) -> Result:
    """What the work gives. It ends with whoever waits, and with a sign that cannot be given."""
    task = asyncio.get_running_loop().create_task(work)
    try:
        while not (await asyncio.wait([task], timeout=every_ms / 1000))[0]:
            await sign()
        return task.result()
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
