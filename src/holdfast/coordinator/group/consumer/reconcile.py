"""How a member moves towards its target: first it lets go, then it gets. A pure function.

A partition is given to a member only if nobody else holds it. Who holds it: every member whose `assigned` or `revoking`
has it, from the answer that gave it until the member has said that it does not own it any more, or is gone.
"""

from __future__ import annotations

from collections.abc import Callable

from holdfast.coordinator.group.consumer.member import NONE, ConsumerMember, MemberState, Partitions
from holdfast.types import PartitionId

IsFree = Callable[[PartitionId], bool]


def reconcile(
    member: ConsumerMember, target: Partitions, target_epoch: int, owned: Partitions | None, is_free: IsFree
) -> ConsumerMember:
    """The member one step further; itself if it has to wait.

    `owned` is what it says it owns, None if it does not say. `is_free` is of partitions that it does not hold itself.
    """
    if member.state is MemberState.UNREVOKED:
        if _owns(owned, member.revoking):
            return member
        return _step(member, member.epoch + 1, target, target_epoch, owned, is_free)
    if member.state is MemberState.STABLE and member.epoch == target_epoch:
        return member
    return _step(member, member.epoch, target, target_epoch, owned, is_free)


def _step(
    member: ConsumerMember,
    epoch: int,
    target: Partitions,
    target_epoch: int,
    owned: Partitions | None,
    is_free: IsFree,
) -> ConsumerMember:
    kept = member.assigned & target
    unwanted = member.assigned - target
    if unwanted and _owns(owned, unwanted):
        return member.advanced(epoch, MemberState.UNREVOKED, kept, unwanted)
    missing = target - kept
    free = frozenset(each for each in missing if is_free(each))
    state = MemberState.STABLE if len(free) == len(missing) else MemberState.UNRELEASED
    return member.advanced(target_epoch, state, kept | free, NONE)


def _owns(owned: Partitions | None, partitions: Partitions) -> bool:
    """Whether a member may own some of these; one that does not say may."""
    return owned is None or not owned.isdisjoint(partitions)
