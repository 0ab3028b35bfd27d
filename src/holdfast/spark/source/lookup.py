"""The first offset of a time, found in segments by their indexes, in rounds, and in the tail by asking the broker."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from holdfast.catalog.catalog import THREADS
from holdfast.catalog.plan import Task, pieces_of
from holdfast.catalog.read import chunks_of
from holdfast.client.client import Client
from holdfast.io.objects import NotFound
from holdfast.record.columnar.columns import Column
from holdfast.record.columnar.decode import Decoder
from holdfast.record.unreadable import Unreadable, telling
from holdfast.segment.cached.blocks import BlockCache
from holdfast.segment.cached.read import SegmentReader
from holdfast.segment.manifest.manifest import Manifest
from holdfast.segment.missing import follow
from holdfast.spark.source.options import ReadOptions
from holdfast.spark.source.view import View
from holdfast.types import Buffer, OffsetRange, TopicPartition

_CACHE_SIZE = 64 * 1024 * 1024


def offsets_at(
    view: View, wanted: Mapping[TopicPartition, int], options: ReadOptions
) -> dict[TopicPartition, int | None]:
    """For each partition the first readable offset whose record has this time or a later one; None if none has."""
    objects = view.catalog.store.open()
    reader = SegmentReader(BlockCache(objects, _CACHE_SIZE))

    def find(where: TopicPartition) -> int | None:
        manifest = view.catalog.manifest(where)
        while True:
            try:
                return _in_segments(reader, manifest, wanted[where], view.marks[where].stored)
            except (
                NotFound
            ) as gone:  # Expired or replaced, so that this ends: a manifest that lists it says it is lost.
                missing = next((each for each in manifest.segments if each.name == gone.name), None)
                if missing is None:
                    raise
                manifest = follow(objects, manifest.home, missing).manifest

    def find_anywhere(where: TopicPartition) -> int | None:
        found = find(where)
        return _in_rounds(view, where, wanted[where]) if found is None else found

    with ThreadPoolExecutor(THREADS, thread_name_prefix="holdfast-lookup") as pool:
        found = dict(zip(wanted, pool.map(find_anywhere, wanted), strict=True))
    left = [where for where, offset in found.items() if offset is None and _has_tail(view, where)]
    return found | _in_tails(view, {where: wanted[where] for where in left}, options)


def _has_tail(view: View, where: TopicPartition) -> bool:
    return view.marks[where].end > view.marks[where].stored


def _in_segments(reader: SegmentReader, manifest: Manifest, time_ms: int, end: int) -> int | None:
    at = int(manifest.log_start)
    for segment in manifest.segments.between(at, end):
        at = max(at, segment.base)
        while at < min(end, segment.end) and segment.max_timestamp >= time_ms:
            batch = reader.find_timestamp(segment, time_ms, at)
            if batch is None:
                break
            offset = _first([batch[1]], segment.name, OffsetRange(at, segment.end), time_ms)
            if offset is not None:
                return offset if offset < end else None
            at = batch[0].end_offset
    return None


def _in_rounds(view: View, where: TopicPartition, time_ms: int) -> int | None:
    """The same in what is in no segment yet: there is no index, so all of it is read."""
    end = view.marks[where].stored
    start = min(int(view.catalog.manifest(where).flushed), end)
    pieces = pieces_of(view.catalog, where, OffsetRange(start, end), committed=False)
    for chunk in chunks_of(view.catalog.store.open(), Task(tuple(pieces))):
        offset = _first([chunk.data], chunk.piece.name, OffsetRange(start, end), time_ms)
        if offset is not None:
            return offset
    return None


def _first(batches: Iterable[Buffer], place: str, offsets: OffsetRange, time_ms: int) -> int | None:
    """The first of these offsets whose record has this time or a later one."""
    unreadable: list[Unreadable] = []
    skip = telling(unreadable.append, *offsets)
    columns = Decoder(Column.NONE, place=place, control=True, skip=skip).decode(batches)
    inside = (columns.offset >= offsets.start) & (columns.offset < offsets.end)
    there = columns.offset[np.flatnonzero((columns.timestamp >= time_ms) & inside)[:1]]
    # As the broker says it: nobody knows more than the header of what cannot be read.
    return min([*(each.start for each in unreadable), *map(int, there)], default=None)


def _in_tails(
    view: View, wanted: Mapping[TopicPartition, int], options: ReadOptions
) -> dict[TopicPartition, int | None]:
    if not wanted:
        return {}
    assert options.kafka is not None  # Who has not asked a broker knows of no tails.
    with Client(options.kafka, "holdfast-spark") as client:
        times = {(topic, number): each for (topic, number), each in wanted.items()}
        found = client.list_offsets(times, committed=options.committed)
    ends = {where: view.marks[where].end for where in found}
    return {where: each.offset if 0 <= each.offset < ends[where] else None for where, each in found.items()}
