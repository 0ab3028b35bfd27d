"""Records on their way: chosen rows of the source as batches for the target, in order, within its limits."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from holdfast.client import ProducerIdentity
from holdfast.client.errors import Refused
from holdfast.record.batch import stamp
from holdfast.record.build import Envelope, attributes_of
from holdfast.record.columnar.columns import Columns
from holdfast.record.columnar.cut import row_sizes
from holdfast.record.columnar.encode import encode
from holdfast.record.layout import HEADER_SIZE, SEQUENCE_MASK, Codec
from holdfast.sync.errors import RecordRefused, RecordTooLarge
from holdfast.types import TopicPartition

COUNT_MAX = 10_000  # Records of one batch.
SIZE_MAX = 1 << 20  # Bytes of one batch, unless a record is larger alone.


@dataclass(frozen=True, slots=True)
class SyncPiece:
    """One batch, and the offsets that its records have in the source."""

    batch: bytearray
    offsets: NDArray[np.int64]
    is_copy: bool = True  # Else a record of the target itself, once more.
    refused: RecordRefused | None = None  # Why the one record in it is set aside, and not written to its partition.

    @property
    def count(self) -> int:
        return len(self.offsets)


Pieces: TypeAlias = Generator[SyncPiece, Refused | None, None]  # Each is answered: None if it was written.


@dataclass(frozen=True, slots=True)
class Cutting:
    """How the batches of one partition are cut."""

    where: TopicPartition
    producer: ProducerIdentity
    sequence: int
    size_max: Callable[[], int]  # What the target takes, as far as known by then.
    sets_aside: bool


def cut(
    columns: Columns,
    rows: NDArray[np.int64],
    cutting: Cutting,
    *,
    codec: int = Codec.NONE,
    is_copy: bool = True,
) -> Pieces:
    """Batches of these rows with the producer's numbers, to be sent one after the other.

    One that is refused is halved until the record is found that the target does not take.
    """
    ends = np.cumsum(row_sizes(columns)[rows])
    ranks = np.zeros(len(columns), np.int64)
    ranks[rows] = np.arange(len(rows))  # So that the records of a batch have offsets one after the other.
    ranked = replace(columns, offset=ranks)
    producer = cutting.producer
    start, written, count_max = 0, 0, COUNT_MAX
    while start < len(rows):
        size_max = cutting.size_max()
        limit = (int(ends[start - 1]) if start else 0) + min(size_max, SIZE_MAX) - HEADER_SIZE
        end = min(max(int(np.searchsorted(ends, limit, "right")), start + 1), start + count_max)
        numbers = (producer.id, producer.epoch, (cutting.sequence + written) & SEQUENCE_MASK)
        batch = encode(ranked, rows[start:end], Envelope(start, -1, attributes_of(codec), *numbers))
        stamp(memoryview(batch), 0, -1)
        offsets = columns.offset[rows[start:end]]
        failure: RecordRefused = RecordTooLarge(str(cutting.where), int(offsets[0]), len(batch), size_max)
        if len(batch) <= size_max:
            answer = yield SyncPiece(batch, offsets, is_copy)
            if answer is None:
                start, written, count_max = end, written + end - start, COUNT_MAX
                continue
            failure = RecordRefused(str(cutting.where), int(offsets[0]), f"is refused by the target: {answer.reason}")
        if end - start > 1:
            count_max = (end - start) // 2
            continue
        if not cutting.sets_aside:
            raise failure
        yield SyncPiece(batch, offsets, is_copy, failure)
        start = end
