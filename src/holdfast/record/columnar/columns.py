"""Records as columns, in the layout of Apache Arrow, in plain numpy arrays."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from holdfast.record.batch import BatchHeader

Ends: TypeAlias = NDArray[np.int32 | np.int64]


class Column(enum.Flag):
    """What to decode besides offset and timestamp, which are always there and far cheaper than the rest."""

    NONE = 0
    KEY = enum.auto()
    VALUE = enum.auto()
    HEADERS = enum.auto()
    ALL = KEY | VALUE | HEADERS


class Binary(NamedTuple):
    """Byte strings: number i is `data[ends[i]:ends[i + 1]]`."""

    ends: Ends  # One more than there are strings; the first is where the first one starts.
    data: NDArray[np.uint8]
    validity: NDArray[np.uint8] | None  # Bit i, lowest first, is 0 for null; None when nothing is null.

    def __len__(self) -> int:
        return len(self.ends) - 1

    def __getitem__(self, index: Any) -> Any:
        """One string, or None: for tests and for looking at a few."""
        if self.validity is not None and not self.validity[index >> 3] >> (index & 7) & 1:
            return None
        return self.data[self.ends[index] : self.ends[index + 1]].tobytes()


class Headers(NamedTuple):
    """The headers of all records: those of record i are number `ends[i]` to `ends[i + 1]` of keys and values."""

    ends: Ends
    keys: Binary
    values: Binary


@dataclass(frozen=True, slots=True)
class Columns:
    """The records of some batches. A column that was not asked for is None."""

    batches: tuple[BatchHeader, ...]
    starts: NDArray[np.int64]  # Batch b holds the records `starts[b]` to `starts[b + 1]`.
    offset: NDArray[np.int64]
    timestamp: NDArray[np.int64]  # Milliseconds since 1970, or -1 for none.
    key: Binary | None = None
    value: Binary | None = None
    headers: Headers | None = None

    def __len__(self) -> int:
        return len(self.offset)
