"""Compaction of one partition in the background: the last record of each key for compacted topics, and few large
segments instead of many small ones for all.

New segments are made in a thread while the partition is read and written; each is swapped in by one manifest commit. If
the segments it was made of are gone by then, it is dropped, and the next run starts again.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from functools import partial

from holdfast.log.errors import CommitOvertaken
from holdfast.log.partition.manifest_committer import ManifestCommitter
from holdfast.log.partition.state import PartitionState
from holdfast.log.settings import PartitionSettings
from holdfast.segment.compaction.keys import (
    KeyRules,
    clean_end_of,
    compact_keys,
    compactable_end,
    dirty_ratio,
    has_ripe_tombstones,
)
from holdfast.segment.compaction.merge import merge, small_runs
from holdfast.segment.compaction.rewrite import RewriteContext
from holdfast.segment.manifest.changes import Replace
from holdfast.segment.manifest.manifest import Manifest
from holdfast.types import Offset

log = logging.getLogger(__name__)


async def compact(partition: PartitionState, commits: ManifestCommitter) -> int:
    """Compact and merge what is worth it; the number of segments that were replaced."""
    partition.check_alive()
    changes = _key_changes(partition) if "compact" in partition.settings.cleanup else _merges(partition)
    replaced = 0
    while (change := await partition.ground.calls.run(next, changes, None)) is not None:
        try:
            await commits.replace_segments(change)
        except CommitOvertaken as failure:
            log.debug("%s: compaction begins again next time: %s", partition.home.path, failure)
            return replaced
        replaced += len(change.old)
    return replaced


def _workshop(partition: PartitionState) -> RewriteContext:
    ground = partition.ground
    place = ground.objects, partition.home, partition.manifests.epoch
    stepped = partial(ground.unreadable.add, "compaction")
    return RewriteContext(*place, ground.clock, ground.chance, ground.settings.segment_size_max, stepped)


def _key_changes(partition: PartitionState) -> Iterator[Replace]:
    manifest, settings = partition.manifest, partition.settings
    rules = KeyRules(settings.tombstone_retention_ms, lag_ms_min=settings.compaction_lag_ms_min)
    time = partition.ground.time
    now_ms = time.now_ms()
    end = compactable_end(manifest, now_ms, rules)
    if is_worth_it(manifest, settings, now_ms, end) or has_ripe_tombstones(manifest, now_ms, rules):
        yield from compact_keys(_workshop(partition), manifest, end, now_ms, rules, since_ms=time.stamp_ms())


def is_worth_it(manifest: Manifest, settings: PartitionSettings, now_ms: int, end: Offset) -> bool:
    """Whether enough is dirty below `end`, or anything for so long that it must not be any longer."""
    dirty = dirty_ratio(manifest, end)
    if dirty == 0:
        return False
    lag_ms_max = settings.compaction_lag_ms_max
    if lag_ms_max >= 0:
        first = manifest.segments.between(Offset(clean_end_of(manifest)), end)[0]
        if 0 <= first.min_timestamp < now_ms - lag_ms_max:
            return True
    return dirty >= settings.dirty_ratio_min


def asks_for_soon(partition: PartitionState, *, again: bool = False) -> bool:
    """Whether it has something to compact, and promises to do so before all partitions are looked at again.

    After a look that was too early only time makes it due, and only lags say when.
    """
    settings, broker = partition.settings, partition.ground.settings
    if "compact" not in settings.cleanup or not partition.is_alive:
        return False
    times = [settings.compaction_lag_ms_max, settings.compaction_lag_ms_min or -1]
    if not again:
        times.append(settings.flush_age_ms)
        if 0 <= settings.segment_size_max < broker.segment_size_max:
            times.append(0)
    if not any(0 <= each < broker.compaction_check_ms for each in times):
        return False
    return dirty_ratio(partition.manifest, partition.manifest.flushed) > 0


def _merges(partition: PartitionState) -> Iterator[Replace]:
    manifest = partition.manifest
    for run in small_runs(manifest, manifest.flushed, partition.ground.settings.segment_size_max):
        yield merge(_workshop(partition), run)
