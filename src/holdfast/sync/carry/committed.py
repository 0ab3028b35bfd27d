"""What readers of committed records see of a fetch: the batches of aborted transactions are left out."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.client import FetchedBatches
from holdfast.record.batch import split
from holdfast.segment.aborted import AbortedIndex


def committed(fetched: FetchedBatches) -> Iterator[memoryview]:
    """The batches that count, as views of the answer; markers are among them."""
    if not fetched.aborted:
        yield fetched.records
        return
    aborted = AbortedIndex.of_fetch(fetched.aborted, (header for header, _ in split(fetched.records)))
    for header, batch in split(fetched.records):
        if header.is_control or not aborted.holds(header):
            yield batch


def end_of(fetched: FetchedBatches, start: int) -> int:
    """The offset behind the last batch, or `start` if there is none."""
    end = start
    for header, _ in split(fetched.records):
        end = max(end, header.end_offset)
    return end
