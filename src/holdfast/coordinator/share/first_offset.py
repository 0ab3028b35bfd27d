"""Where a share group begins in a partition that it has never read."""

from __future__ import annotations

from holdfast.coordinator.share.settings import ShareConfigs
from holdfast.io.clock import Clock
from holdfast.log.partition.partition import PartitionLog


async def first_offset(configs: ShareConfigs, data: PartitionLog, clock: Clock) -> int:
    """As the group's configs say."""
    if configs.reset.from_earliest:
        return data.marks.log_start
    end = data.last_stable if configs.is_committed else data.marks.high_watermark
    if configs.reset.ago_ms is None:
        return end
    found = await data.find_timestamp(max(clock.now_ms() - configs.reset.ago_ms, 0))
    return end if found is None else min(found[0], end)
