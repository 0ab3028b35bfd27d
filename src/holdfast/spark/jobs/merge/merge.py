"""Merge: records of many topics, partitions and clusters in one order, by (timestamp, source, partition, offset).

    1. survey    which times lie where, and a sample of keys: offsets and timestamps alone are decoded
    2. cut       ranges of keys of about equal size, from the sample
    3. write     one executor reads what can lie in a range, sorts it, and writes one file
    4. commit    all files at once; their names sort as their records do

No executor holds more than a range, and the driver holds a few numbers for every some megabytes. A slice is read once
for each range that its times touch: once or twice where times follow offsets, as they mostly do, and often where they
do not.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from holdfast.catalog.plan import Task, pack, weigh
from holdfast.catalog.store import Store
from holdfast.errors import Rejected, Unavailable
from holdfast.io.chance import Chance, SystemChance
from holdfast.io.clock import SystemClock
from holdfast.record.unreadable import SteppedOver
from holdfast.spark.jobs.archive.state import Placement
from holdfast.spark.jobs.commit_log import STAGING, CommitLog, LoggedCommit, Move, check_staged, clear_staging, publish
from holdfast.spark.jobs.merge.ranges import KEY, KeyRange, cut_ranges
from holdfast.spark.jobs.merge.source import MergeSource
from holdfast.spark.jobs.merge.survey import Slice, Survey, SurveyTask, survey_task
from holdfast.spark.jobs.merge.write import MergedFile, MergePart, MergeTask, merge_task
from holdfast.spark.jobs.run import OnDone, Unit, run_units

RANGE_SIZE = 64 * 1024 * 1024  # Bytes of segments.
RANGE_ROWS = 2_000_000


@dataclass(frozen=True)
class Merged:
    """What a run has written."""

    files: list[MergedFile] = field(default_factory=list)
    sources: dict[str, int] = field(default_factory=dict)  # Rows by source.
    unreadable: dict[str, SteppedOver] = field(default_factory=dict)  # What nobody can read, by partition: left out.
    was_there: bool = False  # A killed run had committed it already; now it is published.

    @property
    def rows(self) -> int:
        return sum(each.rows for each in self.files)


class AlreadyThere(Rejected):
    """The target holds something already."""

    def __init__(self, url: str, what: str) -> None:
        super().__init__(f"{url} holds {what} already: name an empty place")
        self.url = url


def merge(
    session: Any,
    sources: Sequence[MergeSource],
    target: Store,
    *,
    compression: str = "snappy",
    range_size: int = RANGE_SIZE,
    on_done: OnDone | None = None,
    chance: Chance | None = None,
) -> Merged:
    """Merge the sources into a place that is empty, or where a merge was killed."""
    log = CommitLog(target)
    if finished := _recover(session, log):
        return finished
    run = f"{(chance or SystemChance()).bits(64):016x}"
    slices, ranges, unreadable = _survey(session, sources, range_size, on_done)
    placement = Placement(target, f"{STAGING}{run}/", compression=compression)
    units = list(_units(sources, slices, ranges, placement))
    files = [each for each in run_units(session, units, merge_task, on_done) if each is not None]
    moves = [Move(each.name, each.name.rpartition("/")[2], each.size) for each in files]
    rows = _rows_by_source(sources, slices)
    if sum(rows.values()) != sum(each.rows for each in files):
        raise Unavailable("a source changed while it was merged (a record expired or was compacted): run it again")
    names = [each.name for each in sources]
    check_staged(target, {each.name: each.size for each in files})
    _publish(session, log, log.commit(0, moves, {"run": run, "sources": names}))
    return Merged(files, rows, unreadable)


def check_place(target: Store) -> None:
    """Raise AlreadyThere where nothing can be merged to: known without a session, and before one begins."""
    _left_behind(CommitLog(target))


def _left_behind(log: CommitLog) -> LoggedCommit | None:
    """What a merge that was killed has committed and not published; None where the place is empty."""
    newest = log.newest()
    if newest is None:
        if next(iter(each for each in log.store.open().list("") if not each.name.startswith("_")), None):
            raise AlreadyThere(log.store.url, "something")
        return None
    if "sources" not in newest.memory:
        raise AlreadyThere(log.store.url, "an archive")
    if not log.unpublished(newest):
        raise AlreadyThere(log.store.url, "a finished merge")
    return newest


def _recover(session: Any, log: CommitLog) -> Merged | None:
    newest = _left_behind(log)
    if newest is None:
        clear_staging(log.store, SystemClock().now_ms())
        return None
    _publish(session, log, newest)  # However long ago it was committed: its files are still in staging.
    return Merged(was_there=True)


def _publish(session: Any, log: CommitLog, commit: LoggedCommit) -> None:
    units = [Unit((log.store, each), 0, each.size) for each in log.unpublished(commit)]
    run_units(session, units, _publish_one)
    for each in commit.moves:
        log.store.open().delete(each.source)


def _publish_one(todo: tuple[Store, Move]) -> None:
    publish(*todo)


def _survey(
    session: Any, sources: Sequence[MergeSource], range_size: int, on_done: OnDone | None
) -> tuple[list[Slice], list[KeyRange], dict[str, SteppedOver]]:
    units = [
        Unit(
            SurveyTask(source.number, source.store, Task(tuple(pieces))), len(pieces), sum(each.size for each in pieces)
        )
        for source in sources
        for pieces in pack([weigh(each) for each in source.pieces])
    ]
    found = run_units(session, units, survey_task, on_done)
    slices = [each for survey in found for each in survey.slices]
    sample = np.concatenate([np.empty(0, KEY), *(survey.sample for survey in found)])
    weights = np.concatenate([np.empty(0), *(survey.weights for survey in found)])
    size, rows = sum(each.piece.size for each in slices), sum(each.rows for each in slices)
    count = max(math.ceil(size / range_size), math.ceil(rows / RANGE_ROWS))
    return slices, cut_ranges(sample, weights, count), _unreadable(sources, zip(units, found, strict=True))


def _unreadable(
    sources: Sequence[MergeSource], surveys: Iterable[tuple[Unit[SurveyTask], Survey]]
) -> dict[str, SteppedOver]:
    paths = {each.number: "".join(each.name.rpartition("::")[:2]) for each in sources}
    total: dict[str, SteppedOver] = {}
    for unit, survey in surveys:
        for where, stepped in survey.unreadable.items():
            if stepped.batches:
                name = paths[unit.task.source] + where
                total[name] = total.get(name, SteppedOver()) + stepped
    return total


def _units(
    sources: Sequence[MergeSource], slices: Sequence[Slice], ranges: Sequence[KeyRange], placement: Placement
) -> Iterator[Unit[MergeTask]]:
    """For each range, all slices that can hold a record of it, in the order of keys of one time."""
    ordered = sorted(slices, key=lambda each: (each.source, each.piece.home.partition, each.piece.start))
    first = np.array([each.first_time for each in ordered])
    last = np.array([each.last_time for each in ordered])
    stores = {each.number: (each.store, each.name) for each in sources}
    for number, wanted in enumerate(ranges):
        touched = np.flatnonzero((last >= wanted.start.timestamp) & (first <= wanted.end.timestamp))
        parts = tuple(MergePart(ordered[at], *stores[ordered[at].source]) for at in touched.tolist())
        if parts:
            size = sum(each.slice.piece.size for each in parts)
            yield Unit(MergeTask(number, wanted, parts, placement), len(parts), size)


def _rows_by_source(sources: Sequence[MergeSource], slices: Sequence[Slice]) -> dict[str, int]:
    rows = {each.number: 0 for each in sources}
    for each in slices:
        rows[each.source] += each.rows
    return {each.name: rows[each.number] for each in sources}
