"""From one leader to many: share groups move from their own internal topic to that of all groups."""

from __future__ import annotations

from collections import defaultdict

from holdfast.coordinator.runtime.internal_topic import InternalLogs, partition_of
from holdfast.coordinator.runtime.writer import PartitionWriter
from holdfast.coordinator.share.coordinator import ShareCoordinator
from holdfast.coordinator.share.records import (
    ShareGroupKey,
    ShareKey,
    SharePartitionKey,
    among_groups,
    encode_group,
    encode_image,
    encode_key,
)
from holdfast.errors import Corrupt
from holdfast.log.partition.partition import PartitionLog
from holdfast.record.records import Record


async def copy_among_groups(shares: ShareCoordinator, logs: InternalLogs, now_ms: int) -> None:
    """Write all share groups beside the others. Durable on return, and may be done again."""
    if (quarantined := shares.quarantined()) is not None:
        raise quarantined
    records: dict[int, list[Record]] = defaultdict(list)
    for group in shares:
        found = records[partition_of(group.id, len(logs))]
        found.append(_record(ShareGroupKey(group.id), encode_group(group.rules.epoch), now_ms))
        for home, each in group.partitions.items():
            found.append(_record(SharePartitionKey(group.id, home), encode_image(each.rules.image()), now_ms))
    failures: list[BaseException] = []
    for number, some in records.items():
        partition = logs[number]
        if not isinstance(partition, PartitionLog):
            raise partition if isinstance(partition, Corrupt) else Corrupt(f"internal partition {number} is not here")
        writer = PartitionWriter(partition)
        writer.append(some, lambda _, failure: failures.append(failure) if failure is not None else None)
        await writer.drain()
    if failures:
        raise failures[0]


def _record(key: ShareKey, value: bytes, now_ms: int) -> Record:
    return Record(among_groups(encode_key(key)), value, now_ms)
