"""What can be wrong with a request to a share group.

Rejected
├── InvalidRecordState      a record is not the member's to judge, or the verdict is none
└── NotAShareGroup          there is such a group, but of another kind
Unavailable
└── TooManySharePartitions  share groups read as many partitions as they may
"""

from __future__ import annotations

from holdfast.coordinator.group.errors import GroupNotFound
from holdfast.errors import Rejected, Unavailable


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


class TooManySharePartitions(Unavailable):
    """Share groups read as many partitions as they may."""

    def __init__(self, count_max: int) -> None:
        super().__init__(f"share groups read {count_max} partitions already, which is as many as they may")
        self.count_max = count_max
