"""What one internal partition of share groups holds: the last record of each key counts."""

from __future__ import annotations

from dataclasses import dataclass, field

from holdfast.coordinator.runtime.replay import newest_values
from holdfast.coordinator.share.records import (
    ShareGroupKey,
    ShareKey,
    SharePartitionKey,
    StoredState,
    decode_group,
    decode_key,
    decode_key_among_groups,
    decode_state,
    is_among_groups,
)
from holdfast.log.partition.partition import PartitionLog
from holdfast.record.errors import stored


@dataclass(slots=True)
class LoadedShares:
    """Epochs of groups, and how far they are."""

    groups: dict[str, int] = field(default_factory=dict)
    partitions: dict[SharePartitionKey, StoredState] = field(default_factory=dict)


async def load(partition: PartitionLog, place: str, *, among_groups: bool = False) -> LoadedShares:
    """Read a whole internal partition; `among_groups` are others' records, too."""
    loaded = LoadedShares()
    newest: dict[ShareKey, bytes]
    if among_groups:
        newest = await newest_values(partition, place, decode_key_among_groups, is_among_groups)
    else:
        newest = await newest_values(partition, place, decode_key)
    with stored(place):
        for key, value in newest.items():
            if isinstance(key, ShareGroupKey):
                loaded.groups[key.group_id] = decode_group(value)
            else:
                loaded.partitions[key] = decode_state(value)
    return loaded
