"""Groups that move between the two protocols, with their members and what these hold. Offsets are not concerned.

A group moves to the new protocol when the first member of it comes, and back when the last one is gone and members of
the classic protocol are left. An empty group is of the kind of whoever comes next. Generations go on as epochs and
epochs as generations, so that neither ever goes back.
"""

from __future__ import annotations

from typing import TypeAlias

from holdfast.coordinator.group.answers import GroupState
from holdfast.coordinator.group.classic.group import ClassicGroup
from holdfast.coordinator.group.classic.image import GroupImage, MemberImage
from holdfast.coordinator.group.classic.member import Member
from holdfast.coordinator.group.classic.subscription import CONSUMER
from holdfast.coordinator.group.consumer.core import ConsumerCore
from holdfast.coordinator.group.consumer.embedded import (
    by_id,
    by_name,
    read_assignment,
    read_subscription,
    write_assignment,
)
from holdfast.coordinator.group.consumer.errors import GroupUnsettled, NotAConsumerGroup
from holdfast.coordinator.group.consumer.group import ConsumerGroup
from holdfast.coordinator.group.consumer.member import ClassicSide, ConsumerMember, MemberState
from holdfast.coordinator.group.settings import Migration
from holdfast.coordinator.group.topic_view import TopicView

Group: TypeAlias = ClassicGroup | ConsumerGroup


def check_upgrade(group: ClassicGroup, migration: Migration) -> None:
    """Raise unless a classic group can move to the new protocol now."""
    if group.is_vacant:
        return
    if group.protocol_type != CONSUMER or not migration.upgrades:
        raise NotAConsumerGroup(group.id)
    if group.state is not GroupState.STABLE:
        raise GroupUnsettled(group.id)  # Nobody knows who holds what until the leader has assigned.
    if any(_read(member) is None for member in group.members):
        raise NotAConsumerGroup(group.id)


def upgrade(group: ClassicGroup, core: ConsumerCore) -> None:
    """Let `core`, which has the epoch of the group's generation, begin with the group's members."""
    for member in group.members:
        moved = core.roster.without_double(_upgraded(member, group.generation, core.topics))
        core.roster.put(moved)
        core.roster.set_target(moved.id, moved.assigned)
    core.roster.change_all()


def _read(member: Member) -> tuple[ClassicSide, bytes] | None:
    """What a member has said, if it all has the form that consumers use."""
    if any(read_subscription(each.metadata) is None for each in member.protocols):
        return None
    if read_assignment(member.assignment) is None:
        return None
    return ClassicSide(member.session_timeout_ms, member.protocols), member.assignment


def _upgraded(member: Member, generation: int, topics: TopicView) -> ConsumerMember:
    """A member with what it was assigned; what it owned before may not be let go of yet."""
    subscription = read_subscription(member.protocols[0].metadata)
    assigned = by_id(read_assignment(member.assignment) or (), topics)
    revoking = by_id(subscription.owned if subscription is not None else (), topics) - assigned
    return ConsumerMember(
        id=member.id,
        instance_id=member.instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        topics=subscription.topics if subscription is not None else frozenset(),
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        classic=ClassicSide(member.session_timeout_ms, member.protocols),
        epoch=generation,
        previous_epoch=generation,
        state=MemberState.UNREVOKED if revoking else MemberState.STABLE,
        assigned=assigned,
        revoking=revoking,
    )


def must_downgrade(group: Group, migration: Migration) -> bool:
    """Whether only members of the classic protocol are left in a consumer group."""
    if isinstance(group, ClassicGroup) or not migration.downgrades or group.state is GroupState.DEAD:
        return False
    return group.has_only_classic_members


def downgraded(group: ConsumerGroup) -> GroupImage:
    """The classic group that goes on: all of its members are to join again, and agree."""
    common = group.common_protocols() or {""}
    name = min(common)
    members = tuple(_downgraded(member, name, group.core.topics) for member in group.members)
    return GroupImage(CONSUMER if members else "", group.epoch, name if members else None, None, -1, members)


def _downgraded(member: ConsumerMember, name: str, topics: TopicView) -> MemberImage:
    classic = member.classic
    assert classic is not None
    metadata = next((each.metadata for each in classic.protocols if each.name == name), b"")
    return MemberImage(
        member.id,
        member.instance_id,
        member.client_id,
        member.client_host,
        member.rebalance_timeout_ms,
        classic.session_timeout_ms,
        metadata,
        write_assignment(0, by_name(member.assigned, topics)),
    )
