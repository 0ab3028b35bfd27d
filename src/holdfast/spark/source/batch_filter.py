"""Which batches of a chunk are decoded at all: by their headers, before anything is decompressed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from holdfast.record.batch import BatchHeader, split
from holdfast.segment.manifest.info import Aborted, RecordTimes
from holdfast.spark.source.times import Times

ByProducer = dict[int, list[Aborted]]


def sift(
    data: memoryview, times: Times, aborted: Iterable[Aborted], known: RecordTimes | None = None
) -> Iterator[memoryview]:
    """The batches that can hold a wanted record, as views of the data, neighbours together.

    What headers say of times counts only where it is known to be true.
    """
    by_producer = _by_producer(aborted)
    if not by_producer and not (times.is_bounded and known):
        yield data
        return
    start = end = position = 0
    for header, _ in split(data):
        here = position
        position += header.size
        if _is_aborted(header, by_producer) or (known and not _may_hold(header, times, known)):
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


def _by_producer(aborted: Iterable[Aborted]) -> ByProducer:
    found: ByProducer = {}
    for each in aborted:
        found.setdefault(each.producer_id, []).append(each)
    return found


def _is_aborted(header: BatchHeader, by_producer: ByProducer) -> bool:
    """Whether a batch belongs to an aborted transaction: those of one producer never overlap."""
    if not header.is_transactional:
        return False
    transactions = by_producer.get(header.producer_id, ())
    return any(each.first_offset <= header.base_offset <= each.last_offset for each in transactions)
