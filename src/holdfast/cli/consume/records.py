"""The records in a fetched answer: those from an offset on, without markers and without aborted ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from holdfast.record.batch import BatchHeader, check_crc, read_header
from holdfast.record.errors import UNREADABLE
from holdfast.record.layout import HEADER_SIZE
from holdfast.record.records import Record, read_records
from holdfast.record.unreadable import Unreadable
from holdfast.segment.aborted import AbortedIndex
from holdfast.types import Buffer


class AbortedProducer(NamedTuple):
    """A producer whose records from this offset on are to be dropped until its marker."""

    producer_id: int
    first_offset: int


class ConsumedRecord(NamedTuple):
    """What an answer holds."""

    records: list[Record]
    next_offset: int  # Where to read on.
    unreadable: list[Unreadable]


def find_records(data: Buffer, offset: int, aborted: Iterable[AbortedProducer] = ()) -> ConsumedRecord:
    """The records from `offset` on; an answer begins with the whole batch that has it."""
    view = memoryview(data)
    dropped = AbortedIndex.of_fetch(aborted, (header for header, _ in _whole_batches(view)))
    records: list[Record] = []
    unreadable: list[Unreadable] = []
    next_offset = offset
    for header, batch in _whole_batches(view):
        check_crc(header, batch)
        if not dropped.hides(header):
            try:
                found = list(read_records(batch))
            except UNREADABLE as violation:
                unreadable.append(Unreadable(max(header.base_offset, offset), header.end_offset, str(violation)))
                found = []
            records += [each for each in found if each.offset is not None and each.offset >= offset]
        next_offset = max(next_offset, header.end_offset)
    return ConsumedRecord(records, next_offset, unreadable)


def _whole_batches(data: memoryview) -> Iterator[tuple[BatchHeader, memoryview]]:
    """A broker may cut the last batch of an answer off."""
    position = 0
    while len(data) - position >= HEADER_SIZE:
        header = read_header(data, position)
        if position + header.size > len(data):
            return
        yield header, data[position : position + header.size]
        position += header.size
