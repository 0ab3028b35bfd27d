"""What can be wrong with a request to the group coordinator, beside what can be with one to any.

Rejected
├── InvalidGroupId             the group's name is empty where a name is needed
├── GroupNotFound              there is no such group
├── GroupNotEmpty              the group has members
├── GroupFull                  the group has as many members, or as much to remember, as is allowed
├── MemberIdRequired           join again, with the member id in the error
├── UnknownMember              the group has no such member: join with an empty member id
├── InstanceFenced             another member has taken this instance id
├── WrongGeneration            the member speaks of another generation than the group's
├── ProtocolMismatch           the group speaks another protocol, or no protocol that all members know
├── SessionTimeoutOutOfRange   the session timeout is not between the limits
├── AssignmentTooLarge         the leader's assignment does not fit into one record
├── TopicSubscribed            a member reads this topic: its offsets cannot be deleted
└── OffsetMetadataTooLarge     the text beside an offset is too long
Unavailable
├── RebalanceInProgress        join again
├── OffsetUndecided            a transaction that wrote this offset is still open
└── TooManyGroups              there are as many groups as are allowed
"""

from __future__ import annotations

from holdfast.errors import Rejected, Unavailable


class InvalidGroupId(Rejected):
    """The group needs a name."""

    def __init__(self, group_id: str) -> None:
        super().__init__(f"{group_id!r} is no name of a group")
        self.group_id = group_id


class GroupNotFound(Rejected):
    """There is no such group."""

    def __init__(self, group_id: str, reason: str = "") -> None:
        super().__init__(reason or f"there is no group {group_id}")
        self.group_id = group_id


class GroupNotEmpty(Rejected):
    """The group has members."""

    def __init__(self, group_id: str) -> None:
        super().__init__(f"group {group_id} has members")
        self.group_id = group_id


class GroupFull(Rejected):
    """The group takes no more members."""

    def __init__(self, group_id: str, limit: str) -> None:
        super().__init__(f"group {group_id} is full: {limit}")
        self.group_id = group_id
        self.limit = limit


class MemberIdRequired(Rejected):
    """Join again with this id, so that a repeated join is known to be a repeat."""

    def __init__(self, group_id: str, member_id: str) -> None:
        super().__init__(f"group {group_id}: join again as member {member_id}")
        self.group_id = group_id
        self.member_id = member_id


class UnknownMember(Rejected):
    """The group has no such member."""

    def __init__(self, group_id: str, member_id: str) -> None:
        super().__init__(f"group {group_id} has no member {member_id!r}")
        self.group_id = group_id
        self.member_id = member_id


class InstanceFenced(Rejected):
    """Another member has taken the instance id; this one must stop."""

    def __init__(self, group_id: str, instance_id: str, member_id: str) -> None:
        super().__init__(f"group {group_id}: instance {instance_id} is not member {member_id!r} any more")
        self.group_id = group_id
        self.instance_id = instance_id
        self.member_id = member_id


class WrongGeneration(Rejected):
    """The member speaks of another generation."""

    def __init__(self, group_id: str, found: int, current: int) -> None:
        super().__init__(f"group {group_id} is in generation {current}, not {found}")
        self.group_id = group_id
        self.found = found
        self.current = current


class ProtocolMismatch(Rejected):
    """There is nothing that all members could agree on."""

    def __init__(self, group_id: str, found: object, expected: object) -> None:
        super().__init__(f"group {group_id} speaks {expected}, not {found}")
        self.group_id = group_id
        self.found = found
        self.expected = expected


class SessionTimeoutOutOfRange(Rejected):
    """The session timeout is not between the limits."""

    def __init__(self, timeout_ms: int, min_ms: int, max_ms: int) -> None:
        super().__init__(f"a session timeout of {timeout_ms} ms is not between {min_ms} and {max_ms} ms")
        self.timeout_ms = timeout_ms
        self.min_ms = min_ms
        self.max_ms = max_ms


class AssignmentTooLarge(Rejected):
    """The leader's assignment does not fit into one record."""

    def __init__(self, group_id: str, size: int, size_max: int) -> None:
        super().__init__(f"group {group_id}: an assignment of {size} bytes is larger than the {size_max} allowed")
        self.group_id = group_id
        self.size = size
        self.size_max = size_max


class TopicSubscribed(Rejected):
    """A member reads this topic."""

    def __init__(self, group_id: str, topic: str) -> None:
        super().__init__(f"group {group_id} has members that read topic {topic}")
        self.group_id = group_id
        self.topic = topic


class OffsetMetadataTooLarge(Rejected):
    """The text beside an offset is too long."""

    def __init__(self, size: int, size_max: int) -> None:
        super().__init__(f"{size} bytes of text beside an offset are more than the {size_max} allowed")
        self.size = size
        self.size_max = size_max


class OffsetsFull(Rejected):
    """All groups' offsets take as much as they may: delete groups, or their offsets, that nobody needs."""

    def __init__(self, size_max: int) -> None:
        super().__init__(f"the committed offsets of all groups take the {size_max} bytes that are allowed")
        self.size_max = size_max


class RebalanceInProgress(Unavailable):
    """Join again: the group is finding a new assignment."""

    def __init__(self, group_id: str) -> None:
        super().__init__(f"group {group_id} is rebalancing")
        self.group_id = group_id


class OffsetUndecided(Unavailable):
    """A transaction that wrote this offset is still open."""

    def __init__(self, group_id: str, topic: str, partition: int) -> None:
        super().__init__(f"group {group_id}: a transaction has yet to decide the offset of {topic}-{partition}")
        self.group_id = group_id
        self.topic = topic
        self.partition = partition


class TooManyGroups(Unavailable):
    """There are as many groups as are allowed."""

    def __init__(self, count_max: int) -> None:
        super().__init__(f"there are {count_max} groups already; no more are allowed")
        self.count_max = count_max
