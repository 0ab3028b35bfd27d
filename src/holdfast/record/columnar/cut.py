"""Cut the rows of some columns into batches for many partitions: stable order, limited size, native speed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from holdfast.record.build import Envelope, attributes_of
from holdfast.record.columnar.columns import Binary, Columns
from holdfast.record.columnar.encode import encode
from holdfast.record.layout import Codec

Numbers: TypeAlias = NDArray[np.int64]

_RECORD_SIZE = 36  # At most: what a record takes besides its key, value and headers.
_HEADER_SIZE = 10  # The same for one header.


class BatchCut(NamedTuple):
    """One batch, for the place that its rows named."""

    place: int
    record_count: int
    batch: bytearray


def cut(
    columns: Columns, places: Numbers, *, size_max: int, count_max: int, codec: int = Codec.NONE
) -> Iterator[BatchCut]:
    """Batches of at most `size_max` bytes before compression and `count_max` records, place after place.

    Rows of one place keep their order. A row that is larger alone gets a batch of its own.
    """
    order = np.argsort(places, kind="stable")
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order))
    ranked = replace(columns, offset=ranks)  # So that the rows of a batch have offsets one after the other.
    sizes = row_sizes(columns)[order]
    ends = np.cumsum(sizes)
    borders = np.flatnonzero(np.diff(places[order])) + 1
    for first, last in zip((0, *borders), (*borders, len(order)), strict=True):
        start = int(first)
        while start < last:
            limit = (ends[start - 1] if start else 0) + size_max
            end = min(max(int(np.searchsorted(ends, limit, "right")), start + 1), start + count_max, int(last))
            envelope = Envelope(base_offset=start, attributes=attributes_of(codec))
            batch = encode(ranked, order[start:end], envelope)
            yield BatchCut(int(places[order[start]]), end - start, batch)
            start = end


def row_sizes(columns: Columns) -> Numbers:
    """How many bytes each row takes before compression, at most."""
    sizes = np.full(len(columns), _RECORD_SIZE, np.int64)
    for column in (columns.key, columns.value):
        if column is not None:
            sizes += _binary_sizes(column)
    if columns.headers is not None:
        each = _binary_sizes(columns.headers.keys) + _binary_sizes(columns.headers.values) + _HEADER_SIZE
        before = np.concatenate(([0], np.cumsum(each)))
        first = int(columns.headers.ends[0])
        sizes += np.diff(before[columns.headers.ends - first])
    return sizes


def _binary_sizes(binary: Binary) -> Numbers:
    return np.diff(binary.ends).astype(np.int64)
