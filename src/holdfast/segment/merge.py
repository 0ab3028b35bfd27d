"""Many small segments into few large ones. Batches are copied as they are; nothing is decoded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from holdfast.record.batch import read_header
from holdfast.segment.changes import Replace
from holdfast.segment.info import SegmentInfo
from holdfast.segment.manifest import Manifest
from holdfast.segment.rewrite import Rewrite, Workshop
from holdfast.segment.scan import open_segment, pieces
from holdfast.types import Offset


def small_runs(
    manifest: Manifest, end: Offset, segment_size_max: int, count_min: int = 8
) -> Iterator[tuple[SegmentInfo, ...]]:
    """Small neighbours below `end` that are worth merging: many of them, or enough for half a segment or more."""
    run: list[SegmentInfo] = []
    size = 0
    for info in manifest.segments:
        if info.end > end:
            break
        small = 2 * info.size < segment_size_max
        if run and (not small or size + info.size > segment_size_max):
            if _is_worth_it(run, size, segment_size_max, count_min):
                yield tuple(run)
            run, size = [], 0
        if small:
            run.append(info)
            size += info.size
    if _is_worth_it(run, size, segment_size_max, count_min):
        yield tuple(run)


def _is_worth_it(run: list[SegmentInfo], size: int, segment_size_max: int, count_min: int) -> bool:
    return len(run) >= count_min or (len(run) > 1 and 2 * size >= segment_size_max)


def merge(shop: Workshop, run: Sequence[SegmentInfo]) -> Replace:
    """New segments for a run of neighbours; the change to commit."""
    rewrite = Rewrite(shop, run[0].base, compacted=any(each.compacted for each in run))
    for info in run:
        segment = open_segment(shop.objects, info)
        rewrite.begin_segment(info, info.aborted, segment.producers())
        for piece in pieces(shop.objects, segment):
            rewrite.add(piece, read_header(piece).base_offset)
    return rewrite.finish(run[-1].end, None)
