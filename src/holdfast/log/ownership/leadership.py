"""How partitions change hands: a leader gives one away, or a life settles what another has left, and gives that away.

In both cases the tail is empty before the row changes (`cluster.leads`). Every version says which life writes it, so
one that is over changes nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from holdfast.cluster.errors import LeaderOther, LifeOver, TopicUnknown
from holdfast.cluster.leads import Give, Lead, acting_as, assign, forget, give
from holdfast.cluster.lives import NOBODY
from holdfast.cluster.metadata import Metadata, Step
from holdfast.cluster.metadata_log import MetadataLog
from holdfast.errors import HoldfastError, Unavailable
from holdfast.io.objects import Objects
from holdfast.io.versions import VersionRetries
from holdfast.log.context import Environment
from holdfast.log.logs import Logs
from holdfast.log.ownership.life_seat import LifeSeat
from holdfast.log.partition.partition import PartitionLog
from holdfast.log.recovery.settle import settle
from holdfast.log.rounds.forgetting import Forgetting
from holdfast.log.rounds.series import Series, SeriesId
from holdfast.log.settings import LogSettings
from holdfast.types import PartitionId

log = logging.getLogger(__name__)

_PAUSE_S = 0.2
_TOGETHER_S = 0.02
_AGAIN_S, _AGAIN_S_MAX = 1.0, 60.0


class LedStore(NamedTuple):
    """What a life needs of the store beside its logs."""

    environment: Environment
    rounds: Objects
    settings: LogSettings


class _Later(NamedTuple):
    """When a life is settled again."""

    at: float
    pause_s: float


_NOW = _Later(float("-inf"), _AGAIN_S)


class Leadership:
    """Of one life. Belongs to one event loop."""

    def __init__(self, metadata: MetadataLog, seat: LifeSeat, store: LedStore) -> None:
        self._metadata = metadata
        self._seat = seat
        self._store = store
        self._calls = store.environment.calls
        self._forgetting = Forgetting()
        self._later: dict[int, _Later] = {}  # Lives that could not be settled whole.
        self._gives: list[tuple[Give, asyncio.Future[None]]] = []  # Ours that are closed, and on their way to others.
        self._giving: asyncio.Future[None] | None = None
        self.settled_records = 0
        self.on_commit: Callable[[], None] = lambda: None

    async def commit(self, *steps: Step) -> Metadata:
        """Change the metadata as this life. Raises LifeOver when it is over."""
        me = acting_as(self._seat.broker, self._seat.life)
        made = await self._calls.run(self._metadata.commit, me, *steps)
        self.on_commit()
        return made

    # What we lead

    def epochs(self) -> dict[PartitionId, int]:
        """The partitions whose rows name us, as far as we know, and in which epochs we lead them."""
        leads, mine = self._metadata.metadata.leads, self._seat.life
        return {home: lead.epoch for home, lead in leads.rows() if lead.life == mine}

    def assigned(self, homes: Iterable[PartitionId]) -> Step:
        """The step that gives partitions which nobody leads to somebody."""
        return self._given(list(homes), self._metadata.metadata)

    def _given(self, homes: Collection[PartitionId], metadata: Metadata) -> Step:
        return give(self._seat.life, assign(list(homes), metadata.leads, metadata.lives))

    # To give away

    async def hand_over(self, logs: Logs, partition: PartitionLog, to: int) -> None:
        """Give one of ours to another life. Nobody may find it any more; on return the metadata says whose it is.

        Without a clear answer it is tried again: until it is known, nobody serves the partition.
        """
        home = partition.home
        before = Lead(self._seat.life, partition.epochs.current)
        await logs.give_up(partition)
        while True:
            try:
                await self._give_away(Give(home, before, to))
            except (LeaderOther, LifeOver, TopicUnknown):  # Decided, by an attempt before or by others: the row tells.
                return
            except Unavailable as failure:
                log.debug("whether %s is given away is not known: %s", home.path, failure)
                await self._calls.pause(_PAUSE_S)
            else:
                return

    async def _give_away(self, row: Give) -> None:
        """What is given away at the same time goes into one version: each takes the store some requests."""
        given: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._gives.append((row, given))
        if self._giving is None or self._giving.done():
            self._giving = asyncio.ensure_future(self._give_on())
        await given

    async def _give_on(self) -> None:
        while self._gives:
            await self._calls.pause(_TOGETHER_S)  # Those of a broker that is drained are flushed at the same time.
            some, self._gives = self._gives, []
            try:
                await self._give_some(some)
            finally:
                for _, given in some:
                    given.cancel()  # Nothing, for those that were told.

    async def _give_some(self, some: Sequence[tuple[Give, asyncio.Future[None]]]) -> None:
        failure: HoldfastError | None = None
        try:
            await self.commit(give(self._seat.life, [row for row, _ in some]))
        except (LeaderOther, LifeOver, TopicUnknown) as wrong:
            if len(some) > 1:  # One that does not fit keeps no other from being given.
                for each in some:
                    await self._give_some([each])
                return
            failure = wrong
        except HoldfastError as unclear:
            failure = unclear
        for given in [each for _, each in some if not each.done()]:
            if failure is None:
                given.set_result(None)
            else:
                given.set_exception(failure)

    # What others have left

    def unled(self, metadata: Metadata) -> list[PartitionId]:
        """Partitions that nobody has led since leadership is by partition."""
        found = []
        for topic in metadata.topics.values():
            rows = metadata.leads.by_topic.get(topic.topic_id, ())
            if len(rows) < topic.partitions or any(lead.life == NOBODY for lead in rows):
                homes = (PartitionId(topic.topic_id, number) for number in range(topic.partitions))
                found += [home for home in homes if metadata.leads.of(home).life == NOBODY]
        return found

    async def care(self) -> int:
        """Settle lives that are over, and give what they led, and what nobody has led yet, to those who live.

        How many partitions were given.
        """
        metadata = await self._calls.run(self._metadata.refresh)
        unled = self.unled(metadata)
        count = len(unled)
        if unled:
            metadata = await self._give(unled)
        for life, broker in list(metadata.lives.over.items()):
            if self._is_due(life):
                count += await self._settle(life, broker)
        await self._calls.run(self._forgetting.go_on, self._store.environment.clock.boottime())
        return count

    def _is_due(self, life: int) -> bool:
        return self._store.environment.clock.monotonic() >= self._later.get(life, _NOW).at

    def _put_off(self, life: int) -> None:
        """What cannot be settled is tried again, at a pace that stays bounded: all of its series is read each time."""
        pause_s = self._later.get(life, _NOW).pause_s
        now = self._store.environment.clock.monotonic()
        self._later[life] = _Later(now + pause_s, min(2 * pause_s, _AGAIN_S_MAX))

    async def _settle(self, life: int, broker: int) -> int:
        environment, rounds, settings = self._store
        metadata = self._metadata.metadata
        homes = {home: metadata.leads.of(home).epoch for home in metadata.leads.led_by(life)}
        series = Series(
            rounds,
            SeriesId(life, broker),
            VersionRetries(environment.clock, environment.chance, self._calls.block),
        )
        self._put_off(life)  # Until all of it is done.
        settled = await settle(series, homes, environment, settings, metadata.cluster_id, self._seat.life)
        if settled.done:
            metadata = await self._give(settled.done, homes, life)
        self.settled_records += settled.records
        facts = {"event": "settled", "life": life, "partitions": len(settled.done), "records": settled.records}
        log.warning(
            "life %d of broker %d is settled: %d partitions have new leaders, %d records were flushed for it",
            life,
            broker,
            len(settled.done),
            settled.records,
            extra={"facts": facts},
        )
        if not metadata.leads.led_by(life):
            await self._calls.run(series.forget)
            await self.commit(forget(life))
            self._later.pop(life, None)
            self._forgetting.add_forgotten(environment.clock.boottime(), series)
        return len(settled.done)

    async def _give(
        self, homes: Collection[PartitionId], epochs: Mapping[PartitionId, int] | None = None, life: int = NOBODY
    ) -> Metadata:
        """Give partitions whose rows are still as they were when they were settled."""
        while True:
            metadata = self._metadata.metadata
            floor = metadata.leads.floor
            left = [
                home
                for home in homes
                if metadata.leads.of(home) == Lead(life, floor if epochs is None else epochs[home])
                and _is_there(metadata, home)
            ]
            if not left:
                return metadata
            with contextlib.suppress(LeaderOther, TopicUnknown):
                return await self.commit(self._given(left, metadata))
            known = self._metadata.metadata.version
            await self._calls.run(self._metadata.refresh)
            if self._metadata.metadata.version == known == metadata.version:
                raise Unavailable("partitions cannot be given as they are")


def _is_there(metadata: Metadata, home: PartitionId) -> bool:
    return any(each.topic_id == home.topic_id and home.partition < each.partitions for each in metadata.topics.values())
