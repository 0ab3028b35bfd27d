"""Where the records of many batches lie in memory, decompressed where they were compressed."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

import numpy as np
from numpy.typing import NDArray

from holdfast.record.batch import BatchHeader
from holdfast.record.codec import TargetFull, decompress_into
from holdfast.record.errors import ExpandsTooFar, InvalidRecord
from holdfast.record.layout import HEADER_SIZE, Codec
from holdfast.types import Buffer

RECORD_SIZE_MIN: Final = 7  # Seven numbers of one byte. Whoever claims more records than fit is not believed.

FINDINGS: Final = (  # In the order of `read_loops`.
    "nothing is wrong",
    "its size is wrong",
    "its timestamp or offset breaks off",
    "its offset does not grow, or lies past the batch's last one",
    "its key, value or headers are malformed",
    "bytes are left over",
)
_CHUNK_SIZE_MIN: Final = 4 * 1024 * 1024
_RATIO_FIRST: Final = 4.0
_GROWTH: Final = 4


def address_of(buffer: Buffer) -> int:
    """Where in memory a buffer lies, as long as somebody holds it."""
    address: int = np.frombuffer(buffer, np.uint8).ctypes.data if len(buffer) else 0
    return address


class Arena:
    """Memory for decompressed records. Grows by whole chunks, so that what is there never moves."""

    def __init__(self, size_max: int) -> None:
        self._size_max = size_max
        self._ratio = _RATIO_FIRST
        self._full: list[NDArray[np.uint8]] = []
        self._chunk = np.empty(0, np.uint8)
        self._used = 0  # Of the newest chunk.
        self.size = 0  # Of all that was decompressed.

    def expand(self, codec: int, packed: memoryview) -> tuple[int, int]:
        """Decompress; address and size of the result."""
        self._reserve(int(self._ratio * len(packed)))
        while True:
            allowed = self._size_max - self.size
            target = self._chunk.data[self._used : self._used + allowed]
            try:
                size = decompress_into(codec, packed, target)
                break
            except TargetFull:
                if len(target) == allowed:
                    raise ExpandsTooFar(codec, len(packed), self._size_max) from None
                self._add_chunk(_GROWTH * len(target))
        address = self._chunk.ctypes.data + self._used
        self._ratio = max(size / len(packed), 1.0) * 1.25  # The next batch is likely to be much like this one.
        self._used += size
        self.size += size
        return address, size

    def clear(self) -> None:
        """Use the newest chunk, which is the largest, again."""
        self._full.clear()
        self._used = 0
        self.size = 0

    def _reserve(self, size: int) -> None:
        if len(self._chunk) - self._used < size:
            self._add_chunk(size)

    def _add_chunk(self, size: int) -> None:
        self._full.append(self._chunk)
        self._chunk = np.empty(min(max(size, _CHUNK_SIZE_MIN), self._size_max), np.uint8)
        self._used = 0


class Spans:
    """A growing list of batches whose records are ready to be walked."""

    def __init__(self, expanded_size_max: int) -> None:
        self._arena = Arena(expanded_size_max)
        self._table: list[tuple[int, ...]] = []
        self._batches: list[memoryview] = []  # Keeps alive what the addresses point to.
        self.headers: list[BatchHeader] = []
        self.record_count = 0
        self.size = 0

    def add(self, header: BatchHeader, batch: memoryview, address: int) -> None:
        """Add a batch, whose first byte lies at that address."""
        start, size = address + HEADER_SIZE, header.size - HEADER_SIZE
        if header.codec != Codec.NONE and size:
            start, size = self._arena.expand(header.codec, batch[HEADER_SIZE:])
        if header.record_count * RECORD_SIZE_MIN > size:
            reason = f"{header.record_count} records do not fit into {size} bytes"
            raise InvalidRecord(header.base_offset, header.record_count, size, reason)
        times = (header.max_timestamp, 0) if header.is_log_append_time else (header.base_timestamp, 1)
        self._table.append((start, size, header.record_count, header.base_offset, header.last_offset_delta, *times))
        self._batches.append(batch)
        self.headers.append(header)
        self.record_count += header.record_count
        self.size += size

    def table(self) -> NDArray[np.int64]:
        """One row for each batch, with the columns that `read_loops` names."""
        return np.array(self._table, np.int64).reshape(len(self._table), 7)

    def starts(self) -> NDArray[np.int64]:
        """The row at which each batch starts, and at the end the number of rows."""
        return np.cumsum([0, *(header.record_count for header in self.headers)], dtype=np.int64)

    def explain(self, finding: int, span: int, row: int, address: int) -> InvalidRecord:
        """What `read_loops` found to be wrong, as an error."""
        index = row - int(self.starts()[span])
        return InvalidRecord(self.headers[span].base_offset, index, address - self._table[span][0], FINDINGS[finding])

    def alone(self, number: int) -> Spans:
        """One of the batches, without the others. Whoever has it keeps these spans alive."""
        one = Spans(0)
        one._table = [self._table[number]]
        one.headers = [self.headers[number]]
        one.record_count, one.size = self.headers[number].record_count, self._table[number][1]
        return one

    def leave_out(self, numbers: Collection[int]) -> None:
        """Forget some of the batches."""
        kept = [number for number in range(len(self.headers)) if number not in numbers]
        self._table = [self._table[number] for number in kept]
        self._batches = [self._batches[number] for number in kept]
        self.headers = [self.headers[number] for number in kept]
        self.record_count = sum(header.record_count for header in self.headers)
        self.size = sum(row[1] for row in self._table)

    def clear(self) -> None:
        """Forget all batches, keep the memory for the next ones."""
        self._arena.clear()
        self._table.clear()
        self._batches.clear()
        self.headers.clear()
        self.record_count = 0
        self.size = 0
