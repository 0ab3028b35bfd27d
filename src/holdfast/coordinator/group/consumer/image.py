"""A consumer group as its records have it, put together while they are read."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TypeVar

from holdfast.coordinator.group.consumer import records
from holdfast.coordinator.group.consumer.member import NONE, ConsumerMember, MemberState, Partitions
from holdfast.coordinator.group.consumer.patterns import Matched
from holdfast.coordinator.group.consumer.records import Epoch, MemberProgress, RecordKind
from holdfast.coordinator.runtime.fields import Reader

T = TypeVar("T")


@dataclass(slots=True)
class ConsumerImage:
    """What the records so far say."""

    epoch: Epoch | None = None  # None: there is no such group.
    target_epoch: int = 0
    wishes: dict[str, ConsumerMember] = field(default_factory=dict)
    targets: dict[str, Partitions] = field(default_factory=dict)
    progress: dict[str, MemberProgress] = field(default_factory=dict)
    patterns: dict[str, Matched] = field(default_factory=dict)

    def apply(self, kind: RecordKind, name: str, reader: Reader | None) -> None:
        """One record more; without a value it takes back what the key names."""
        if kind is RecordKind.EPOCH:
            self.epoch = None if reader is None else records.decode_epoch(reader)
        elif kind is RecordKind.TARGET_EPOCH:
            self.target_epoch = 0 if reader is None else records.decode_target_epoch(reader)
        elif kind is RecordKind.MEMBER:
            _put(self.wishes, name, None if reader is None else records.decode_member(name, reader))
        elif kind is RecordKind.TARGET:
            _put(self.targets, name, None if reader is None else records.decode_target(reader))
        elif kind is RecordKind.CURRENT:
            _put(self.progress, name, None if reader is None else records.decode_progress(reader))
        elif kind is RecordKind.PATTERN:
            _put(self.patterns, name, None if reader is None else records.decode_pattern(reader))

    def members(self) -> list[ConsumerMember]:
        """All members with what they hold."""
        fresh = MemberProgress(0, -1, MemberState.STABLE, NONE, NONE)
        return [
            replace(member, **self.progress.get(member_id, fresh)._asdict())
            for member_id, member in self.wishes.items()
        ]


def _put(table: dict[str, T], name: str, value: T | None) -> None:
    if value is None:
        table.pop(name, None)
    else:
        table[name] = value
