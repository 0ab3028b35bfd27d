"""Waiting for several partitions together."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from holdfast.log.partition.partition import PartitionLog


async def wait_any(waits: Sequence[tuple[PartitionLog, int]], timeout: float | None = None) -> list[int]:
    """Wait until one of the offsets is readable; the numbers of all that are, none on timeout."""
    if not waits:
        return []
    reached = [partition.high_watermark.reached(offset + 1) for partition, offset in waits]
    try:
        await asyncio.wait(reached, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        return [number for number, each in enumerate(reached) if each.done()]
    finally:
        for each in reached:
            each.cancel()
