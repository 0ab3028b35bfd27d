"""The group coordinator: all groups whose internal partitions are here.

coordinator = GroupCoordinator(logs, clock=clock, chance=chance)
await coordinator.load()
joined = await coordinator.join("readers", JoinRequest(...))
await coordinator.close()

Every call raises the errors of `holdfast.coordinator.errors`; what concerns one partition or one member of a request
is in the result. An answer comes after everything it depends on is durable.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from holdfast.coordinator.answers import (
    CommittedOffset,
    GroupDescription,
    GroupListing,
    GroupState,
    GroupType,
    Joined,
    Synced,
)
from holdfast.coordinator.errors import OffsetUndecided
from holdfast.coordinator.requests import Caller, JoinRequest, Leaving, OffsetToCommit, SyncRequest, TopicPartition
from holdfast.coordinator.settings import GroupSettings
from holdfast.errors import Rejected
from holdfast.io.chance import Chance
from holdfast.io.clock import Clock
from holdfast.log.partition import PartitionLog


class GroupCoordinator:
    """Belongs to one event loop."""

    def __init__(
        self,
        logs: Sequence[PartitionLog],
        settings: GroupSettings | None = None,
        *,
        clock: Clock,
        chance: Chance,
    ) -> None:
        """`logs` are the partitions of the internal topic, in order; their number must never change."""
        raise NotImplementedError

    # Life

    async def load(self) -> None:
        """Read the internal partitions; each one's groups are served as soon as it is read."""
        raise NotImplementedError

    async def close(self) -> None:
        """Answer everybody who waits with CoordinatorStopped, and take no more."""
        raise NotImplementedError

    def partition_of(self, group_id: str) -> int:
        """The internal partition that holds a group."""
        raise NotImplementedError

    # Membership

    async def join(self, group_id: str, request: JoinRequest) -> Joined:
        """Waits until the generation is complete. A new member may get MemberIdRequired, with its id."""
        raise NotImplementedError

    async def sync(self, group_id: str, request: SyncRequest) -> Synced:
        """Waits for the leader's assignment."""
        raise NotImplementedError

    async def heartbeat(self, group_id: str, caller: Caller) -> None:
        """I am still here. RebalanceInProgress: join again."""
        raise NotImplementedError

    async def leave(self, group_id: str, members: Sequence[Leaving]) -> list[Rejected | None]:
        """Remove members; one result each, in order. GroupNotFound is raised as UnknownMember in each result."""
        raise NotImplementedError

    # Offsets

    async def commit(
        self, group_id: str, caller: Caller, offsets: Mapping[TopicPartition, OffsetToCommit]
    ) -> dict[TopicPartition, Rejected | None]:
        """Durable on return, except where an error stands."""
        raise NotImplementedError

    async def fetch_offsets(
        self, group_id: str, partitions: Collection[TopicPartition] | None = None, *, require_stable: bool = False
    ) -> dict[TopicPartition, CommittedOffset | OffsetUndecided | None]:
        """What is committed and durable; None: nothing. Without partitions: all that is committed."""
        raise NotImplementedError

    async def delete_offsets(
        self, group_id: str, partitions: Collection[TopicPartition]
    ) -> dict[TopicPartition, Rejected | None]:
        """Forget offsets of topics that no member reads: else TopicSubscribed, or GroupNotEmpty for the whole."""
        raise NotImplementedError

    async def forget_topics(self, is_gone: Callable[[str], bool]) -> None:
        """Forget all groups' offsets of topics that are deleted. To be called after `load`, too."""
        raise NotImplementedError

    # Operators

    async def describe(self, group_id: str) -> GroupDescription:
        """One group; GroupNotFound if there is none."""
        raise NotImplementedError

    def list_groups(self, states: Collection[GroupState] = (), types: Collection[GroupType] = ()) -> list[GroupListing]:
        """All groups, or those in some of these states and of some of these types."""
        raise NotImplementedError

    async def delete_group(self, group_id: str) -> None:
        """Delete an empty group with its offsets. Durable on return."""
        raise NotImplementedError
