"""Compaction of one partition in the background: the last record of each key for compacted topics, and few large
segments instead of many small ones for all.

New segments are made in a thread while the partition is read and written; each is swapped in by one manifest commit. If
the segments it was made of are gone by then, it is dropped, and the next run starts again.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING

from holdfast.log.errors import CommitOvertaken
from holdfast.segment.changes import Replace
from holdfast.segment.compact import KeyRules, compact_keys, dirty_ratio, has_ripe_tombstones
from holdfast.segment.merge import merge, small_runs
from holdfast.segment.rewrite import Workshop

if TYPE_CHECKING:
    from holdfast.log.partition import PartitionLog

log = logging.getLogger(__name__)

_DIRTY_MIN = 0.5  # Of the bytes: less is not worth a run.


async def compact(partition: PartitionLog, *, dirty_min: float = _DIRTY_MIN) -> int:
    """Compact and merge what is worth it; the number of segments that were replaced."""
    partition.check_alive()
    changes = _key_changes(partition, dirty_min) if "compact" in partition.settings.cleanup else _merges(partition)
    replaced = 0
    while (change := await partition.ground.calls.run(next, changes, None)) is not None:
        try:
            await partition.replace_segments(change)
        except CommitOvertaken as failure:
            log.debug("%s: compaction begins again next time: %s", partition.home.path, failure)
            return replaced
        replaced += len(change.old)
    return replaced


def _workshop(partition: PartitionLog) -> Workshop:
    ground = partition.ground
    size_max = ground.settings.segment_size_max
    return Workshop(ground.objects, partition.home, partition.manifests.epoch, ground.clock, ground.chance, size_max)


def _key_changes(partition: PartitionLog, dirty_min: float) -> Iterator[Replace]:
    manifest = partition.manifest
    rules = KeyRules(tombstone_retention_ms=partition.settings.tombstone_retention_ms)
    time = partition.ground.time
    now_ms = time.now_ms()
    if dirty_ratio(manifest, manifest.flushed) >= dirty_min or has_ripe_tombstones(manifest, now_ms, rules):
        yield from compact_keys(
            _workshop(partition), manifest, manifest.flushed, now_ms, rules, since_ms=time.stamp_ms()
        )


def _merges(partition: PartitionLog) -> Iterator[Replace]:
    manifest = partition.manifest
    for run in small_runs(manifest, manifest.flushed, partition.ground.settings.segment_size_max):
        yield merge(_workshop(partition), run)
