"""Topics of a broker that leads some of their partitions: rows of the metadata say which, and others change them, too.

Whatever is changed here is committed first and then followed, as what others have committed is (`follow`). A partition
that is led elsewhere is there as who leads it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from typing import Any, TypeVar
from uuid import UUID

from holdfast.broker.configs.topic import partition_settings
from holdfast.broker.topics import OpenTopic, Topics
from holdfast.cluster.errors import LeaderOther, LifeOver, TopicExists, TopicUnknown
from holdfast.cluster.lives import BrokerLife
from holdfast.cluster.metadata import Metadata, Step, Topic, delete_topic
from holdfast.errors import Corrupt, Fenced, HoldfastError, Unavailable
from holdfast.log.errors import LedElsewhere, NotOpen
from holdfast.log.ownership.leadership import Leadership
from holdfast.log.partition.partition import PartitionLog
from holdfast.log.settings import PartitionSettings
from holdfast.types import PartitionId

log = logging.getLogger(__name__)

T = TypeVar("T")

_TRIES = 5
_LOOKS, _LOOK_S = 40, 0.05  # So often it is looked whether a partition has come, and so long between.
_LOOKS_APART_S = 0.3


class SharedTopics(Topics):
    """All topics, and the partitions of them that this life leads."""

    is_shared = True

    def __init__(self, *args: Any, leadership: Leadership, life: int, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._leadership = leadership
        self.life = life
        self._looking = asyncio.Lock()
        self._looked_at = 0.0
        self._configs_seen = self.metadata.broker_configs
        self._moving: set[PartitionId] = set()  # On their way to others: nobody finds them.
        self._to_delete: set[UUID] = set()  # Topics of which we may have put objects: these go with the topic.
        self.on_moved: Callable[[], None] = lambda: None  # Who else has to know that partitions have come or gone,
        self.on_dropped: Callable[[], None] = lambda: None  # and that a topic is deleted.
        self.is_late = False  # Something of ours could not be opened, and is to be tried again.

    # Who leads

    def _led_by(self, home: PartitionId) -> LedElsewhere:
        metadata = self.metadata
        lead = metadata.leads.of(home)
        at = next((each.broker for each in metadata.lives.by_broker.values() if each.life == lead.life), -1)
        if lead.life == self.life:  # It is ours, and not open: until it is, nobody leads it.
            at = -1
        return LedElsewhere(home.path, at, lead.epoch)

    async def led(self, name: str, number: int) -> PartitionLog:
        """A partition; waited for, if it is ours and not open yet. Others may have given it to us just now."""
        for look in range(_LOOKS):
            try:
                return self.get(name).partition(number)
            except (LedElsewhere, TopicUnknown):
                if look == 0:
                    await self.look_again()
                elif look + 1 == _LOOKS or not self._is_coming(name, number):
                    raise
                else:
                    await self._calls.pause(_LOOK_S)
        raise AssertionError("unreachable")

    def leader_of(self, name: str, number: int) -> BrokerLife | None:
        """The life that leads a partition, if one does."""
        topic = self.metadata.topics.get(name)
        lead = None if topic is None else self.metadata.leads.of(PartitionId(topic.topic_id, number))
        lives = self.metadata.lives.by_broker.values()
        return next((each for each in lives if lead is not None and each.life == lead.life), None)

    async def look_again(self) -> None:
        """Look at the metadata, unless somebody has just done so: clients who ask for what is not there are many."""
        async with self._looking:
            now = asyncio.get_running_loop().time()
            if now - self._looked_at > _LOOKS_APART_S:
                self._looked_at = now
                with contextlib.suppress(Unavailable):
                    await self.refresh()

    async def look_for(self, is_there: Callable[[], Awaitable[bool]]) -> None:
        await self.look_again()
        if not await is_there():  # The last look may have been just before it was made.
            await self._calls.pause(_LOOKS_APART_S)
            await self.look_again()

    def _is_coming(self, name: str, number: int) -> bool:
        topic = self.metadata.topics.get(name)
        if topic is None or not 0 <= number < topic.partitions:
            return False
        return self.metadata.leads.of(PartitionId(topic.topic_id, number)).life == self.life

    async def _open_partition(self, topic: Topic, number: int, settings: PartitionSettings) -> PartitionLog | NotOpen:
        home = PartitionId(topic.topic_id, number)
        lead = self.metadata.leads.of(home)
        if lead.life != self.life or home in self._moving:
            return self._led_by(home)
        self._to_delete.add(topic.topic_id)
        async with self._opening:
            try:
                return await self._logs.partition(home, settings, lead.epoch)
            except Corrupt as failure:
                facts = {"event": "partition_failed", "topic": topic.name, "partition": number}
                log.error("%s-%d cannot be opened: %s", topic.name, number, failure, extra={"facts": facts})
                return failure
            except (Unavailable, Fenced) as failure:  # Tried again with the next look.
                log.warning("%s-%d is not open yet: %s", topic.name, number, failure)
                self.is_late = True
                return self._led_by(home)

    # What others have changed

    async def refresh(self) -> None:
        """Look at the metadata, and follow it."""
        await self._calls.run(self._metadata.refresh)
        await self.follow()

    async def follow(self) -> None:
        """Be as the metadata says: open what is ours, drop what is not, and know of all topics.

        What fails with one topic holds up no other, and is to be tried again. Raises why.
        """
        async with self._changing:
            try:
                await self._catch_up()
            except BaseException:
                self.is_late = True
                raise

    async def _catch_up(self) -> None:
        metadata, self.is_late = self.metadata, False
        if metadata.broker_configs != self._configs_seen:
            await self._adopt_dynamic(metadata)
            self._configs_seen = metadata.broker_configs
        known = {each.topic_id for each in metadata.topics.values()}
        for gone in [each for each in self.all() if each.topic.topic_id not in known]:
            self._drop(gone)
        for topic_id in self._to_delete - known:  # Also of those that were gone before they were whole here.
            await self._logs.delete_topic(topic_id)
            self._to_delete.discard(topic_id)
        waits = [self._follow_topic(topic) for topic in metadata.topics.values() if self._has_changed(topic)]
        if waits:
            try:
                await _all_of(waits)
            finally:
                self.on_moved()

    def _has_changed(self, topic: Topic) -> bool:
        opened = self.find_id(topic.topic_id)
        if opened is None or opened.topic != topic:
            return True
        return any(self._is_other(PartitionId(topic.topic_id, at), each) for at, each in enumerate(opened.logs))

    def _is_other(self, home: PartitionId, found: PartitionLog | NotOpen) -> bool:
        """Whether a partition is not what the metadata says."""
        lead = self.metadata.leads.of(home)
        is_ours = lead.life == self.life
        if isinstance(found, Corrupt):
            return not is_ours
        if isinstance(found, PartitionLog):  # Never dropped while it is ours: its tail is here alone.
            return not is_ours or found.epochs.current != lead.epoch
        wanted = self._led_by(home)
        is_due = is_ours and home not in self._moving
        return is_due or (found.broker, found.epoch) != (wanted.broker, wanted.epoch)

    async def _follow_topic(self, topic: Topic) -> None:
        opened = self.find_id(topic.topic_id)
        before: tuple[PartitionLog | NotOpen, ...] = () if opened is None else opened.logs
        settings = partition_settings(topic.configs, self._defaults)
        logs = list(before[: topic.partitions])
        others = [at for at, found in enumerate(logs) if self._is_other(PartitionId(topic.topic_id, at), found)]
        for number in others:
            if isinstance(found := logs[number], PartitionLog):
                self._logs.drop(found)
        # Together: whoever takes over many would wait for the store once for each.
        opening = (self._open_partition(topic, number, settings) for number in others)
        for number, found in zip(others, await _all_of(opening), strict=True):
            logs[number] = found
        made = await self._open_topic(topic, tuple(logs))
        self._follow(topic, made.logs)
        self._add(made)

    def _drop(self, opened: OpenTopic) -> None:
        """A topic is deleted."""
        topic = opened.topic
        self._remove(opened)
        self.on_moved()
        self.on_dropped()
        log.info("topic %s is deleted, id %s", topic.name, topic.topic_id)

    # What is changed here

    async def _commit(self, *steps: Step) -> Metadata:
        return await self._leadership.commit(*steps)

    async def _commit_new(self, topic_id: UUID, numbers: range, *steps: Step) -> Metadata:
        """New partitions are given to somebody in the same version."""
        homes = [PartitionId(topic_id, number) for number in numbers]
        for _ in range(_TRIES):
            await self._calls.run(self._metadata.refresh)  # Who has just joined gets a share, too.
            with contextlib.suppress(LifeOver, LeaderOther):  # Others have come or gone since we looked.
                return await self._commit(*steps, self._leadership.assigned(homes))
        raise Unavailable("brokers come and go: try again")

    async def create(self, name: str, partitions: int, configs: Mapping[str, str]) -> OpenTopic:
        """Make a topic; others open their partitions of it when they see it."""
        try:
            return await super().create(name, partitions, configs)
        finally:
            self.on_moved()

    async def delete(self, opened: OpenTopic) -> None:
        """Delete a topic: in the metadata first, where all see it."""
        async with self._changing:
            if self.find_id(opened.topic.topic_id) is None:
                raise TopicUnknown(opened.topic.name)
            self._to_delete.add(opened.topic.topic_id)  # Perhaps nobody leads any of it.
            with contextlib.suppress(TopicUnknown):
                await self._commit(delete_topic(opened.topic.topic_id))
            await self._catch_up()

    async def ensure(self, name: str, partitions: int, configs: Mapping[str, str]) -> OpenTopic:
        """A topic, which another broker may have made meanwhile."""
        with contextlib.suppress(TopicExists):
            return await super().ensure(name, partitions, configs)
        return self.get(name)

    async def reopen(self, topic: Topic, number: int) -> bool:
        """Try again to open a partition of ours that could not be."""
        async with self._changing:
            current = self.find_id(topic.topic_id)
            if current is None or not isinstance(current.logs[number], Corrupt):
                return False
            found = await self._open_partition(topic, number, partition_settings(topic.configs, self._defaults))
            self._put(current, number, found)
        if isinstance(found, Corrupt):
            raise found
        return isinstance(found, PartitionLog)

    # Hand-over

    async def hand_over(self, home: PartitionId, to: int) -> None:
        """Give one of ours to another life. What cannot be flushed stays ours. Raises why.

        Who is cancelled in the middle may not know whose it is: nobody finds it here any more, in this life.
        """
        opened = self.find_id(home.topic_id)
        found = opened.logs[home.partition] if opened is not None and home.partition < len(opened.logs) else None
        if not isinstance(found, PartitionLog) or home in self._moving:
            return
        self._moving.add(home)
        await self._show(home, self._led_by(home))
        try:
            await self._leadership.hand_over(self._logs, found, to)
        except HoldfastError as failure:
            log.warning("%s is not handed over: %s", home.path, failure)
        self._moving.discard(home)
        await self.follow()  # One that is still open is found again.

    async def _show(self, home: PartitionId, found: PartitionLog | NotOpen) -> None:
        async with self._changing:
            opened = self.find_id(home.topic_id)
            if opened is not None and home.partition < len(opened.logs):
                self._put(opened, home.partition, found)

    def _put(self, opened: OpenTopic, number: int, found: PartitionLog | NotOpen) -> None:
        self._add(OpenTopic(opened.topic, (*opened.logs[:number], found, *opened.logs[number + 1 :])))
        self.on_moved()


async def _all_of(works: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """What all of them give. One that fails holds up no other; when all have ended, why it failed is raised."""
    tasks = [asyncio.ensure_future(each) for each in works]
    await asyncio.gather(*tasks, return_exceptions=True)
    return [each.result() for each in tasks]  # Where a partition is led elsewhere that is a result, and no failure.
