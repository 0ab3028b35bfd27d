"""What can be wrong with a request to a consumer group, beside what can be with one to any group.

Rejected
├── InvalidHeartbeat           a heartbeat contradicts itself, or lacks what it needs
├── FencedMemberEpoch          the member is not at this epoch: let go of everything, and join anew
├── StaleMemberEpoch           the member is at another epoch: hear it from the next heartbeat, and try again
├── UnreleasedInstance         another member has this instance id, and has not left
├── UnsupportedAssignor        there is no such assignor
├── InvalidPattern             the pattern of topics cannot be read
└── GroupNotFound
    ├── NotAClassicGroup       the group follows the consumer protocol
    └── NotAConsumerGroup      the group follows the classic protocol, and cannot move
Unavailable
└── GroupUnsettled             the group finds an assignment in the classic protocol, and cannot move meanwhile
"""

from __future__ import annotations

from holdfast.coordinator.group.errors import GroupNotFound
from holdfast.errors import Rejected, Unavailable


class InvalidHeartbeat(Rejected):
    """A heartbeat that no group can make sense of."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"heartbeat: {reason}")
        self.reason = reason


class FencedMemberEpoch(Rejected):
    """The member is not at this epoch: it must let go of everything, and join anew."""

    def __init__(self, group_id: str, member_id: str, found: int, current: int) -> None:
        super().__init__(
            f"group {group_id}: member {member_id!r} is at epoch {current}, not {found}: "
            "it must let go of its partitions and join with epoch 0"
        )
        self.group_id = group_id
        self.member_id = member_id
        self.found = found
        self.current = current


class StaleMemberEpoch(Rejected):
    """The member is at another epoch, which its next heartbeat tells it."""

    def __init__(self, group_id: str, member_id: str, found: int, current: int) -> None:
        super().__init__(
            f"group {group_id}: member {member_id!r} is at epoch {current}, not {found}: try again with it"
        )
        self.group_id = group_id
        self.member_id = member_id
        self.found = found
        self.current = current


class UnreleasedInstance(Rejected):
    """Another member has this instance id, and has not left."""

    def __init__(self, group_id: str, instance_id: str, holder_id: str) -> None:
        super().__init__(f"group {group_id}: instance {instance_id} is member {holder_id!r}, which has not left")
        self.group_id = group_id
        self.instance_id = instance_id
        self.holder_id = holder_id


class UnsupportedAssignor(Rejected):
    """There is no such assignor."""

    def __init__(self, name: str, known: tuple[str, ...]) -> None:
        super().__init__(f"there is no assignor {name!r}: choose one of {', '.join(known)}")
        self.name = name
        self.known = known


class InvalidPattern(Rejected):
    """The pattern of topics cannot be read."""

    def __init__(self, pattern: str, reason: str) -> None:
        super().__init__(f"{pattern!r} is no pattern in the syntax of RE2: {reason}")
        self.pattern = pattern
        self.reason = reason


class NotAClassicGroup(GroupNotFound):
    """There is such a group, but it follows the consumer protocol."""

    def __init__(self, group_id: str) -> None:
        super().__init__(group_id, f"group {group_id} is not a classic group")


class NotAConsumerGroup(GroupNotFound):
    """There is such a group, but it follows the classic protocol."""

    def __init__(self, group_id: str) -> None:
        super().__init__(group_id, f"group {group_id} is not a consumer group")


class GroupUnsettled(Unavailable):
    """The group finds an assignment in the classic protocol; it can move to the new one when that is done."""

    def __init__(self, group_id: str) -> None:
        super().__init__(f"group {group_id} is rebalancing in the classic protocol: try again when it is stable")
        self.group_id = group_id
