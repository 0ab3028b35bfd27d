"""Records on their way: chosen rows of the source as batches for the target, in order, within its limits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from holdfast.client import ProducerIdentity
from holdfast.record.batch import stamp
from holdfast.record.build import Envelope, attributes_of
from holdfast.record.columnar.columns import Columns
from holdfast.record.columnar.cut import row_sizes
from holdfast.record.columnar.encode import encode
from holdfast.record.layout import HEADER_SIZE, SEQUENCE_MASK, Codec
from holdfast.sync.errors import RecordTooLarge
from holdfast.types import TopicPartition

COUNT_MAX = 10_000  # Records of one batch.
SIZE_MAX = 1 << 20  # Bytes of one batch, unless a record is larger alone.


@dataclass(frozen=True, slots=True)
class SyncPiece:
    """One batch, and the offsets that its records have in the source."""

    batch: bytearray
    offsets: NDArray[np.int64]
    is_copy: bool = True  # Else a record of the target itself, once more.

    @property
    def count(self) -> int:
        return len(self.offsets)


def cut(
    columns: Columns,
    rows: NDArray[np.int64],
    where: TopicPartition,
    producer: ProducerIdentity,
    sequence: int,
    *,
    size_max: int,
    codec: int = Codec.NONE,
    is_copy: bool = True,
) -> Iterator[SyncPiece]:
    """Batches of these rows with the producer's numbers, ready to be sent one after the other."""
    sizes = row_sizes(columns)[rows]
    ends = np.cumsum(sizes)
    ranks = np.zeros(len(columns), np.int64)
    ranks[rows] = np.arange(len(rows))  # So that the records of a batch have offsets one after the other.
    ranked = replace(columns, offset=ranks)
    room = min(size_max, SIZE_MAX) - HEADER_SIZE
    start = 0
    while start < len(rows):
        limit = (int(ends[start - 1]) if start else 0) + room
        end = min(max(int(np.searchsorted(ends, limit, "right")), start + 1), start + COUNT_MAX)
        numbers = (producer.id, producer.epoch, (sequence + start) & SEQUENCE_MASK)
        batch = encode(ranked, rows[start:end], Envelope(start, -1, attributes_of(codec), *numbers))
        offsets = columns.offset[rows[start:end]]
        if len(batch) > size_max:
            raise RecordTooLarge(str(where), int(offsets[0]), len(batch), size_max)
        stamp(memoryview(batch), 0, -1)
        yield SyncPiece(batch, offsets, is_copy)
        start = end
