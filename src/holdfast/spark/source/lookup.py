"""The first offset of a time, found in segments by their indexes, and in the tail by asking the broker."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from holdfast.catalog.catalog import THREADS
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
from holdfast.types import TopicPartition

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

    with ThreadPoolExecutor(THREADS, thread_name_prefix="holdfast-lookup") as pool:
        found = dict(zip(wanted, pool.map(find, wanted), strict=True))
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
            unreadable: list[Unreadable] = []
            skip = telling(unreadable.append, at, segment.end)
            columns = Decoder(Column.NONE, place=segment.name, control=True, skip=skip).decode([batch[1]])
            for each in unreadable:  # As the broker says it: nobody knows more than the header.
                return each.start if each.start < end else None
            there = np.flatnonzero((columns.timestamp >= time_ms) & (columns.offset >= at))
            if len(there):
                offset = int(columns.offset[there[0]])
                return offset if offset < end else None
            at = batch[0].end_offset
    return None


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
