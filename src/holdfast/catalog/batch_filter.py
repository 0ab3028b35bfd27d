"""Which batches of a chunk are decoded at all: by their headers, before anything is decompressed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from holdfast.catalog.times import Times
from holdfast.record.batch import BatchHeader, split
from holdfast.segment.aborted import AbortedIndex
from holdfast.segment.manifest.info import Aborted, RecordTimes


def sift(
    data: memoryview, times: Times, aborted: Iterable[Aborted], known: RecordTimes | None = None
) -> Iterator[memoryview]:
    """The batches that can hold a wanted record, as views of the data, neighbours together.

    What headers say of times counts only where it is known to be true.
    """
    taken_back = AbortedIndex(aborted)
    if not taken_back and not (times.is_bounded and known):
        yield data
        return
    start = end = position = 0
    for header, _ in split(data):
        here = position
        position += header.size
        if taken_back.holds(header) or (known and not _may_hold(header, times, known)):
            continue
        if here != end:
            if end > start:
                yield data[start:end]
            start = here
        end = position
    if end > start:
        yield data[start:end]


def _may_hold(header: BatchHeader, times: Times, known: RecordTimes) -> bool:
    if header.max_timestamp < times.start:
        return False
    lowest = header.max_timestamp if header.is_log_append_time else header.base_timestamp
    return not known.by_batch or lowest < times.end
