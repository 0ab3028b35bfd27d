"""Which records compaction keeps, one piece of a segment at a time. No Python runs per record.

A record goes if it lies below log start, if its transaction was aborted, if a later record below `clean_end` has its
key, or if it is a tombstone below `tombstone_end`. A record without a key has no later version, and stays. A batch
whose records cannot be decoded was stored as a client sent it, and stays as it is.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from holdfast.errors import Corrupt
from holdfast.record.batch import BatchHeader, split
from holdfast.record.columnar.columns import Binary, Column, Columns
from holdfast.record.columnar.decode import Decoder
from holdfast.record.retain import retain
from holdfast.segment.aborted import AbortedIndex
from holdfast.segment.compaction.key_map import KeyMap
from holdfast.types import Buffer

log = logging.getLogger(__name__)

Batch: TypeAlias = tuple[BatchHeader, memoryview]
Flags: TypeAlias = NDArray[np.bool_]


def learn_piece(key_map: KeyMap, aborted: AbortedIndex, piece: memoryview, start: int, end: int) -> int | None:
    """Remember the keys of the records in `[start, end)`; the first offset that found no room, or None."""
    batches = [each for each in split(piece) if not each[0].is_control and not aborted.holds(each[0])]
    for _, columns in _decoded(batches, Column.KEY):
        if columns is None or columns.key is None:
            continue
        counts = _valid(columns.key) & (columns.offset >= start) & (columns.offset < end)
        done = key_map.learn(columns.key, columns.offset, counts)
        if done < len(columns):
            return int(columns.offset[done])
    return None


@dataclass(frozen=True)
class Sieve:
    """What is known of the records to keep."""

    key_map: KeyMap
    aborted: AbortedIndex
    log_start: int
    clean_end: int  # Below, a record stays only if it is the last of its key.
    tombstone_end: int  # Below, tombstones and transaction markers have been there for long enough.
    on_unreadable: Callable[[], None]  # A batch stays as it is, because nobody can read it.

    def sift(self, piece: memoryview) -> Iterator[tuple[Buffer, int]]:
        """What is left of the batches of a piece, each with its base offset, in order; a view if it lost nothing."""
        for is_control, batches in groupby(split(piece), key=lambda each: each[0].is_control):
            if is_control:
                yield from ((view, header.base_offset) for header, view in batches if self._keeps_marker(header))
            else:
                yield from self._sift_records([each for each in batches if not self._is_aborted(each[0])])

    def _is_aborted(self, header: BatchHeader) -> bool:
        return header.base_offset < self.clean_end and self.aborted.holds(header)

    def _keeps_marker(self, header: BatchHeader) -> bool:
        return header.base_offset >= max(self.tombstone_end, self.log_start)

    def _sift_records(self, batches: list[Batch]) -> Iterator[tuple[Buffer, int]]:
        for group, columns in _decoded(batches, Column.KEY | Column.VALUE):
            if columns is None:
                self.on_unreadable()
                yield from ((view, header.base_offset) for header, view in group)
                continue
            keep = self._keep(columns)
            kept_before = np.concatenate([[0], np.cumsum(keep)])[columns.starts]
            counts = np.diff(kept_before).tolist()
            for (header, view), count, row in zip(group, counts, columns.starts.tolist(), strict=False):
                if count == header.record_count:
                    if count:
                        yield view, header.base_offset
                elif count:
                    yield retain(view, keep[row : row + header.record_count]), header.base_offset

    def _keep(self, columns: Columns) -> Flags:
        assert columns.key is not None
        assert columns.value is not None
        keep = columns.offset >= self.log_start
        keyed = _valid(columns.key)
        keep &= ~(keyed & ~_valid(columns.value) & (columns.offset < self.tombstone_end))
        is_last = keep & keyed & (columns.offset < self.clean_end)
        others = keep & ~is_last
        self.key_map.find_last(columns.key, columns.offset, is_last)
        return others | is_last


def _valid(binary: Binary) -> Flags:
    if binary.validity is None:
        return np.ones(len(binary), np.bool_)
    return np.unpackbits(binary.validity, count=len(binary), bitorder="little").astype(np.bool_)


def _decoded(batches: list[Batch], columns: Column) -> Iterator[tuple[list[Batch], Columns | None]]:
    """The batches in groups, each with its records; without them one that cannot be decoded."""
    decoder = Decoder(columns, verify_crc=False)  # Whoever read the bytes has checked them.
    done = 0
    try:
        for found in decoder.groups(view for _, view in batches):
            count = len(found.batches)
            yield batches[done : done + count], found
            done += count
    except Corrupt:
        for batch in batches[done:]:
            yield [batch], _decode_one(decoder, batch)


def _decode_one(decoder: Decoder, batch: Batch) -> Columns | None:
    try:
        return decoder.decode([batch[1]])
    except Corrupt as failure:
        log.warning("the batch at offset %d stays as it is: %s", batch[0].base_offset, failure)
        return None
