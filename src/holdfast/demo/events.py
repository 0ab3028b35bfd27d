"""The events of the demo: orders of customers. Each is known by its number, so that any copy can be held against it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

TOPIC = "orders"
CUSTOMERS = 1_000
_CENTS_MAX = 50_000
_SPREAD = 2_654_435_761  # A prime: multiplied with it, neighbours are far apart.
_CHUNK = 50_000


class Events:
    """Events number 0 to `count`, the same in every run."""

    def __init__(self, count: int) -> None:
        self.count = count

    @cached_property
    def customers(self) -> NDArray[np.int64]:
        """Who ordered, by the event's number. It is the key of the record."""
        return np.arange(self.count, dtype=np.int64) * _SPREAD % (1 << 32) % CUSTOMERS

    @cached_property
    def values(self) -> Any:
        """All values, as one column of Arrow."""
        import pyarrow as pa

        chunks = [pa.array([value for _, value in self.of(start, end)], pa.binary()) for start, end in self._chunks()]
        return pa.concat_arrays(chunks)

    def of(self, start: int, end: int) -> Iterator[tuple[bytes, bytes]]:
        """Keys and values."""
        for number, customer in enumerate(self.customers[start:end].tolist(), start):
            cents = number * _SPREAD % _CENTS_MAX
            yield b"customer-%d" % customer, b'{"order":%d,"customer":%d,"cents":%d}' % (number, customer, cents)

    def _chunks(self) -> Iterator[tuple[int, int]]:
        for start in range(0, max(self.count, 1), _CHUNK):
            yield start, min(start + _CHUNK, self.count)

    def numbers_of(self, values: Any) -> NDArray[np.int64]:
        """The number of each value in a column, or -1 for one that is not byte for byte one of ours."""
        import pyarrow.compute as pc

        found = pc.index_in(values, value_set=self.values)
        return pc.fill_null(found, -1).to_numpy(zero_copy_only=False).astype(np.int64)  # type: ignore[no-any-return]
