"""What one internal partition of share groups holds: the last record of each key counts."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

from holdfast.coordinator.share.partition import Image
from holdfast.coordinator.share.records import (
    ShareGroupKey,
    ShareKey,
    SharePartitionKey,
    decode_group,
    decode_image,
    decode_key,
)
from holdfast.log.partition.partition import PartitionLog
from holdfast.record.batch import split
from holdfast.record.errors import stored
from holdfast.record.records import read_records

log = logging.getLogger(__name__)

_READ_SIZE_MAX = 1 << 20  # Bytes at a time, so that others get their turn.


@dataclass(slots=True)
class Loaded:
    """Epochs of groups, and how far they are."""

    groups: dict[str, int] = field(default_factory=dict)
    partitions: dict[SharePartitionKey, Image] = field(default_factory=dict)


async def load(partition: PartitionLog, place: str) -> Loaded:
    """Read a whole internal partition."""
    newest: dict[ShareKey, bytes] = {}
    offset = partition.marks.log_start
    while True:
        found = await partition.read(offset, None, _READ_SIZE_MAX)
        await partition.ground.calls.local(_note, newest, found.buffers, place)
        if found.end_reached:
            break
        offset = found.next_offset
    loaded = Loaded()
    for key, value in newest.items():
        if isinstance(key, ShareGroupKey):
            loaded.groups[key.group_id] = decode_group(value)
        else:
            loaded.partitions[key] = decode_image(value)
    return loaded


def _note(newest: dict[ShareKey, bytes], buffers: list[memoryview], place: str) -> None:
    with stored(place):
        for buffer in buffers:
            for header, batch in split(buffer):
                for record in () if header.is_control else read_records(batch):
                    key = decode_key(record.key)
                    if key is None:
                        log.warning("%s: the record at %s is not understood, and skipped", place, record.offset)
                    elif record.value is None:
                        newest.pop(key, None)
                    else:
                        newest[key] = record.value
