"""Who is in a consumer group, who holds what, and which of it has yet to be written. Knows no time and no rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from holdfast.coordinator.group.consumer import records
from holdfast.coordinator.group.consumer.image import ConsumerImage
from holdfast.coordinator.group.consumer.member import NONE, ConsumerMember, MemberState, Partitions
from holdfast.coordinator.group.consumer.patterns import Matched
from holdfast.coordinator.group.consumer.records import Epoch, RecordKind
from holdfast.types import PartitionId

# The order in which records are written: who reads them knows a member before what it holds.
_ORDER = (
    RecordKind.MEMBER,
    RecordKind.PATTERN,
    RecordKind.EPOCH,
    RecordKind.TARGET,
    RecordKind.TARGET_EPOCH,
    RecordKind.CURRENT,
)


class ConsumerRoster:
    """The members of one group, and its epochs. `revision` grows with every change that has to survive."""

    def __init__(self, group_id: str, epoch: int = 0) -> None:
        self.group_id = group_id
        self.revision = 0
        self.epoch = Epoch(epoch)
        self.target_epoch = epoch
        self.patterns: dict[str, Matched] = {}
        self._members: dict[str, ConsumerMember] = {}
        self._targets: dict[str, Partitions] = {}
        self._instances: dict[str, str] = {}  # Instance id → member id.
        self._holders: dict[PartitionId, str] = {}  # Who holds a partition.
        self._unwritten: set[tuple[RecordKind, str]] = set()

    def restore(self, image: ConsumerImage) -> None:
        """Become what an image says."""
        self.epoch = image.epoch or Epoch(0)
        self.target_epoch = image.target_epoch
        self.patterns = dict(image.patterns)
        for member in image.members():
            self._targets[member.id] = image.targets.get(member.id, NONE)
            self.put(self.without_double(member))
        self._unwritten.clear()
        self.revision = 0

    # Looking

    def __len__(self) -> int:
        return len(self._members)

    def __iter__(self) -> Iterator[ConsumerMember]:
        return iter(self._members.values())

    def get(self, member_id: str) -> ConsumerMember | None:
        return self._members.get(member_id)

    def instance(self, instance_id: str) -> ConsumerMember | None:
        return self._members.get(self._instances.get(instance_id, ""))

    def target(self, member_id: str) -> Partitions:
        return self._targets.get(member_id, NONE)

    def holder(self, partition: PartitionId) -> str | None:
        """Who holds a partition: has been given it, and has not yet said that it has let go."""
        return self._holders.get(partition)

    def without_double(self, member: ConsumerMember) -> ConsumerMember:
        """The member without what another one holds: of two that were told the same, the first has it."""
        double = frozenset(each for each in member.held if self.holder(each) not in (None, member.id))
        if not double:
            return member
        return replace(member, assigned=member.assigned - double, revoking=member.revoking - double)

    # Changing

    def put(self, member: ConsumerMember) -> None:
        """A member is new, or has changed."""
        before = self._members.get(member.id)
        self._members[member.id] = member
        if before is None or before.wishes != member.wishes:
            self._change(RecordKind.MEMBER, member.id)
            if before is not None and before.instance_id != member.instance_id:
                self._forget_instance(before)
            if member.instance_id is not None:
                self._instances[member.instance_id] = member.id
        if before is None or before.progress != member.progress:
            self._change(RecordKind.CURRENT, member.id)
            self._hold(before.held if before is not None else NONE, member.held, member.id)

    def remove(self, member: ConsumerMember) -> None:
        """A member is gone, and holds nothing any more."""
        del self._members[member.id]
        self._forget_instance(member)
        self._hold(member.held, NONE, member.id)
        self._targets.pop(member.id, None)
        for kind in (RecordKind.MEMBER, RecordKind.TARGET, RecordKind.CURRENT):
            self._change(kind, member.id)

    def rename(self, member: ConsumerMember, member_id: str) -> ConsumerMember:
        """An instance goes on under a new id, with all that it has."""
        target = self.target(member.id)
        self.remove(member)
        renamed = replace(member, id=member_id)
        self.put(renamed)
        self.set_target(member_id, target)
        return renamed

    def set_target(self, member_id: str, target: Partitions) -> None:
        if self._targets.get(member_id) != target:
            self._targets[member_id] = target
            self._change(RecordKind.TARGET, member_id)

    def set_epochs(self, epoch: Epoch, target_epoch: int) -> None:
        if epoch != self.epoch:
            self.epoch = epoch
            self._change(RecordKind.EPOCH)
        if target_epoch != self.target_epoch:
            self.target_epoch = target_epoch
            self._change(RecordKind.TARGET_EPOCH)

    def set_patterns(self, patterns: Mapping[str, Matched]) -> None:
        changed = {each for each in {*patterns, *self.patterns} if patterns.get(each) != self.patterns.get(each)}
        self.patterns = dict(patterns)
        for each in changed:
            self._change(RecordKind.PATTERN, each)

    def change_all(self) -> None:
        """Nothing of this has been written yet."""
        for kind in (RecordKind.EPOCH, RecordKind.TARGET_EPOCH):
            self._change(kind)
        for member_id in self._members:
            for kind in (RecordKind.MEMBER, RecordKind.TARGET, RecordKind.CURRENT):
                self._change(kind, member_id)

    def _change(self, kind: RecordKind, name: str = "") -> None:
        self._unwritten.add((kind, name))
        self.revision += 1

    def _forget_instance(self, member: ConsumerMember) -> None:
        if member.instance_id is not None and self._instances.get(member.instance_id) == member.id:
            del self._instances[member.instance_id]

    def _hold(self, before: Partitions, now: Partitions, member_id: str) -> None:
        for each in before - now:
            if self._holders.get(each) == member_id:
                del self._holders[each]
        for each in now - before:
            assert self._holders.get(each) is None, "a partition must have one holder"
            self._holders[each] = member_id

    # Writing

    def take_changes(self) -> dict[bytes, bytes | None]:
        """Keys and values of all that has changed since this was last asked. What is gone comes first."""
        taken, self._unwritten = self._unwritten, set()
        ordered = sorted(taken, key=lambda change: (_ORDER.index(change[0]), change[1]))
        values = [(records.encode_key(self.group_id, *change), self._value(*change)) for change in ordered]
        gone = [(key, value) for key, value in reversed(values) if value is None]
        return dict([*gone, *((key, value) for key, value in values if value is not None)])

    def _value(self, kind: RecordKind, name: str) -> bytes | None:
        if kind is RecordKind.EPOCH:
            return records.encode_epoch(self.epoch)
        if kind is RecordKind.TARGET_EPOCH:
            return records.encode_target_epoch(self.target_epoch)
        if kind is RecordKind.PATTERN:
            return records.encode_pattern(self.patterns[name]) if name in self.patterns else None
        member = self._members.get(name)
        if member is None:
            return None
        if kind is RecordKind.MEMBER:
            return records.encode_member(member)
        if kind is RecordKind.TARGET:
            return records.encode_target(self.target(name))
        return records.encode_progress(member)

    def count_unsettled(self) -> int:
        """Members that do not have exactly their target yet."""
        return sum(not member.is_settled(self.target_epoch) for member in self._members.values())

    def frees_something_for(self, member: ConsumerMember) -> bool:
        """Whether a member that waits for others could get more by now."""
        if member.state is not MemberState.UNRELEASED:
            return False
        return any(self.holder(each) is None for each in self.target(member.id) - member.assigned)
