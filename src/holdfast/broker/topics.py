"""Which topics there are, and their open partitions: the cluster's metadata and the logs, kept in step.

A topic is made when its metadata is committed, and deleted when its tombstone is durable in the write-ahead log: from
there on it is struck off the list in the background (`_strike`), now or after a start.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from uuid import UUID

from holdfast.broker.configs.dynamic import Configs, DynamicConfigs, topic_defaults
from holdfast.broker.configs.topic import check_topic_configs, partition_settings
from holdfast.broker.fetch.ends import TopicEnds
from holdfast.broker.topic_limits import (
    ALL_PARTITIONS_MAX,
    METADATA_SIZE_MAX,
    PARTITIONS_MAX,
    PartitionCountInvalid,
    TopicLimits,
    TopicNameCollides,
    check_name,
    plain_name,
    size_of,
)
from holdfast.cluster.errors import TopicExists, TopicUnknown
from holdfast.cluster.metadata import (
    Metadata,
    Step,
    Topic,
    create_topic,
    delete_topic,
    set_broker_configs,
    set_configs,
    set_partitions,
)
from holdfast.cluster.metadata_log import MetadataLog
from holdfast.errors import Corrupt, Rejected
from holdfast.io.calls import BlockingCalls
from holdfast.io.chance import Chance
from holdfast.log.errors import NotOpen, Quarantined
from holdfast.log.logs import Logs
from holdfast.log.partition.partition import PartitionLog
from holdfast.log.settings import PartitionSettings
from holdfast.types import PartitionId
from holdfast.units import counted

log = logging.getLogger(__name__)

OFFSETS_TOPIC = "__consumer_offsets"
TRANSACTIONS_TOPIC = "__transaction_state"
SHARE_STATE_TOPIC = "__share_group_state"
INTERNAL = frozenset({OFFSETS_TOPIC, TRANSACTIONS_TOPIC, SHARE_STATE_TOPIC})
OPENS_AT_A_TIME = 64
_STRIKE_S = 10.0  # So long a deletion waits for the list to be changed: readers of the store see it there.


@dataclass(frozen=True, slots=True)
class OpenTopic:
    """A topic with its partitions' logs. One that could not be opened is there as the reason why."""

    topic: Topic
    logs: tuple[PartitionLog | NotOpen, ...]
    kept: dict[tuple[int, int, int], bytes] = field(
        default_factory=dict, compare=False
    )  # Its part of Metadata's answers.
    ends: TopicEnds = field(default_factory=TopicEnds, compare=False)  # What readers of many partitions are told.

    def partition(self, number: int) -> PartitionLog:
        if not 0 <= number < len(self.logs):
            raise TopicUnknown(f"{self.topic.name}-{number}")
        found = self.logs[number]
        if not isinstance(found, PartitionLog):
            raise found.with_traceback(None)
        return found


