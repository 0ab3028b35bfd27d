"""What readers of committed records see of a fetch: the batches of aborted transactions are left out."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.client import Fetched
from holdfast.record.batch import split

_OPEN_END = 2**63 - 1


def committed(fetched: Fetched) -> Iterator[memoryview]:
    """The batches that count, as views of the answer; markers are among them."""
    if not fetched.aborted:
        yield fetched.records
        return
    aborted = _ranges(fetched)
    for header, batch in split(fetched.records):
        ranges = aborted.get(header.producer_id, ()) if header.is_transactional else ()
        if header.is_control or not any(start <= header.base_offset <= end for start, end in ranges):
            yield batch


def _ranges(fetched: Fetched) -> dict[int, list[tuple[int, int]]]:
    """The aborted transactions by producer: each goes to that producer's next marker."""
    markers = [(header.producer_id, header.base_offset) for header, _ in split(fetched.records) if header.is_control]
    found: dict[int, list[tuple[int, int]]] = {}
    for producer_id, first in fetched.aborted or ():
        ends = (offset for number, offset in markers if number == producer_id and offset >= first)
        found.setdefault(producer_id, []).append((first, min(ends, default=_OPEN_END)))
    return found


def end_of(fetched: Fetched, start: int) -> int:
    """The offset behind the last batch, or `start` if there is none."""
    end = start
    for header, _ in split(fetched.records):
        end = max(end, header.end_offset)
    return end
