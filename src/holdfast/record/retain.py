"""Keep some records of a batch, as they are, and let the others go: what compaction does."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.record.batch import read_header
from holdfast.record.build import Envelope, Extent, seal
from holdfast.record.codec import EXPANDED_SIZE_MAX, open_records
from holdfast.record.columnar.spans import FINDINGS, address_of
from holdfast.record.errors import InvalidRecord, stored
from holdfast.record.layout import HEADER_SIZE


def retain(
    batch: memoryview, chosen: NDArray[Any], *, place: str = "batch", expanded_size_max: int = EXPANDED_SIZE_MAX
) -> bytearray:
    """The batch with only those records for which `chosen` is true.

    Offsets, timestamps, producer fields and codec stay, and so do base and last offset: the batch covers the same
    offsets as before, of which some, or all, now hold no record.
    """
    from holdfast.record.loops import read_loops as loops  # Here: without C it loads numba.

    with stored(place):
        header = read_header(batch)
        if len(chosen) != header.record_count:
            raise ValueError(f"{len(chosen)} choices for {header.record_count} records")
        count = int(np.count_nonzero(chosen))
        if count == header.record_count:
            return bytearray(batch)
        data = open_records(header, batch, expanded_size_max)
        room = bytearray(HEADER_SIZE + len(data))
        target = address_of(room) + HEADER_SIZE
        mask = np.array(chosen, np.bool_)
        found, index, at, size, delta_max = loops.keep(address_of(data), len(data), mask, target)
        if found != loops.FINE:
            raise InvalidRecord(header.base_offset, index, at - address_of(data), FINDINGS[found])
        max_timestamp = header.max_timestamp
        if count and not header.is_log_append_time:
            max_timestamp = header.base_timestamp + delta_max
        extent = Extent(count, header.last_offset_delta, header.base_timestamp, max_timestamp)
        del room[HEADER_SIZE + size :]
        return seal(room, extent, Envelope.of(header))
