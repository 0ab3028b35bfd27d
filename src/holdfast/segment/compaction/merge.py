"""Many small segments into few large ones. Batches are copied as they are; nothing is decoded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from holdfast.record.batch import read_header
from holdfast.segment.compaction.rewrite import Rewrite, RewriteContext
from holdfast.segment.manifest.changes import Replace
from holdfast.segment.manifest.info import SegmentInfo
from holdfast.segment.manifest.manifest import Manifest
from holdfast.segment.scan import open_segment, pieces
from holdfast.types import Offset

COUNT_MIN = 8
GROWTH_MIN = 6.0


def small_runs(
    manifest: Manifest,
    end: Offset,
    segment_size_max: int,
    count_min: int = COUNT_MIN,
    growth_min: float = GROWTH_MIN,
) -> Iterator[tuple[SegmentInfo, ...]]:
    """Small neighbours below `end` that are worth merging."""
    found: list[SegmentInfo] = []
    for info in manifest.segments:
        if info.end > end:
            break
        found.append(info)
    for run in runs_worth_it([each.size for each in found], segment_size_max, count_min, growth_min):
        yield tuple(found[run.start : run.stop])


def runs_worth_it(
    sizes: Sequence[int], segment_size_max: int, count_min: int = COUNT_MIN, growth_min: float = GROWTH_MIN
) -> Iterator[range]:
    """Which neighbours of these sizes to merge.

    A run is worth it when it makes half a segment or more, which then stays as it is; or when it is of `count_min` or
    more and `growth_min` times as large as its largest member, or half of that where there are many. So a byte is
    rewritten only to come into a segment that is larger by a factor: about five times between 2 kB and 64 MiB, however
    often it is looked at.
    """
    start = 0
    while start < len(sizes):
        end = _run_end(sizes, start, segment_size_max, count_min, growth_min)
        if end is not None:
            yield range(start, end)
        start = start + 1 if end is None else end


def _run_end(sizes: Sequence[int], start: int, segment_size_max: int, count_min: int, growth_min: float) -> int | None:
    """Where the longest run ends that begins here and is worth it."""
    total = largest = 0
    found = None
    for number in range(start, len(sizes)):
        size = sizes[number]
        if 2 * size >= segment_size_max or (total and total + size > segment_size_max):
            break
        total, largest = total + size, max(largest, size)
        count = number + 1 - start
        growth = max(growth_min / 2, growth_min * count_min / count)
        is_many = count >= count_min and total >= growth * largest
        if is_many or (count > 1 and 2 * total >= segment_size_max):
            found = number + 1
    return found


def merge(shop: RewriteContext, run: Sequence[SegmentInfo]) -> Replace:
    """New segments for a run of neighbours; the change to commit."""
    rewrite = Rewrite(shop, run[0].base, compacted=any(each.compacted for each in run))
    for info in run:
        segment = open_segment(shop.objects, info)
        rewrite.begin_segment(info, info.aborted, segment.producers())
        for piece in pieces(shop.objects, segment):
            rewrite.add(piece, read_header(piece).base_offset)
    return rewrite.finish(run[-1].end, None)
