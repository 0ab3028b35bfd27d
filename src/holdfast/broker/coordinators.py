"""The coordinators of a broker: opened on their internal topics, with what they see of all others."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from uuid import UUID

from holdfast.broker.configs.dynamic import GROUP
from holdfast.broker.configs.group import consumer_times, share_configs
from holdfast.broker.guard.users import Users
from holdfast.broker.markers import Markers
from holdfast.broker.settings import BrokerSettings
from holdfast.broker.topics import OFFSETS_TOPIC, SHARE_STATE_TOPIC, TRANSACTIONS_TOPIC, OpenTopic, Topics
from holdfast.cluster.errors import ProducerIdsTaken
from holdfast.cluster.metadata import take_producer_ids
from holdfast.cluster.metadata_log import MetadataLog
from holdfast.coordinator.group.coordinator import GroupCoordinator
from holdfast.coordinator.group.settings import ConsumerTimes, GroupSettings, Migration
from holdfast.coordinator.group.topic_view import KnownTopic
from holdfast.coordinator.runtime.errors import CoordinatorLoading
from holdfast.coordinator.share.coordinator import ShareCoordinator
from holdfast.coordinator.share.settings import ShareConfigs, ShareSettings
from holdfast.coordinator.transaction.coordinator import TransactionCoordinator
from holdfast.coordinator.transaction.producer_ids import ProducerIds
from holdfast.coordinator.transaction.settings import TransactionSettings
from holdfast.io.calls import BlockingCalls
from holdfast.io.chance import Chance
from holdfast.io.clock import Clock
from holdfast.log.errors import NotOpen
from holdfast.log.partition.partition import PartitionLog


async def open_groups(
    topics: Topics, view: GroupTopics, settings: BrokerSettings, clock: Clock, chance: Chance
) -> GroupCoordinator:
    """The internal topic of groups and offsets, and the coordinator that lives on it."""
    configs = {"cleanup.policy": "compact", "retention.ms": "-1"}
    offsets = await topics.ensure(OFFSETS_TOPIC, settings.offsets_topic_num_partitions, configs)
    group_settings = GroupSettings(
        session_timeout_ms_min=settings.group_min_session_timeout_ms,
        session_timeout_ms_max=settings.group_max_session_timeout_ms,
        initial_rebalance_delay_ms=settings.group_initial_rebalance_delay_ms,
        members_max=settings.group_max_size,
        consumer_session_timeout_ms=settings.group_consumer_session_timeout_ms,
        consumer_heartbeat_interval_ms=settings.group_consumer_heartbeat_interval_ms,
        consumer_members_max=settings.group_consumer_max_size,
        consumer_assignors=settings.consumer_assignors(),
        migration=Migration(settings.group_consumer_migration_policy.lower()),
        consumer_times_of=lambda group_id: _own_times(topics, settings, group_id),
        offset_metadata_size_max=settings.offset_metadata_max_bytes,
        groups_max=settings.max_groups,
        offsets_size_max=settings.max_committed_offsets_bytes,
        offsets_retention_ms=settings.offsets_retention_minutes * 60_000,
    )
    groups = GroupCoordinator(offsets.logs, group_settings, clock=clock, chance=chance, topics=view)
    await groups.load()
    if not topics.is_shared:  # Others may have made topics that we have not seen yet.
        await groups.offsets.forget_topics(lambda name: topics.find(name) is None)
    return groups


def _own_times(topics: Topics, settings: BrokerSettings, group_id: str) -> ConsumerTimes | None:
    """The times of a group that has some of its own."""
    own = topics.dynamic.of(GROUP, group_id)
    return consumer_times(own, settings) if own else None


async def open_shares(
    topics: Topics, view: GroupTopics, groups: GroupCoordinator, settings: BrokerSettings, clock: Clock
) -> ShareCoordinator:
    """The coordinator of share groups. Its internal topic is made when there is the first of them.

    Where each partition has its leader, share groups are in the internal topic of all groups: clients look for them
    there, and only there it is known which names are taken.
    """

    async def make_logs() -> Sequence[PartitionLog | NotOpen]:
        configs = {"cleanup.policy": "compact", "retention.ms": "-1"}
        count = settings.share_coordinator_state_topic_num_partitions
        return (await topics.ensure(SHARE_STATE_TOPIC, count, configs)).logs

    of_all = share_configs({}, settings)

    def configs_of(group_id: str) -> ShareConfigs:
        own = topics.dynamic.of(GROUP, group_id)
        return share_configs(own, settings) if own else of_all

    share_settings = ShareSettings(
        configs_of=configs_of,
        groups_max=settings.group_share_max_groups,
        partitions_max=settings.group_share_max_partitions,
    )
    if topics.is_shared:
        return await _open_among_groups(topics, view, groups, share_settings, clock)
    shares = ShareCoordinator(make_logs, view, share_settings, clock=clock, is_taken=groups.has)
    groups.share_names(shares.has)
    found = topics.find(SHARE_STATE_TOPIC)
    if found is not None:
        await shares.load(found.logs)
    return shares


async def _open_among_groups(
    topics: Topics, view: GroupTopics, groups: GroupCoordinator, settings: ShareSettings, clock: Clock
) -> ShareCoordinator:
    async def make_logs() -> Sequence[PartitionLog | NotOpen]:
        raise AssertionError("the internal topic of groups is there")

    def read(is_ready: Callable[[int], bool], has: Callable[[str], bool]) -> Callable[[str], bool]:
        """Whether a name is taken; raises while the names are being read."""

        def is_taken(group_id: str) -> bool:
            number = groups.partition_of(group_id)
            if not is_ready(number):
                raise CoordinatorLoading(number)
            return has(group_id)

        return is_taken

    taken = read(groups.is_ready, groups.has)
    shares = ShareCoordinator(make_logs, view, settings, clock=clock, is_taken=taken, is_among_groups=True)
    groups.share_names(read(shares.is_ready, shares.has))
    await shares.follow(topics.get(OFFSETS_TOPIC).logs)
    return shares


async def open_transactions(
    topics: Topics, settings: BrokerSettings, markers: Markers, producer_ids: ProducerIds, clock: Clock
) -> TransactionCoordinator:
    """The internal topic of transactions, and the coordinator that lives on it."""
    configs = {"cleanup.policy": "compact", "retention.ms": "-1"}
    logs = (await topics.ensure(TRANSACTIONS_TOPIC, settings.transaction_state_log_num_partitions, configs)).logs
    transaction_settings = TransactionSettings(
        timeout_ms_max=settings.transaction_max_timeout_ms,
        id_expiration_ms=settings.transactional_id_expiration_ms,
        ids_max=settings.max_transactional_ids,
    )
    transactions = TransactionCoordinator(logs, markers, producer_ids, transaction_settings, clock=clock)
    await transactions.load()
    return transactions


class GroupTopics:
    """What groups need to know of the topics, as they are now."""

    def __init__(self, topics: Topics, users: Users) -> None:
        self._topics = topics
        self._version = 0
        topics.on_change.append(self._grow)
        users.on_rules.append(self._grow)

    def _grow(self) -> None:
        """Topics have changed, or who may know of them."""
        self._version += 1

    @property
    def version(self) -> int:
        return self._version

    def find(self, name: str) -> KnownTopic | None:
        return _known(self._topics.find(name))

    def find_id(self, topic_id: UUID) -> KnownTopic | None:
        return _known(self._topics.find_id(topic_id))

    def names(self) -> Collection[str]:
        """All, internal ones too, as with Kafka: it is the pattern's business to leave them out."""
        return [each.topic.name for each in self._topics.all()]


def _known(opened: OpenTopic | None) -> KnownTopic | None:
    if opened is None:
        return None
    return KnownTopic(opened.topic.name, opened.topic.topic_id, opened.topic.partitions)


class ProducerIdBlocks:
    """Blocks of producer ids, from the cluster's metadata."""

    def __init__(self, metadata: MetadataLog, calls: BlockingCalls) -> None:
        self._metadata = metadata
        self._calls = calls
        self._taking = asyncio.Lock()

    async def take(self, count: int) -> int:
        async with self._taking:
            while True:
                start = self._metadata.metadata.producer_ids_end
                try:
                    await self._calls.run(self._metadata.commit, take_producer_ids(start, start + count))
                except ProducerIdsTaken:  # Another process was quicker, or our own commit is stored after all.
                    continue
                return start