class Topics:
    """All topics. Reads are look-ups in dicts; changes go one by one."""

    is_shared = False  # Whether other brokers lead some of their partitions.

    def __init__(
        self,
        metadata: MetadataLog,
        logs: Logs,
        calls: BlockingCalls,
        chance: Chance,
        defaults: Mapping[str, str],
        size_max: int = METADATA_SIZE_MAX,
        partitions_max: int = ALL_PARTITIONS_MAX,
        node_id: int = 0,
    ) -> None:
        self._metadata = metadata
        self._logs = logs
        self._calls = calls
        self._chance = chance
        self._limits = TopicLimits(size_max, partitions_max)
        self._node_id = node_id
        self.static_defaults = defaults  # As the broker was started with them.
        self.dynamic = DynamicConfigs(metadata.metadata.broker_configs)
        self.on_dynamic: Callable[[], None] = lambda: None  # Who else has to know that they have changed.
        self._defaults = topic_defaults(defaults, self.dynamic.of_broker(node_id))
        self._changing = asyncio.Lock()
        self._striking = asyncio.Lock()
        self._opening = asyncio.Semaphore(OPENS_AT_A_TIME)
        self._by_name: dict[str, OpenTopic] = {}
        self._by_plain_name: dict[str, set[str]] = {}  # Those that differ in dots and underscores only.
        self._by_id: dict[UUID, OpenTopic] = {}
        self._by_raw_id: dict[bytes, OpenTopic] = {}
        self.on_change: list[Callable[[], None]] = []

    async def open(self) -> None:
        """Open all partitions, and go on with what a crash has left half done."""
        known = list(self._metadata.metadata.topics.values())
        missing = self._logs.unopened - {each.topic_id for each in known}
        for topic_id in sorted(missing.intersection(self._metadata.metadata.deleted)):
            log.warning(
                "topic %s was deleted by another broker: what the write-ahead log has of it is dropped", topic_id
            )
            await self._logs.delete_topic(topic_id)
            missing.discard(topic_id)
        if missing:
            raise Corrupt(
                f"the write-ahead log has records of topics that the store {self._metadata.url} knows nothing of "
                f"({', '.join(sorted(map(str, missing)))}): it is older than the log; start with the store that "
                "belongs to it, or let `holdfast repair` accept the loss"
            )
        opening = [topic for topic in known if topic.topic_id not in self._logs.deleted]
        for opened in await asyncio.gather(*map(self._open_topic, opening)):
            self._add(opened)
        self._logs.begin_deleting(self._strike)

    async def _open_topic(self, topic: Topic, known: tuple[PartitionLog | NotOpen, ...] = ()) -> OpenTopic:
        settings = partition_settings(topic.configs, self._defaults)
        new = range(len(known), topic.partitions)
        opened = await asyncio.gather(*(self._open_partition(topic, number, settings) for number in new))
        return OpenTopic(topic, (*known, *opened))

    async def _open_partition(self, topic: Topic, number: int, settings: PartitionSettings) -> PartitionLog | NotOpen:
        async with self._opening:  # A few at a time: a store answers slowly, but many at once.
            try:
                return await self._logs.partition(PartitionId(topic.topic_id, number), settings)
            except Corrupt as failure:  # One corrupt partition does not stop the others.
                is_quarantined = isinstance(failure, Quarantined)  # If not, it is tried again.
                event = "partition_quarantined" if is_quarantined else "partition_failed"
                facts = {"event": event, "topic": topic.name, "partition": number}
                what = "is in quarantine" if is_quarantined else "cannot be opened"
                log.error("%s-%d %s: %s", topic.name, number, what, failure, extra={"facts": facts})
                return failure

    async def reopen(self, topic: Topic, number: int) -> bool:
        """Try again to open a partition that could not be; False if nobody asks for it any more. Raises why not.

        No change of topics waits for it: what has changed meanwhile is looked up again behind it.
        """
        settings = partition_settings(topic.configs, self._defaults)
        try:
            found: PartitionLog | NotOpen = await self._logs.partition(PartitionId(topic.topic_id, number), settings)
        except Quarantined as failure:  # From here on it needs a repair.
            found = failure
        current = self._by_id.get(topic.topic_id)
        if current is None:
            return False
        logs = (*current.logs[:number], found, *current.logs[number + 1 :])
        self._follow(current.topic, logs[number : number + 1])
        self._add(OpenTopic(current.topic, logs))
        if isinstance(found, Corrupt):
            raise found
        return True

    def _add(self, opened: OpenTopic) -> None:
        before = self._by_name.get(opened.topic.name)
        self._limits.count(opened.topic, 1)
        if before is not None:
            self._limits.count(before.topic, -1)
        self._by_name[opened.topic.name] = opened
        self._by_plain_name.setdefault(plain_name(opened.topic.name), set()).add(opened.topic.name)
        self._by_id[opened.topic.topic_id] = opened
        self._by_raw_id[opened.topic.topic_id.bytes] = opened
        for tell in self.on_change:
            tell()

    def _remove(self, opened: OpenTopic) -> None:
        self._limits.count(opened.topic, -1)
        del self._by_name[opened.topic.name]
        same = self._by_plain_name[plain_name(opened.topic.name)]
        same.discard(opened.topic.name)
        if not same:
            del self._by_plain_name[plain_name(opened.topic.name)]
        del self._by_id[opened.topic.topic_id]
        del self._by_raw_id[opened.topic.topic_id.bytes]
        for tell in self.on_change:
            tell()

    # Looking

    def find(self, name: str) -> OpenTopic | None:
        return self._by_name.get(name)

    def find_id(self, topic_id: UUID) -> OpenTopic | None:
        return self._by_id.get(topic_id)

    def find_raw_id(self, topic_id: bytes) -> OpenTopic | None:
        return self._by_raw_id.get(topic_id)

    def all(self) -> list[OpenTopic]:
        return list(self._by_name.values())

    def get(self, name: str) -> OpenTopic:
        found = self._by_name.get(name)
        if found is None:
            raise TopicUnknown(name)
        return found

    async def led(self, name: str, number: int) -> PartitionLog:
        """A partition. One of several brokers waits a little for what it is just about to lead."""
        return self.get(name).partition(number)

    async def look_for(self, is_there: Callable[[], Awaitable[bool]]) -> None:
        """Other brokers may have made what is not there yet: where there are any, it is looked for."""

    # Changing

    def check_new(self, name: str, partitions: int, configs: Mapping[str, str]) -> None:
        """Whether such a topic could be made."""
        check_name(name)
        if name in self._by_name:
            raise TopicExists(name)
        for other in self._by_plain_name.get(plain_name(name), ()):
            raise TopicNameCollides(name, other)
        if not 1 <= partitions <= PARTITIONS_MAX:
            raise PartitionCountInvalid(partitions, f"1 to {PARTITIONS_MAX} are allowed")
        self._check_room(partitions)
        check_topic_configs(configs)
        self.check_size(size_of(name, configs))
        if name in INTERNAL and configs.get("holdfast.durability") == "memory":
            raise Rejected(f"{name} is internal: it is never kept in memory only")

    def check_size(self, more: int) -> None:
        """Whether the metadata may grow so much: it is written and read as a whole."""
        self._limits.check_size(more, self.metadata.quotas, self.dynamic.size)

    def _check_room(self, more: int) -> None:
        """Whether there may be so many partitions more."""
        self._limits.check_partitions(more)
        self._logs.check_partitions(more)

    async def ensure(self, name: str, partitions: int, configs: Mapping[str, str]) -> OpenTopic:
        """A topic; made if it is not there."""
        return self.find(name) or await self.create(name, partitions, configs)

    async def create(self, name: str, partitions: int, configs: Mapping[str, str]) -> OpenTopic:
        """Make a topic; it can be used on return."""
        async with self._changing:
            self.check_new(name, partitions, configs)
            await self._strike_deleted()
            topic = Topic(name, UUID(int=self._chance.bits(128), version=4), partitions, dict(configs))
            try:
                await self._commit_new(topic.topic_id, range(partitions), create_topic(topic))
            except TopicExists:  # Made by a call that failed behind its commit, or never had an answer to it.
                self._add(await self._open_topic(self._metadata.metadata.topic(name)))
                raise
            opened = await self._open_topic(topic)
            self._add(opened)
            facts = {"event": "topic_created", "topic": name, "partitions": partitions, "topic_id": str(topic.topic_id)}
            count = counted(partitions, "partition")
            log.info("topic %s made: %s, id %s", name, count, topic.topic_id, extra={"facts": facts})
            return opened

    async def delete(self, opened: OpenTopic) -> None:
        """Delete a topic and its data; nothing of it is visible on return.

        It is deleted as soon as that is durable in the write-ahead log. What the store says to it changes nothing more:
        it is struck off the list, and its objects go, in the background.
        """
        async with self._changing:
            if self._by_id.get(opened.topic.topic_id) is None:
                raise TopicUnknown(opened.topic.name)
            try:
                await self._logs.delete_topic(opened.topic.topic_id)
            finally:  # Also for who does not wait for it: from its first step on nothing of the topic can be used.
                if opened.topic.topic_id in self._logs.deleted:
                    self._remove(self._by_id[opened.topic.topic_id])
        facts = {"event": "topic_deleted", "topic": opened.topic.name, "topic_id": str(opened.topic.topic_id)}
        log.info("topic %s deleted, id %s", opened.topic.name, opened.topic.topic_id, extra={"facts": facts})
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._logs.struck(opened.topic.topic_id), _STRIKE_S)

    async def _strike(self, topic_id: UUID) -> None:
        """Strike a topic that is deleted off the list."""
        async with self._striking:  # One at a time: while the store is away, only one thread waits for it.
            if any(each.topic_id == topic_id for each in self._metadata.metadata.topics.values()):
                with contextlib.suppress(TopicUnknown):  # Struck by an attempt that had no answer.
                    await self._calls.run(self._metadata.commit, delete_topic(topic_id))

    async def _strike_deleted(self) -> None:
        """Topics that are deleted, but still listed because the store failed then, are struck off the list."""
        deleted = self._logs.deleted
        for topic in list(self._metadata.metadata.topics.values()):
            if topic.topic_id in deleted:
                await self._strike(topic.topic_id)

    async def add_partitions(self, name: str, count: int) -> None:
        """Let a topic have `count` partitions, more than it has now."""
        async with self._changing:
            opened = self.get(name)
            self.check_more_partitions(opened, count)
            topic = opened.topic
            new = range(topic.partitions, count)
            metadata = await self._commit_new(topic.topic_id, new, set_partitions(topic.topic_id, count))
            self._add(await self._open_topic(metadata.topic(name), opened.logs))

    def check_more_partitions(self, opened: OpenTopic, count: int) -> None:
        if count <= opened.topic.partitions:
            raise PartitionCountInvalid(count, f"{opened.topic.name} has {opened.topic.partitions} already")
        if count > PARTITIONS_MAX:
            raise PartitionCountInvalid(count, f"{PARTITIONS_MAX} are allowed")
        self._check_room(count - opened.topic.partitions)

    async def change_configs(self, name: str, change: Callable[[Mapping[str, str]], Mapping[str, str]]) -> None:
        """Give a topic other configs: what `change` makes of those it has. Nobody else changes them meanwhile."""
        async with self._changing:
            opened = self.get(name)
            configs = change(opened.topic.configs)
            check_topic_configs(configs, opened.topic.configs)
            self.check_size(size_of(name, configs) - size_of(name, opened.topic.configs))
            if name in INTERNAL and configs.get("holdfast.durability") == "memory":
                raise Rejected(f"{name} is internal: it is never kept in memory only")
            metadata = await self._commit(set_configs(opened.topic.topic_id, configs))
            topic = metadata.topic(name)
            self._follow(topic, opened.logs)
            self._add(OpenTopic(topic, opened.logs))

    async def change_dynamic(self, kind: str, resource: str, change: Callable[[Configs], Configs]) -> None:
        """Give a broker, all brokers or a group other configs. Topics follow their new defaults at once."""
        async with self._changing:
            configs = self.dynamic.changed(kind, resource, change(self.dynamic.of(kind, resource)))
            self.check_size(DynamicConfigs(configs).size - self.dynamic.size)
            await self._adopt_dynamic(await self._commit(set_broker_configs(configs)))

    async def _adopt_dynamic(self, metadata: Metadata) -> None:
        self.dynamic = DynamicConfigs(metadata.broker_configs)
        self.on_dynamic()
        defaults = topic_defaults(self.static_defaults, self.dynamic.of_broker(self._node_id))
        if defaults != self._defaults:
            self._defaults = defaults
            for opened in self.all():
                self._follow(opened.topic, opened.logs)
                await asyncio.sleep(0)  # There may be thousands.

    def _follow(self, topic: Topic, logs: tuple[PartitionLog | NotOpen, ...]) -> None:
        """The partitions of a topic behave as its configs say from now on."""
        settings = partition_settings(topic.configs, self._defaults)
        for each in logs:
            if isinstance(each, PartitionLog):
                each.change_settings(settings)

    async def commit(self, make_step: Callable[[Metadata], Step]) -> None:
        """Change the cluster's metadata where topics are not concerned. Nobody else changes it meanwhile."""
        async with self._changing:
            await self._commit(make_step(self._metadata.metadata))

    async def _commit(self, *steps: Step) -> Metadata:
        return await self._calls.run(self._metadata.commit, *steps)

    async def _commit_new(self, topic_id: UUID, numbers: range, *steps: Step) -> Metadata:  # noqa: ARG002
        """The same where partitions are new."""
        return await self._commit(*steps)

    @property
    def metadata(self) -> Metadata:
        return self._metadata.metadata

    @property
    def defaults(self) -> Mapping[str, str]:
        return self._defaults
