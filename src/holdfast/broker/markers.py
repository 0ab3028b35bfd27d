"""Where transactions end: markers in the partitions of topics, and in those of the groups' offsets."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Final

from holdfast.broker.topics import OFFSETS_TOPIC, Topics
from holdfast.cluster.errors import TopicUnknown
from holdfast.coordinator.group.coordinator import GroupCoordinator
from holdfast.coordinator.transaction.durable_transaction import ReachedState
from holdfast.errors import Corrupt, Fenced
from holdfast.log.errors import PartitionDeleted, ProducerEpochOld, TransactionMismatch
from holdfast.log.partition.partition import PartitionLog
from holdfast.record.marker import Marker
from holdfast.types import TopicPartition

log = logging.getLogger(__name__)

NO_COORDINATOR: Final = -1


class Markers:
    """Belongs to one event loop."""

    def __init__(self, topics: Topics, groups: GroupCoordinator) -> None:
        self._topics = topics
        self._groups = groups

    def end(self, partition: TopicPartition, marker: Marker) -> ReachedState:
        """Append a marker where the producer's transaction is open. At once: it waits for nothing."""
        try:
            found = self._topics.get(partition.topic).partition(partition.partition)
            state = found.producers.state(marker.producer_id)
            if state is not None and state.transaction_start is not None:
                # There is one coordinator, and it is in this process: no epoch that is known here shuts it out.
                newest = max(marker.coordinator_epoch, state.coordinator_epoch)
                self.append(partition, found, marker._replace(coordinator_epoch=newest))
        except (TopicUnknown, PartitionDeleted):
            return ReachedState.GONE
        except (Corrupt, Fenced):  # The other partitions must not wait for it: what is committed there is readable.
            return ReachedState.LATER
        except (ProducerEpochOld, TransactionMismatch) as failure:
            log.error("%s-%d: a transaction stays open: %s", *partition, failure)
        return ReachedState.ENDED

    async def end_elsewhere(self, partitions: Sequence[TopicPartition], marker: Marker) -> list[TopicPartition]:
        """Where one broker leads everything there is no elsewhere."""
        raise AssertionError(f"{partitions} cannot be led elsewhere: {marker}")

    def append_for_operator(self, partition: TopicPartition, found: PartitionLog, marker: Marker) -> None:
        """Append a marker that no coordinator of ours has sent. It is refused if it is older than what is known there,
        and says nothing new of coordinators: an epoch that it made up would shut out the real one."""
        if marker.producer_id < 0 or marker.producer_epoch < 0:
            raise ProducerEpochOld(marker.producer_id, 0, marker.producer_epoch)
        found.check_alive()
        found.producers.check_marker(marker)
        state = found.producers.state(marker.producer_id)
        known = NO_COORDINATOR if state is None else state.coordinator_epoch
        self.append(partition, found, marker._replace(coordinator_epoch=known))

    def append(self, partition: TopicPartition, found: PartitionLog, marker: Marker) -> None:
        """Append a marker, whatever is open there."""
        if partition.topic == OFFSETS_TOPIC:
            self._groups.offsets.end_transaction(partition.partition, marker)
        else:
            found.append_marker(marker)
