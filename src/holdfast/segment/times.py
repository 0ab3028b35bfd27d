"""The true bounds of the timestamps in batches, so that whoever looks for a time may leave out a whole segment.

A batch's header says when its first record was made, and the latest time; neither is checked when a batch is stored,
and an earlier record may follow the first one. So the records are looked at when a segment is written: natively, beside
the event loop, and only where it is worth it and cheap. That leaves out small segments, tiny batches, and what expands
to very much: a mebibyte of records takes 0.06 ms, 0.5 ms out of lz4 or snappy, 0.9 ms out of zstd, 1.3 ms out of gzip,
each a part of what its producer has spent on it. When segments are rewritten, all are looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast.errors import HoldfastError
from holdfast.record.batch import split
from holdfast.record.codec import EXPANDED_SIZE_MAX
from holdfast.record.columnar.spans import Spans, address_of
from holdfast.record.layout import Codec
from holdfast.segment.manifest.info import NO_TIMESTAMP, RecordTimes
from holdfast.types import Buffer

SIZE_MIN = 1024 * 1024  # Below this a segment is not worth leaving out.
BATCH_COUNT_MAX = 8 * 1024  # Tiny batches cost Python time each, which the event loop would wait for.
EXPANDED_MAX = 512 * 1024 * 1024  # Bytes out of all batches of a flush, which has about half a second for them.
BATCH_EXPANDED_MAX = 32 * 1024 * 1024  # Bytes out of one batch: they are in memory for a moment.
_GROUP_SIZE = 4 * 1024 * 1024
_SUM_SAFE = 2**61  # Sums of larger numbers may wrap around.


class _Slow(Exception):
    """Batches that expand to more than there is time for."""


class _Bounds(NamedTuple):
    """For each of some batches its earliest record, and what its header says is the latest."""

    earliest: NDArray[np.int64]
    latest: NDArray[np.int64]
    by_batch: bool


def record_times(
    buffers: Sequence[Buffer], batch_count: int, *, thorough: bool = False, size_min: int = SIZE_MIN
) -> RecordTimes | None:
    """The bounds of all records; None if they are not worth finding, or if a header does not keep to the truth."""
    if not batch_count or sum(map(len, buffers)) < size_min or (batch_count > BATCH_COUNT_MAX and not thorough):
        return None
    found: list[_Bounds] = []
    try:
        for spans in _groups(buffers, thorough=thorough):
            each = _bounds(spans)
            if each is None:
                return None
            found.append(each)
    except (HoldfastError, _Slow):  # Records that cannot be decoded are stored as they came.
        return None
    if not found:
        return None
    earliest, latest = (np.concatenate([each[side] for each in found]) for side in (0, 1))
    back_ms = _back_ms(earliest, latest) if len(earliest) == batch_count else None  # Batches without records, too.
    return RecordTimes(int(earliest.min()), all(each.by_batch for each in found), back_ms)


def _back_ms(earliest: NDArray[np.int64], latest: NDArray[np.int64]) -> int | None:
    """How much earlier than a batch before its own a record is, at most."""
    if latest.max() > _SUM_SAFE:
        return None
    before = np.maximum(np.maximum.accumulate(latest)[:-1], NO_TIMESTAMP)  # As a segment's index has it.
    return int((before - earliest[1:]).max(initial=0))


def _groups(buffers: Iterable[Buffer], *, thorough: bool) -> Iterator[Spans]:
    """The batches in groups of bounded size, decompressed."""
    spans = Spans(EXPANDED_SIZE_MAX if thorough else BATCH_EXPANDED_MAX)
    expanded_size = 0
    for buffer in buffers:
        address = address_of(buffer)
        for header, batch in split(buffer):
            if header.record_count:
                before = spans.size
                spans.add(header, batch, address)
                expanded_size += spans.size - before if header.codec != Codec.NONE else 0
            if expanded_size > EXPANDED_MAX and not thorough:
                raise _Slow
            address += header.size
            if spans.size >= _GROUP_SIZE:
                yield spans
                spans.clear()
    if spans.headers:
        yield spans


def _bounds(spans: Spans) -> _Bounds | None:
    from holdfast.segment.time_loops import delta_bounds  # Here: without C it loads numba.

    address, size, count, _, _, base, scale = spans.table().T.copy()
    lowest, highest = np.empty_like(base), np.empty_like(base)
    if not delta_bounds(address, size, count, lowest, highest):
        return None
    if any(each.max() > _SUM_SAFE or each.min() < -_SUM_SAFE for each in (base, lowest, highest)):
        return None
    latest = np.array([header.max_timestamp for header in spans.headers], np.int64)
    if (base + scale * highest > latest).any():
        return None
    return _Bounds(base + scale * lowest, latest, bool((scale * lowest >= 0).all()))
