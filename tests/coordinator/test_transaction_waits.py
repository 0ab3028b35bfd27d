"""An end that cannot be carried out everywhere: it is decided, and waits until it can be."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

import pytest
from tests.coordinator.coordinator_world import NoAlarm
from tests.log.log_world import LogWorld, from_producer, in_loop, turns

from holdfast.coordinator.transaction.coordinator import EXPLICIT, TransactionCoordinator
from holdfast.coordinator.transaction.durable_transaction import ReachedState
from holdfast.coordinator.transaction.errors import TransactionEnding
from holdfast.coordinator.transaction.producer_ids import ProducerIds
from holdfast.coordinator.transaction.transaction import TransactionState
from holdfast.log.partition.partition import PartitionLog
from holdfast.record.marker import Marker
from holdfast.types import PartitionId, TopicPartition

HERE, AWAY = TopicPartition("t", 0), TopicPartition("t", 1)


class Blocks:
    async def take(self, count: int) -> int:
        del count
        return 0


class Ends:
    """The partitions of a test, some of which cannot be written to."""

    def __init__(self, logs: list[PartitionLog], is_away: Callable[[TopicPartition], bool]) -> None:
        self._logs = logs
        self._is_away = is_away

    def end(self, partition: TopicPartition, marker: Marker) -> ReachedState:
        if self._is_away(partition):
            return ReachedState.LATER
        log = self._logs[partition.partition]
        if log.producers.is_open(marker.producer_id, marker.producer_epoch):
            log.append_marker(marker)
        return ReachedState.ENDED


async def opened(
    world: LogWorld, is_away: Callable[[TopicPartition], bool]
) -> tuple[TransactionCoordinator, list[PartitionLog]]:
    logs = await world.open()
    data = [await logs.partition(PartitionId(UUID(int=0xD), number)) for number in range(2)]
    internal = [await logs.partition(PartitionId(UUID(int=0xE), 0))]
    coordinator = TransactionCoordinator(
        internal, Ends(data, is_away), ProducerIds(Blocks()), clock=world.clock, alarm=NoAlarm()
    )
    await coordinator.load()
    return coordinator, data


@in_loop
async def test_an_end_waits_for_a_partition_that_is_set_aside() -> None:
    """K4: the producer is answered, since the end is decided, but begins nothing new; a start that finds the partition
    back carries the end out there, and only there."""
    world = LogWorld()
    coordinator, data = await opened(world, lambda partition: partition == AWAY)
    producer = await coordinator.initialize("x", 1000)
    await coordinator.add("x", producer, [HERE, AWAY])
    for log in data:
        await log.append(from_producer(0, b"v", number=producer.producer_id, transactional=True))
    await coordinator.end("x", producer, commit=True, client_version=EXPLICIT)
    assert coordinator.describe("x").state is TransactionState.PREPARE_COMMIT
    assert [log.last_stable for log in data] == [2, 0]
    with pytest.raises(TransactionEnding):
        await coordinator.initialize("x", 1000)
    with pytest.raises(TransactionEnding):
        await coordinator.add("x", producer, [HERE])
    world.disk.power_cut()
    coordinator, data = await opened(world, lambda partition: partition == AWAY)
    assert coordinator.describe("x").state is TransactionState.PREPARE_COMMIT
    world.disk.power_cut()
    coordinator, data = await opened(world, lambda _: False)
    await turns()
    assert coordinator.describe("x").state is TransactionState.COMPLETE_COMMIT
    assert [(log.last_stable, log.marks.log_end) for log in data] == [(2, 2), (2, 2)]
    assert (await coordinator.initialize("x", 1000)).epoch == 1
