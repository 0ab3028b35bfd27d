"""What one internal partition holds: its records from the first to the last, of which the last of each key counts."""

from __future__ import annotations

import logging

from holdfast.coordinator.group.classic.image import GroupImage
from holdfast.coordinator.group.consumer.image import ConsumerImage
from holdfast.coordinator.group.offsets import OffsetTable
from holdfast.coordinator.group.records import (
    SHARE_KIND,
    ConsumerKey,
    GroupKey,
    OffsetKey,
    UnknownKey,
    apply_consumer_record,
    decode_group,
    decode_key,
    decode_offset,
)
from holdfast.coordinator.runtime.replay import replay
from holdfast.log.partition.partition import PartitionLog
from holdfast.record.batch import BatchHeader
from holdfast.record.records import Record, read_records
from holdfast.segment.aborted import AbortedIndex

log = logging.getLogger(__name__)


class Decided:
    """What became of transactions. Markers do not tell: compaction may let go of one before what it has committed."""

    def __init__(self, partition: PartitionLog) -> None:
        marks = partition.marks
        self._aborted = AbortedIndex(partition.aborted(marks.log_start, marks.log_end))
        self._open = partition.producers.open_transactions()

    def is_aborted(self, header: BatchHeader) -> bool:
        return self._aborted.holds(header)

    def is_open(self, header: BatchHeader) -> bool:
        start = self._open.get(header.producer_id)
        return header.is_transactional and start is not None and header.base_offset >= start


class LoadedGroups:
    """Groups and offsets, as the records so far have them."""

    def __init__(self, place: str, decided: Decided) -> None:
        self._place = place
        self._decided = decided
        self._skipped: dict[int, int] = {}  # Kinds of keys that are not understood, and how many of each.
        self.undecided: dict[int, set[str]] = {}  # Producer id → groups whose offsets its open transaction has written.
        self._groups: dict[str, bytes] = {}  # The last record of each classic group, as it is stored.
        self.images: dict[str, GroupImage] = {}
        self.consumer_images: dict[str, ConsumerImage] = {}
        self.keys: dict[str, set[bytes]] = {}  # Of all records that groups have, those of offsets left out.
        self.offsets: dict[str, OffsetTable] = {}

    @property
    def group_ids(self) -> set[str]:
        """All groups of which anything is left."""
        consumer = (group_id for group_id, image in self.consumer_images.items() if image.epoch is not None)
        return {*self.images, *consumer, *(group_id for group_id, table in self.offsets.items() if not table.is_unused)}

    def add(self, header: BatchHeader, batch: memoryview) -> None:
        """Apply one more batch; what was aborted is nothing."""
        if not self._decided.is_aborted(header):
            for record in read_records(batch):
                self._add_record(header, record)

    def end(self) -> None:
        """All batches were applied. Only what counts is looked into: what a later record replaces may be newer."""
        self.images = {group_id: decode_group(value) for group_id, value in self._groups.items()}
        self._groups.clear()

    def _add_record(self, header: BatchHeader, record: Record) -> None:
        key = decode_key(record.key)
        if isinstance(key, OffsetKey):
            self._add_offset(header, key, record)
        elif isinstance(key, GroupKey):
            self._add_group(key, record)
            self._note(key.group_id, record)
        elif isinstance(key, ConsumerKey):
            image = self.consumer_images.setdefault(key.group_id, ConsumerImage())
            apply_consumer_record(image, key, record.value)
            self._note(key.group_id, record)
        else:
            self._skip(key)

    def _note(self, group_id: str, record: Record) -> None:
        keys, key = self.keys.setdefault(group_id, set()), record.key or b""
        if record.value is None:
            keys.discard(key)
        else:
            keys.add(key)

    def _add_group(self, key: GroupKey, record: Record) -> None:
        if record.value is None:
            self._groups.pop(key.group_id, None)
        else:
            self._groups[key.group_id] = record.value

    def _add_offset(self, header: BatchHeader, key: OffsetKey, record: Record) -> None:
        table = self.offsets.setdefault(key.group_id, OffsetTable())
        value = None if record.value is None else decode_offset(record.value)
        at = record.offset or 0
        if value is not None and self._decided.is_open(header):
            table.apply_pending(header.producer_id, {key.partition: value}, at)
            self.undecided.setdefault(header.producer_id, set()).add(key.group_id)
        else:
            table.apply({key.partition: value}, at)

    def _skip(self, key: UnknownKey) -> None:
        if key.kind == SHARE_KIND:
            return  # Of share groups, which read them themselves.
        if key.kind not in self._skipped:
            log.warning("%s: records of kind %d are not understood, and skipped", self._place, key.kind)
        self._skipped[key.kind] = self._skipped.get(key.kind, 0) + 1


async def load(partition: PartitionLog, place: str) -> LoadedGroups:
    """Read a whole internal partition."""
    loaded = LoadedGroups(place, Decided(partition))
    await replay(partition, place, loaded.add)
    await partition.ground.calls.local(loaded.end)
    return loaded
