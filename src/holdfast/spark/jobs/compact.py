"""Compaction on Spark: the broker's own functions, over many partitions and runs of segments at once.

Every change is committed where it was made, by the rule of put-if-absent, as the broker commits its own; so a job may
take as long as it likes, and be killed at any moment: what is committed is right, and what is not is collected. The
broker serves meanwhile. It meets a foreign version of the manifest when it commits the next one, loads it, and goes on;
who reads an old segment can finish, because segments go only after a grace.

A change that does not fit any more, because somebody else has replaced the same segments, is dropped, and the partition
is planned again. Compaction by key takes one partition as one task: the last record of a key may be anywhere in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from threading import Event
from typing import Any, Literal

from holdfast.catalog.catalog import Catalog
from holdfast.catalog.store import Store, cluster_of
from holdfast.cluster.metadata import Topic
from holdfast.errors import Fenced, Rejected
from holdfast.io.chance import SystemChance
from holdfast.io.clock import SystemClock
from holdfast.io.versions import VersionRetries
from holdfast.measure import UnreadableCounts
from holdfast.segment.compaction.keys import KeyRules, compact_keys, compactable_end, dirty_ratio, has_ripe_tombstones
from holdfast.segment.compaction.merge import merge, small_runs
from holdfast.segment.compaction.rewrite import RewriteContext
from holdfast.segment.errors import DoesNotFit
from holdfast.segment.manifest.changes import Replace
from holdfast.segment.manifest.info import SegmentInfo
from holdfast.segment.manifest.log import Contended, ManifestLog
from holdfast.segment.manifest.manifest import Manifest
from holdfast.segment.names import new_tag
from holdfast.spark.jobs.run import OnDone, Unit, run_units
from holdfast.types import PartitionId, TopicPartition

SEGMENT_SIZE = 64 * 1024 * 1024
TRIES = 5  # Of a change that others were quicker with.

Cleanup = Literal["compact", "delete"]


@dataclass(frozen=True)
class CompactTask:
    """One partition by key, or one run of its segments."""

    store: Store
    where: TopicPartition
    home: PartitionId
    segment_size: int
    rules: KeyRules | None  # None: only merge.
    run: tuple[str, ...] = ()  # The segments to be merged.


@dataclass(frozen=True)
class Compacted:
    """What became of it."""

    where: TopicPartition
    segments_before: int = 0
    segments_after: int = 0
    bytes_before: int = 0
    bytes_after: int = 0
    records_before: int = 0
    records_after: int = 0
    conflicts: int = 0
    unreadable: int = 0  # Batches that stay as they are, because nobody can read them.

    def __add__(self, other: Compacted) -> Compacted:
        mine, theirs = vars(self), vars(other)
        return Compacted(self.where, **{name: mine[name] + theirs[name] for name in mine if name != "where"})


def compact(
    session: Any,
    catalog: Catalog,
    *,
    cleanup: Cleanup | None = None,
    segment_size: int = SEGMENT_SIZE,
    count_min: int = 2,
    on_done: OnDone | None = None,
) -> list[Compacted]:
    """Compact all partitions of a catalog; `cleanup` overrules what the topics say."""
    units = list(_units(catalog, cleanup, segment_size, count_min))
    totals = {where: Compacted(where) for where in catalog.manifests}
    for done in run_units(session, units, compact_task, on_done):
        totals[done.where] += done
    return [each for _, each in sorted(totals.items())]


def _units(catalog: Catalog, cleanup: Cleanup | None, segment_size: int, count_min: int) -> Iterator[Unit[CompactTask]]:
    for where, manifest in sorted(catalog.manifests.items()):
        rules = rules_of(catalog.topics[where.topic], cleanup)
        if rules is not None:
            if is_worth_it(manifest, rules):
                task = CompactTask(catalog.store, where, manifest.home, segment_size, rules)
                yield Unit(task, len(manifest.segments), sum(each.size for each in manifest.segments))
            continue
        for run in small_runs(manifest, manifest.flushed, segment_size, count_min, growth_min=1):
            names = tuple(each.name for each in run)
            task = CompactTask(catalog.store, where, manifest.home, segment_size, None, names)
            yield Unit(task, len(run), sum(each.size for each in run))


def is_worth_it(manifest: Manifest, rules: KeyRules) -> bool:
    """Whether there is anything that compaction by key would let go. However little: so max.compaction.lag.ms holds."""
    now_ms = SystemClock().now_ms()
    return dirty_ratio(manifest, compactable_end(manifest, now_ms, rules)) > 0 or has_ripe_tombstones(
        manifest, now_ms, rules
    )


def rules_of(topic: Topic, cleanup: Cleanup | None) -> KeyRules | None:
    """How a topic is compacted by key; None if it is not. A broker's own defaults are not in the store: say them."""
    policy = cleanup or topic.configs.get("cleanup.policy") or "delete"
    if "compact" not in [each.strip() for each in policy.split(",")]:
        return None
    fields = {"delete.retention.ms": "tombstone_retention_ms", "min.compaction.lag.ms": "lag_ms_min"}
    return KeyRules(**{field: int(topic.configs[name]) for name, field in fields.items() if name in topic.configs})


def compact_task(task: CompactTask) -> Compacted:
    """Compact, and commit. A partition whose leader or segments have changed meanwhile is looked at again."""
    done = Compacted(task.where)
    for _ in range(TRIES):
        log = _open(task)
        try:
            unreadable = UnreadableCounts()
            for change in _changes(task, log.manifest, unreadable):
                old = _infos(log.manifest, change)
                log.commit(change)
                done += _gain(task.where, old, change)
            return done + Compacted(task.where, unreadable=unreadable.by["compaction"])
        except (DoesNotFit, Contended, Fenced):
            done += Compacted(task.where, conflicts=1)
            if task.rules is None:
                return done  # The run is another one by now: the next job finds it.
    raise Rejected(f"{task.where} changed under {TRIES} tries to compact it: try again when less is written to it")


def _open(task: CompactTask) -> ManifestLog:
    chance = SystemChance()
    patience = VersionRetries(SystemClock(), chance, Event().wait)
    writer = f"spark-{new_tag(chance)}"
    objects = task.store.open()
    return ManifestLog.open(objects, task.home, cluster_id=cluster_of(task.store), writer=writer, patience=patience)


def _changes(task: CompactTask, manifest: Manifest, unreadable: UnreadableCounts) -> Iterator[Replace]:
    clock, chance = SystemClock(), SystemChance()
    stepped = partial(unreadable.add, "compaction")
    shop = RewriteContext(task.store.open(), task.home, manifest.epoch, clock, chance, task.segment_size, stepped)
    if task.rules is not None:
        now_ms = clock.now_ms()
        yield from compact_keys(shop, manifest, compactable_end(manifest, now_ms, task.rules), now_ms, task.rules)
        return
    by_name: Mapping[str, SegmentInfo] = {each.name: each for each in manifest.segments}
    if all(name in by_name for name in task.run):
        yield merge(shop, [by_name[name] for name in task.run])


def _infos(manifest: Manifest, change: Replace) -> list[SegmentInfo]:
    names = set(change.old)
    return [each for each in manifest.segments if each.name in names]


def _gain(where: TopicPartition, old: list[SegmentInfo], change: Replace) -> Compacted:
    return Compacted(
        where,
        len(old),
        len(change.new),
        sum(each.size for each in old),
        sum(each.size for each in change.new),
        sum(each.record_count for each in old),
        sum(each.record_count for each in change.new),
    )
