"""Where the states of share groups are kept when several brokers lead: at the broker that coordinates the group."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from holdfast.broker.peers.peers import Peers
from holdfast.broker.shared_topics import SharedTopics
from holdfast.broker.topics import OFFSETS_TOPIC
from holdfast.cluster.lives import BrokerLife
from holdfast.coordinator.group.errors import GroupNotFound
from holdfast.coordinator.runtime.errors import CoordinatorLoading, NotCoordinator
from holdfast.coordinator.runtime.internal_topic import partition_of
from holdfast.coordinator.share.coordinator import ShareCoordinator
from holdfast.coordinator.share.errors import ShareLeaderOld, ShareStateAway, ShareStateOld
from holdfast.coordinator.share.records import StoredState
from holdfast.errors import Corrupt, Fenced, HoldfastError, Stopped, Unavailable
from holdfast.io.calls import BlockingCalls
from holdfast.log.logs import Logs
from holdfast.log.partition.partition import PartitionLog
from holdfast.protocol.codes import Code
from holdfast.types import PartitionId

T = TypeVar("T")

_TRIES = 5
_AGAIN_S = 0.2
_AGAIN: Final = (Code.NOT_COORDINATOR, Code.COORDINATOR_LOAD_IN_PROGRESS, Code.COORDINATOR_NOT_AVAILABLE)


class LedHere:
    """The partitions that are led here. Belongs to one event loop."""

    def __init__(self, topics: SharedTopics, logs: Logs) -> None:
        self._topics = topics
        self._logs = logs

    def has(self, data: PartitionLog) -> bool:
        opened = self._topics.find_id(data.home.topic_id)
        number = data.home.partition
        return opened is not None and number < len(opened.logs) and opened.logs[number] is data and data.is_alive

    async def look(self) -> None:
        looked: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if self._logs.owner.hold(lambda: None if looked.done() else looked.set_result(None)):
            await looked


class PeerShareStates:
    """Belongs to one event loop."""

    def __init__(self, topics: SharedTopics, shares: ShareCoordinator, peers: Peers, calls: BlockingCalls) -> None:
        self._topics = topics
        self._shares = shares
        self._peers = peers
        self._calls = calls

    async def read(self, group_id: str, home: PartitionId, leader_epoch: int) -> StoredState:
        """Ask for a state, for a leader that begins with it. Raises what the coordinator says, or ShareStateAway."""

        async def elsewhere(life: BrokerLife) -> StoredState:
            code, state = await self._peers.read_state(life, (group_id, home, leader_epoch))
            return _checked(code, group_id, home, leader_epoch, state)

        return await self._asked(group_id, lambda: self._shares.read_state(group_id, home, leader_epoch), elsewhere)

    async def write(self, group_id: str, home: PartitionId, state: StoredState) -> None:
        """Have a state kept: durable on return. Raises what the coordinator says, or ShareStateAway."""

        async def elsewhere(life: BrokerLife) -> None:
            code = await self._peers.write_state(life, (group_id, home, state))
            _checked(code, group_id, home, state.leader_epoch, None)

        await self._asked(group_id, lambda: self._shares.write_state(group_id, home, state), elsewhere)

    async def _asked(
        self, group_id: str, here: Callable[[], Awaitable[T]], elsewhere: Callable[[BrokerLife], Awaitable[T]]
    ) -> T:
        number = partition_of(group_id, len(self._topics.get(OFFSETS_TOPIC).logs))
        why: object = "nobody is its coordinator"
        for attempt in range(_TRIES):
            if attempt:
                await self._calls.pause(_AGAIN_S)
                await self._topics.look_again()
            leader = self._topics.leader_of(OFFSETS_TOPIC, number)
            if leader is None:
                continue
            try:
                if leader.life != self._topics.life:
                    return await elsewhere(leader)
                return await here()
            except (_Again, CoordinatorLoading, NotCoordinator) as failure:
                why = failure
            except ShareLeaderOld:
                raise
            except (Unavailable, Fenced, Stopped, Corrupt) as failure:
                # Of our own coordinator, whose log is on its way to another, and of others: nobody knows what it did.
                raise ShareStateAway(group_id, failure) from None
        raise ShareStateAway(group_id, why)


class _Again(Unavailable):
    """The group has another coordinator, or one that is not ready: nothing was done."""


def _checked(code: int, group_id: str, home: PartitionId, leader_epoch: int, state: T) -> T:
    """What a coordinator's code says, as the error that our own would have raised."""
    if code == Code.NONE:
        return state
    if code in _AGAIN:
        raise _Again(Code(code).name)
    raise _refusal(code, group_id, home, leader_epoch)


def _refusal(code: int, group_id: str, home: PartitionId, leader_epoch: int) -> HoldfastError:
    if code == Code.FENCED_LEADER_EPOCH:
        return ShareLeaderOld(group_id, home.path, leader_epoch)
    if code == Code.FENCED_STATE_EPOCH:
        return ShareStateOld(group_id, home.path)
    if code == Code.GROUP_ID_NOT_FOUND:
        return GroupNotFound(group_id)
    return ShareStateAway(group_id, f"its coordinator answers {code}")
