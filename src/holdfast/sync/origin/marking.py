"""Origin marks of whole columns: which records have one, what it says, and columns with one more hop."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from holdfast.record.columnar.columns import Binary, Columns, Headers
from holdfast.sync.origin.mark import MARK_KEY, PATH_SIZE_MAX, VERSION, beginning, hop_beginning
from holdfast.types import ClusterPartition

Numbers: TypeAlias = NDArray[np.int64]
Truths: TypeAlias = NDArray[np.bool_]

NONE: Final = -1
_KEY: Final = np.frombuffer(MARK_KEY.encode(), np.uint8)


@dataclass(frozen=True, slots=True)
class OriginMarks:
    """The marks of some records: for each the number of its header, or NONE. Of several the last one counts."""

    columns: Columns
    headers: Headers
    found: Numbers

    @classmethod
    def of(cls, columns: Columns) -> OriginMarks:
        """Look for them."""
        from holdfast.sync.origin import mark_loops as loops  # Here: without C it loads numba.

        assert columns.headers is not None
        found = np.empty(len(columns), np.int64)
        loops.find(columns.headers.ends, columns.headers.keys.ends, columns.headers.keys.data, _KEY, found)
        return cls(columns, columns.headers, found)

    def offsets_from(self, home: ClusterPartition) -> Numbers:
        """For each record the offset that it was copied from, if that was in this partition; else NONE."""
        from holdfast.sync.origin import mark_loops as loops

        offsets = np.empty(len(self.found), np.int64)
        values = self.headers.values
        loops.read_offsets(self.found, values.ends, values.data, _array(beginning(home)), offsets)
        return offsets

    def came_through(self, home: ClusterPartition) -> tuple[Truths, Numbers]:
        """Whether each record was in this partition before it was where it was copied from; where the last hop is."""
        from holdfast.sync.origin import mark_loops as loops

        older, origin = np.empty(len(self.found), np.bool_), np.empty(len(self.found), np.int64)
        values = self.headers.values
        loops.walk(self.found, values.ends, values.data, VERSION, _array(hop_beginning(home)), older, origin)
        return older, origin

    def with_hop(self, home: ClusterPartition) -> Columns:
        """The same records, each with one mark that begins with its place in this partition."""
        from holdfast.sync.origin import mark_loops as loops

        old, begins = self.headers, _array(beginning(home))
        before = (old.ends, old.keys.ends, old.keys.data, old.values.ends)
        others, key_size, value_size = loops.measure(*before, _KEY, self.found, PATH_SIZE_MAX)
        rows = len(self.found)
        new_ends = np.zeros(rows + 1, np.int64)
        key_ends, value_ends = (np.zeros(others + rows + 1, np.int64) for _ in range(2))
        key_data = np.empty(key_size + rows * len(_KEY), np.uint8)
        value_data = np.empty(value_size + rows * (len(begins) + loops.OFFSET_SIZE), np.uint8)
        valid = np.empty(others + rows, np.bool_)
        after = (new_ends, key_ends, key_data, value_ends, value_data, valid)
        rest = (self.found, PATH_SIZE_MAX, begins, self.columns.offset)
        loops.write(*before, old.values.data, _truths(old.values), _KEY, *rest, *after)
        bits = None if valid.all() else np.packbits(valid, bitorder="little")
        headers = Headers(new_ends, Binary(key_ends, key_data, None), Binary(value_ends, value_data, bits))
        return replace(self.columns, headers=headers)


def _array(data: bytes) -> NDArray[np.uint8]:
    return np.frombuffer(data, np.uint8)


def _truths(binary: Binary) -> Truths:
    """Which strings are there, one truth value for each."""
    if binary.validity is None:
        return np.ones(len(binary), np.bool_)
    return np.unpackbits(binary.validity, count=len(binary), bitorder="little").astype(np.bool_)
