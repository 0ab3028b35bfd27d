"""Settling a life that is over: its series is sealed and read, and what it has not flushed is flushed in its stead.

1. Seal: from here on it acknowledges nothing, whatever it believes.
2. Read the rounds, then the manifests: what it flushed in between is only there.
3. Flush the tails of the partitions whose rows name it, in the epochs of the rows. It may still flush the same batches
   itself: who comes second sees that in the number of the version.

When that is done the rows may be given to others. Any number of lives may do it at the same time, or one after the
other: each finds what is left.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from concurrent.futures import Executor
from typing import NamedTuple

from holdfast.errors import HoldfastError
from holdfast.log.context import Environment, LogContext
from holdfast.log.journal import Journal
from holdfast.log.metadata import Identity, LogMetadata
from holdfast.log.ownership.life_seat import writer_of
from holdfast.log.partition.partition import PartitionLog
from holdfast.log.recovery.opening import Openings
from holdfast.log.recovery.replay import ReplayedTails, replay
from holdfast.log.rounds.estate import EstateLog, entries_left
from holdfast.log.rounds.format import Round
from holdfast.log.rounds.series import Series
from holdfast.log.rounds.takeover import read_series
from holdfast.log.settings import LogSettings, PartitionSettings
from holdfast.types import PartitionId

log = logging.getLogger(__name__)

_AT_A_TIME = 64


class Settled(NamedTuple):
    """What became of the partitions of a life."""

    done: list[PartitionId]  # Nothing of these is only in the series: they may be given away.
    failed: dict[PartitionId, HoldfastError]
    records: int  # That were flushed for it.


async def settle(
    series: Series,
    homes: Mapping[PartitionId, int],
    environment: Environment,
    settings: LogSettings,
    cluster: str,
    settler: int,
) -> Settled:
    """Settle these partitions of the life whose series it is, each given with the epoch of its row."""
    calls = environment.calls
    why = {"by": f"life {settler}, which settles it"}
    if not homes:
        await calls.run(series.seal, why)
        return Settled([], {}, 0)
    rounds = await calls.run(_end_and_read, series, why, calls.executor)
    writer = f"{writer_of(series.id.life)}-by-{settler}"
    kept = LogMetadata(Identity(cluster, writer, 0))
    left = await calls.local(lambda: EstateLog(series.id.prefix, kept.encode(), entries_left(rounds, homes)))
    now = environment.clock.monotonic()
    replayed = await calls.local(replay, left, settings.tail_size_max // 2, now)
    nonce = f"{environment.chance.bits(128):032x}"
    journal = Journal(left, kept.identity, f"{writer}-{nonce}", [writer_of(series.id.life)])
    work = _Settling(journal, environment, settings, replayed)
    return await work.run(homes)


def _end_and_read(series: Series, why: Mapping[str, str], executor: Executor | None) -> list[Round]:
    series.seal(why)
    return read_series(series, executor)


class _Settling:
    """The tails of one life, on their way into the store."""

    def __init__(
        self, journal: Journal, environment: Environment, settings: LogSettings, replayed: ReplayedTails
    ) -> None:
        ground = LogContext.of(journal, environment, settings, _nothing, _nothing, _no_wait)
        self._openings = Openings(ground, replayed, None, _nothing, _no_wait, _nothing)
        self._turns = asyncio.Semaphore(_AT_A_TIME)
        self._records = 0

    async def run(self, homes: Mapping[PartitionId, int]) -> Settled:
        left = set(self._openings.homes)
        failed: dict[PartitionId, HoldfastError] = {}
        found = await asyncio.gather(*(self._settle(home, homes[home], failed) for home in sorted(left)))
        done = [home for home in homes if home not in left]
        return Settled(done + [home for home in found if home is not None], failed, self._records)

    async def _settle(
        self, home: PartitionId, epoch: int, failed: dict[PartitionId, HoldfastError]
    ) -> PartitionId | None:
        async with self._turns:
            try:
                partition = await self._openings.open(home, PartitionSettings(), epoch)
                await self._flush(partition)
            except HoldfastError as failure:  # One that cannot be settled keeps nobody else waiting.
                log.error("%s cannot be settled: %s", home.path, failure)
                failed[home] = failure
                return None
            return home

    async def _flush(self, partition: PartitionLog) -> None:
        before = partition.marks.flushed
        while await partition.flush():
            pass
        self._records += partition.marks.flushed - before


def _nothing(*_: object) -> None:
    pass


async def _no_wait() -> None:
    pass
