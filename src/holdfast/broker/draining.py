"""What a broker that stops gives to others: within its time, and only while the store answers.

Without the store nothing can be handed over, and nothing flushed. What was acknowledged is in rounds there: others
settle it when they hear nothing of us any more.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable
from typing import Any

from holdfast.errors import HoldfastError, Unavailable
from holdfast.io.clock import Clock
from holdfast.log.partition.partition import PartitionLog

log = logging.getLogger(__name__)

_LOOK_S = 0.05

SILENT = "the store does not answer"


async def within(
    work: Coroutine[Any, Any, None], seconds: float, is_heard: Callable[[], bool], clock: Clock
) -> HoldfastError | None:
    """Do it, or give it up: when its time is over, and when the store does not answer. Why it was not done."""
    doing, end = asyncio.ensure_future(work), clock.monotonic() + seconds
    while not doing.done() and is_heard() and clock.monotonic() < end:
        await asyncio.wait([doing], timeout=_LOOK_S)
    is_done = doing.done()
    doing.cancel()
    [failure] = await asyncio.gather(doing, return_exceptions=True)
    if not is_done:
        return HoldfastError(f"it took longer than {seconds:.1f} s") if is_heard() else Unavailable(SILENT)
    if isinstance(failure, BaseException) and not isinstance(failure, HoldfastError):
        raise failure
    return failure


def tell_left(why: HoldfastError, partitions: Iterable[PartitionLog]) -> None:
    """What is left behind, and where it is."""
    left = list(partitions)
    records = sum(each.marks.durable - each.marks.flushed for each in left)
    facts = {"event": "left_behind", "partitions": len(left), "only_in_rounds_records": records}
    said = (
        "%d partitions are not handed over: %s. What they have acknowledged is in the store, "
        "%d records of it in rounds only; other brokers serve it when they have heard nothing of this one for a while"
    )
    log.warning(said, len(left), why, records, extra={"facts": facts})
