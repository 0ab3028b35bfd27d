"""Where each offset of a table is read: below an archive's end from its files, from there on from the log.

The archive is looked at first, and the log after it, so the log reaches at least as far. Retention may have taken what
was archived in between: then both are looked at again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from holdfast.catalog.catalog import Catalog, open_catalog
from holdfast.catalog.errors import DataLost
from holdfast.errors import Rejected
from holdfast.io.clock import SystemClock
from holdfast.spark.places.archived import Archive, ArchivedState, look
from holdfast.spark.places.options import ARCHIVE, TableOptions
from holdfast.spark.places.shape import TableShape, archive_of, decoding_for, missing_in, shape_of
from holdfast.spark.source.bounds import Ago, Since
from holdfast.spark.source.options import ReadOptions
from holdfast.spark.source.ranges import after_loss, ranges_of
from holdfast.spark.source.subscription import Matching, is_chosen
from holdfast.spark.source.view import View, whole
from holdfast.spark.source.view import look as look_log
from holdfast.types import OffsetRange, TopicPartition

_LOOKS = 3

Ranges = dict[TopicPartition, OffsetRange]


@dataclass(frozen=True)
class TableLook:
    """An archive beside its topics, as they are now."""

    catalog: Catalog
    archive: Archive | None
    state: ArchivedState
    shape: TableShape


@dataclass(frozen=True)
class TableSplit:
    """What is read, and where."""

    look: TableLook
    view: View
    archived: Ranges  # By files; empty ranges are left out,
    live: Ranges  # and from the log, up to the tail.

    @property
    def is_whole(self) -> bool:
        """Whether the files hold nothing that is not wanted."""
        ends = ends_of(self.look)
        wanted = {where: OffsetRange(0, end) for where, end in ends.items() if end}
        return wanted == self.archived


def look_at(options: ReadOptions, catalog: Catalog | None = None) -> TableLook:
    """Which table it is, and how far its archive is."""
    table = options.table or TableOptions()
    _check(options)
    if catalog is None:
        chosen = lambda topic: is_chosen(options.subscription, topic)  # noqa: E731
        catalog = open_catalog(options.path, options.store, topics=chosen, rounds=options.kafka is None)
    archive = archive_of(table, catalog)
    homes = [each.home for each in catalog.manifests.values()]
    state = ArchivedState() if archive is None else look(archive, catalog.topics, homes)
    decoding = decoding_for(table, catalog, archive)
    return TableLook(catalog, archive, state, shape_of(decoding, state, include_headers=options.include_headers))


def split(options: ReadOptions, names: Sequence[str] | None = None, catalog: Catalog | None = None) -> TableSplit:
    """The ranges of a read of these columns, or of all, from files and from the log; by a look at the log that is at
    hand, if there is one."""
    for looks_left in reversed(range(_LOOKS)):
        there = look_at(options, catalog)
        chosen = names or list(there.shape.columns)
        if missing_in(there.state, chosen, there.shape.decoding):
            there = replace(there, state=replace(there.state, files=(), ends={}))  # Only the log has them.
        view = _view(there, options)
        gaps = _gaps(view, ends_of(there))
        if not gaps or not looks_left:
            break
        catalog = view.catalog.refresh()
    for where, gap in gaps.items():
        why = f"the archive ends at {gap.start}, and the log starts at {gap.end}"
        after_loss(DataLost(str(where), *gap, why), gap.end, options)
    return _split(there, view, options)


def _view(there: TableLook, options: ReadOptions) -> View:
    """The log behind the archive. What was archived was stored before: where the look at the log is older, it is made
    again."""
    view = whole(look_log(there.catalog, options), options)
    if any(end > view.marks[where].stored for where, end in ends_of(there).items() if where in view.marks):
        view = whole(look_log(there.catalog.refresh(), options), options)
    return view


def ends_of(there: TableLook) -> Mapping[TopicPartition, int]:
    """Where the archive ends, for those partitions that it has."""
    found = {where: there.state.ends.get(each.home) for where, each in there.catalog.manifests.items()}
    return {where: end for where, end in found.items() if end is not None}


def _gaps(view: View, ends: Mapping[TopicPartition, int]) -> Ranges:
    return {
        where: OffsetRange(ends[where], marks.log_start)
        for where, marks in view.marks.items()
        if ends.get(where, marks.log_start) < marks.log_start
    }


def _split(there: TableLook, view: View, options: ReadOptions) -> TableSplit:
    ends = ends_of(there)
    marks = {where: each._replace(log_start=0) if where in ends else each for where, each in view.marks.items()}
    wanted = ranges_of(replace(view, marks=marks), options, SystemClock())
    archived, live = {}, {}
    for where, (start, end) in wanted.items():
        middle = ends.get(where, start)
        archived[where] = OffsetRange(start, min(end, middle))
        live[where] = OffsetRange(max(start, middle, min(end, view.marks[where].log_start)), end)
    return TableSplit(there, view, _filled(archived), _filled(live))


def _filled(ranges: Ranges) -> Ranges:
    return {where: each for where, each in ranges.items() if each.start < each.end}


def _check(options: ReadOptions) -> None:
    """What an archive cannot answer is said, before anything is read."""
    if options.table is None or options.table.archive is None:
        return
    if isinstance(options.subscription, Matching):
        raise Rejected(f"{ARCHIVE} goes with subscribe or assign: name the topics")
    if not options.committed:
        raise Rejected(f"{ARCHIVE} holds committed records only: leave out kafka.isolation.level")
    if isinstance(options.starting, Since | Ago) or isinstance(options.ending, Since | Ago):
        raise Rejected(
            f"with {ARCHIVE} a read starts and ends at offsets: filter by timestamp instead, and files of other times "
            "are left out"
        )
