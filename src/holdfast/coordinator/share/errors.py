"""What can be wrong with a request to a share group.

Rejected
├── InvalidRecordState      a record is not the member's to judge, or the verdict is none
├── NotAShareGroup          there is such a group, but of another kind
└── ShareStateOld           a group was told to begin elsewhere since its state was read
Unavailable
├── ShareStateAway          who keeps a group's state cannot be asked now
└── TooManySharePartitions  share groups read as many partitions as they may
Fenced
└── ShareLeaderOld          a later leader of the partition has read a group's state
"""

from __future__ import annotations

from holdfast.coordinator.group.errors import GroupNotFound
from holdfast.errors import Fenced, Rejected, Unavailable


class InvalidRecordState(Rejected):
    """The member does not have these records (any more): their time was up, or it has judged them already."""

    def __init__(self, member: str, first: int, end: int, reason: str = "") -> None:
        why = reason or f"member {member!r} does not hold all of them"
        super().__init__(f"records {first} to {end - 1}: {why}")
        self.member = member
        self.first = first
        self.end = end


class NotAShareGroup(GroupNotFound):
    """There is a group of this name, but it is none of those."""

    def __init__(self, group_id: str) -> None:
        super().__init__(group_id, f"group {group_id} is not a share group")


class ShareStateOld(Rejected):
    """What is known of a group in a partition is not so any more: it was reset, or is gone."""

    def __init__(self, group_id: str, path: str) -> None:
        super().__init__(f"group {group_id} has been reset in partition {path} since its state was read")


class ShareStateAway(Unavailable):
    """Who keeps a group's state cannot be asked now."""

    def __init__(self, group_id: str, why: object) -> None:
        super().__init__(f"the state of share group {group_id} cannot be reached: {why}")


class ShareLeaderOld(Fenced):
    """A later leader of the partition has read a group's state: whatever an earlier one says of it is refused."""

    def __init__(self, group_id: str, path: str, epoch: int) -> None:
        super().__init__(f"group {group_id}, partition {path}: a leader of epoch {epoch} is not the latest any more")


class TooManySharePartitions(Unavailable):
    """Share groups read as many partitions as they may."""

    def __init__(self, count_max: int) -> None:
        super().__init__(f"share groups read {count_max} partitions already, which is as many as they may")
        self.count_max = count_max
