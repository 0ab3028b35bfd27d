"""A partition on the disk that is measured: its write-ahead log and its store in one directory."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, NamedTuple
from uuid import UUID

from benchmarks.log.batches import batch_of

from holdfast.io.disk import RealDirectory
from holdfast.io.objects import Objects
from holdfast.io.objects.local.objects import LocalObjects
from holdfast.log.logs import Logs
from holdfast.log.partition.partition import PartitionLog
from holdfast.log.settings import LogSettings
from holdfast.types import PartitionId

HOME = PartitionId(UUID(int=1), 0)
MIB = 1 << 20
_WARM_UP_SIZE = 160 * MIB  # More than two chunks, so that chunk files come back from the purge.


class Opened(NamedTuple):
    """Open logs, and one partition of them."""

    logs: Logs
    partition: PartitionLog


@asynccontextmanager
async def opened(
    directory: str, objects: Objects | None = None, *, background: bool = True, **settings: Any
) -> AsyncIterator[Opened]:
    """Logs with default settings, unless given others."""
    store = objects or LocalObjects(f"{directory}/objects")
    logs = await Logs.open(RealDirectory(f"{directory}/wal"), store, LogSettings(**settings), background=background)
    try:
        yield Opened(logs, await logs.partition(HOME))
    finally:
        await logs.close()


async def warm_up(logs: Logs, partition: PartitionLog, size: int = _WARM_UP_SIZE) -> None:
    """Append, flush and purge until chunk files are used again: the state of a log that has run for a while."""
    template = batch_of(MIB)
    for _ in range(size // MIB):
        await partition.append(bytearray(template))
    await drain(logs, partition)


async def drain(logs: Logs, partition: PartitionLog) -> None:
    """Flush everything, and let the write-ahead log recycle what nothing needs any more."""
    await logs.flush_all()
    logs.purge()
    await partition.append(bytearray(batch_of(1024)))  # Its round comes behind that of the purge.
