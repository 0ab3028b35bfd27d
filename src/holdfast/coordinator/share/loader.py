"""What one internal partition of share groups holds: the last record of each key counts."""

from __future__ import annotations

from dataclasses import dataclass, field

from holdfast.coordinator.runtime.replay import newest_values
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
from holdfast.record.errors import stored


@dataclass(slots=True)
class LoadedShares:
    """Epochs of groups, and how far they are."""

    groups: dict[str, int] = field(default_factory=dict)
    partitions: dict[SharePartitionKey, Image] = field(default_factory=dict)


async def load(partition: PartitionLog, place: str) -> LoadedShares:
    """Read a whole internal partition."""
    loaded = LoadedShares()
    newest: dict[ShareKey, bytes] = await newest_values(partition, place, decode_key)
    with stored(place):
        for key, value in newest.items():
            if isinstance(key, ShareGroupKey):
                loaded.groups[key.group_id] = decode_group(value)
            else:
                loaded.partitions[key] = decode_image(value)
    return loaded
