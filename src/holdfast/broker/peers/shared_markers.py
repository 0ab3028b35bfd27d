"""Where transactions end when several brokers lead: in our own partitions at once, elsewhere by asking their leaders.

A marker is appended wherever it tells something new: also where nothing is open, if no coordinator in this epoch was
heard of there. From then on whatever an earlier coordinator has under way is refused.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from holdfast.broker.markers import Markers
from holdfast.broker.peers.peers import Peers
from holdfast.broker.peers.permits import Permits
from holdfast.broker.shared_topics import SharedTopics
from holdfast.cluster.errors import TopicUnknown
from holdfast.coordinator.group.coordinator import GroupCoordinator
from holdfast.coordinator.transaction.durable_transaction import ReachedState
from holdfast.errors import Corrupt, Fenced, Unavailable
from holdfast.io.calls import BlockingCalls
from holdfast.log.errors import PartitionDeleted, ProducerEpochOld, TransactionMismatch
from holdfast.log.partition.partition import PartitionLog
from holdfast.protocol.codes import Code
from holdfast.record.marker import Marker
from holdfast.types import TopicPartition

log = logging.getLogger(__name__)

_AGAIN_S, _AGAIN_S_MAX = 0.1, 1.0
_SAID_AFTER = 20  # Tries.
_FAILED_AFTER = 3  # Tries: somebody else may lead it by then.
_DONE = (ReachedState.ENDED, ReachedState.GONE)
_ANSWERS: dict[int, ReachedState] = {Code.NONE: ReachedState.ENDED, Code.CORRUPT_MESSAGE: ReachedState.LATER}


class SharedMarkers(Markers):
    """Belongs to one event loop."""

    def __init__(
        self, topics: SharedTopics, groups: GroupCoordinator, peers: Peers, permits: Permits, calls: BlockingCalls
    ) -> None:
        super().__init__(topics, groups)
        self._shared = topics
        self._peers = peers
        self._permits = permits
        self._calls = calls

    def end(self, partition: TopicPartition, marker: Marker) -> ReachedState:
        """At once, if it is ours."""
        try:
            found = self._topics.get(partition.topic).partition(partition.partition)
            found.check_alive()
            self._permits.end(found, marker.producer_id)
            state = found.producers.state(marker.producer_id)
            is_open = state is not None and state.transaction_start is not None
            if is_open or state is None or marker.coordinator_epoch > state.coordinator_epoch:
                self.append(partition, found, marker)
        except ProducerEpochOld:
            return ReachedState.ENDED  # What is open there, if anything is, is a later transaction.
        except TransactionMismatch as failure:
            log.warning("%s-%d: an end by an earlier coordinator is refused: %s", *partition, failure)
            return ReachedState.ELSEWHERE
        except Corrupt:
            return ReachedState.LATER
        except (TopicUnknown, PartitionDeleted, Fenced, Unavailable):
            return ReachedState.ELSEWHERE  # It has to be looked again: we may know less than others.
        return ReachedState.ENDED

    def append(self, partition: TopicPartition, found: PartitionLog, marker: Marker) -> None:
        """Also by an operator: what was asked for before is void."""
        self._permits.end(found, marker.producer_id)
        super().append(partition, found, marker)

    async def end_elsewhere(self, partitions: Sequence[TopicPartition], marker: Marker) -> list[TopicPartition]:
        """Ask leaders until all have it. Which partitions there are is looked up anew: our metadata may be old."""
        left, pause_s, tries = list(partitions), _AGAIN_S, 0
        while True:
            reached = await asyncio.gather(*(self._reach(each, marker) for each in left))
            found = [(each, state) for each, state in zip(left, reached, strict=True) if state not in _DONE]
            left = [each for each, _ in found]
            tries += 1
            if not left or (tries >= _FAILED_AFTER and all(state is ReachedState.LATER for _, state in found)):
                return left
            if tries % _SAID_AFTER == 0:
                names = ", ".join(f"{topic}-{number}" for topic, number in left)
                log.warning("producer %d: the end of its transaction has not reached %s", marker.producer_id, names)
            await self._calls.pause(pause_s)
            pause_s = min(2 * pause_s, _AGAIN_S_MAX)
            await self._shared.look_again()

    async def _reach(self, partition: TopicPartition, marker: Marker) -> ReachedState:
        """What became of it there; whoever leads it is asked."""
        here = self.end(partition, marker)
        if here is not ReachedState.ELSEWHERE:
            return here  # In our own log, in front of what says that the transaction is complete.
        try:
            if not self._has(partition):
                await self._shared.refresh()
                return ReachedState.ELSEWHERE if self._has(partition) else ReachedState.GONE
            leader = self._shared.leader_of(*partition)
            if leader is None or leader.life == self._shared.life:
                return ReachedState.ELSEWHERE
            return _ANSWERS.get(await self._peers.end(leader, partition, marker), ReachedState.ELSEWHERE)
        except Unavailable as failure:
            log.debug("%s-%d: an end is told again: %s", *partition, failure)
            return ReachedState.ELSEWHERE

    def _has(self, partition: TopicPartition) -> bool:
        topic = self._shared.metadata.topics.get(partition.topic)
        return topic is not None and partition.partition < topic.partitions
