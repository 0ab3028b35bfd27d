"""Archive: what was stored since the last run goes into a table, exactly once.

1. recover   finish what a killed run had committed
2. plan      from where the archive ends to the last stable offset of each partition
3. write     executors decode segments and write Parquet files that nobody sees yet
4. commit    files and offsets together, by the driver; of two runs at the same time one wins, the other has done
             nothing
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from holdfast.catalog.catalog import Catalog
from holdfast.catalog.plan import plan
from holdfast.io.chance import Chance, SystemChance
from holdfast.record.unreadable import SteppedOver
from holdfast.spark.jobs.archive.errors import ArchiveAhead, ExpiredFirst
from holdfast.spark.jobs.archive.kept_decodings import keep_decoding
from holdfast.spark.jobs.archive.rows import dead_letter_schema, record_schema
from holdfast.spark.jobs.archive.state import DEAD_LETTERS, RECORDS, ArchiveTarget, NewFile
from holdfast.spark.jobs.archive.values import ValueDecoding
from holdfast.spark.jobs.archive.write import ArchiveTask, archive_task
from holdfast.spark.jobs.commit_log import check_staged
from holdfast.spark.jobs.run import OnDone, Unit, parallelism_of, run_units
from holdfast.types import OffsetRange, PartitionId, TopicPartition

TASK_SIZE = 64 * 1024 * 1024


@dataclass(frozen=True)
class Archived:
    """What a run has added."""

    ranges: dict[TopicPartition, OffsetRange]  # The offsets that were looked at.
    files: list[NewFile] = field(default_factory=list)
    skipped: dict[TopicPartition, int] = field(default_factory=dict)  # Offsets that expired before they were archived.
    unreadable: dict[TopicPartition, SteppedOver] = field(
        default_factory=dict
    )  # What nobody can read, and is left out.

    def rows(self, table: str = RECORDS) -> int:
        return sum(each.rows for each in self.files if each.table == table)

    @property
    def is_commit(self) -> bool:
        """Whether there was anything new."""
        return any(each.start < each.end for each in self.ranges.values())

    @property
    def newest_ms(self) -> int | None:
        """The greatest timestamp of what was added."""
        return max((each.bounds["timestamp"][1] for each in self.files), default=None)

    @property
    def dead_letters(self) -> int:
        return self.rows(DEAD_LETTERS)

    @property
    def size(self) -> int:
        return sum(each.size for each in self.files)


def archive(
    session: Any,
    catalog: Catalog,
    target: ArchiveTarget,
    *,
    decoding: ValueDecoding | None = None,
    skip_expired: bool = False,
    task_size: int = TASK_SIZE,
    on_done: OnDone | None = None,
    chance: Chance | None = None,
) -> Archived:
    """Archive all topics of a catalog."""
    target.recover()
    before = target.progress()
    homes = {where: manifest.home for where, manifest in catalog.manifests.items()}
    ranges, skipped = _ranges(catalog, before.records, homes, skip_expired=skip_expired)
    result = Archived(ranges, skipped=skipped)
    if not result.is_commit:
        return result
    run = f"{(chance or SystemChance()).bits(64):016x}"
    placement = target.placement(run)
    if decoding is not None and decoding.has_aliases:
        decoding = decoding.under(target.columns())
    schemas = {RECORDS: record_schema(placement, decoding)}
    if decoding is not None:
        schemas[DEAD_LETTERS] = dead_letter_schema(placement)
    target.check(schemas)
    parallelism = parallelism_of(session)
    tasks = plan(catalog, ranges, min_partitions=_least(ranges, parallelism), split_size=task_size)
    units = [
        Unit(
            ArchiveTask(
                number,
                catalog.store,
                task,
                placement,
                decoding,
                before.dead_letters,
                skip_expired=skip_expired,
            ),
            len(task.pieces),
            task.size,
        )
        for number, task in enumerate(tasks)
    ]
    names = {str(where): where for where in ranges}
    for made in run_units(session, units, archive_task, on_done):
        result.files.extend(made.files)
        for where, count in made.skipped.items():  # They expired while we were at work.
            skipped[names[where]] = skipped.get(names[where], 0) + count
        for where, stepped in made.unreadable.items():
            if stepped.batches:
                result.unreadable[names[where]] = result.unreadable.get(names[where], SteppedOver()) + stepped
    check_staged(placement.store, {each.name: each.size for each in result.files})
    if decoding is not None:
        for topic in sorted({where.topic for where in ranges}):
            keep_decoding(placement.store, topic, decoding)
    after = {homes[where]: each.end for where, each in ranges.items()}
    target.commit(run, result.files, before, after, schemas)
    return result


def _ranges(
    catalog: Catalog, done: Any, homes: dict[TopicPartition, PartitionId], *, skip_expired: bool
) -> tuple[dict[TopicPartition, OffsetRange], dict[TopicPartition, int]]:
    ranges, skipped = {}, {}
    for where in sorted(catalog.manifests.keys() | catalog.missing):
        readable = catalog.readable(where)
        start = done.get(homes[where], readable.start)
        if start < readable.start:
            if not skip_expired:
                raise ExpiredFirst(str(where), start, readable.start, f"the log starts at {readable.start} now")
            skipped[where] = readable.start - start
        elif start > readable.end:
            raise ArchiveAhead(str(where), start, readable.end)
        ranges[where] = OffsetRange(max(start, readable.start), readable.end)
    return ranges, skipped


def _least(ranges: dict[TopicPartition, OffsetRange], parallelism: int) -> int:
    """Enough tasks for all cores, unless there is very little to do."""
    return min(parallelism, sum(each.end - each.start for each in ranges.values()) // 10_000)


def topics_of(files: Sequence[NewFile]) -> dict[str, int]:
    """Rows by topic."""
    found: dict[str, int] = {}
    for each in files:
        if each.table == RECORDS:
            found[each.topic] = found.get(each.topic, 0) + each.rows
    return found
