"""What a reader got, held against the ledger: is every acknowledged event there, once, in order, where it was said?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.demo.ledger import NOWHERE, Ledger
from holdfast.demo.outcome import DemoClaim


@dataclass(frozen=True, slots=True)
class FoundRecords:
    """What is not as it should be, counted."""

    wanted: int
    read: int
    missing: int
    twice: int
    strange: int  # Not byte for byte an event of ours.
    moved: int  # Not in the partition, or not at the offset, that was acknowledged.
    disordered: int  # Behind a later event of the same key.

    @property
    def holds(self) -> bool:
        return self.read == self.wanted and not any(
            (self.missing, self.twice, self.strange, self.moved, self.disordered)
        )

    def claim(self, sentence: str) -> DemoClaim:
        told = f"{self.wanted - self.missing:,} of {self.wanted:,}"
        wrong = {name: getattr(self, name) for name in ("missing", "twice", "strange", "moved", "disordered")}
        told += "".join(f", {count:,} {name}" for name, count in wrong.items() if count)
        return DemoClaim(sentence, self.holds, told)


class Account:
    """Gathers columns as they come; `settle` looks at all of them together."""

    def __init__(self, ledger: Ledger, *, offsets_kept: bool = True) -> None:
        self._ledger = ledger
        self._offsets_kept = offsets_kept  # In a copy, records may be at other offsets.
        self._columns: list[tuple[Any, NDArray[np.int64], NDArray[np.int64]]] = []
        self.count = 0

    def add(self, values: Any, partitions: NDArray[np.int64], offsets: NDArray[np.int64]) -> None:
        """Records in the order in which they came."""
        self._columns.append((values, partitions, offsets))
        self.count += len(values)

    def settle(self) -> FoundRecords:
        numbers, partitions, offsets = self._joined()
        ours = numbers >= 0
        numbers, partitions, offsets = numbers[ours], partitions[ours], offsets[ours]
        seen = np.bincount(numbers, minlength=self._ledger.events.count)
        acked = self._ledger.offsets != NOWHERE
        moved = partitions != self._ledger.partitions[numbers]
        if self._offsets_kept:
            moved |= offsets != self._ledger.offsets[numbers]
        return FoundRecords(
            wanted=int(acked.sum()),
            read=self.count,
            missing=int(np.count_nonzero(acked & (seen == 0))),
            twice=int(np.maximum(seen - 1, 0).sum()),
            strange=int(np.count_nonzero(~ours)),
            moved=int(moved.sum()),
            disordered=self._disordered(numbers),
        )

    def _joined(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        import pyarrow as pa

        if not self._columns:
            empty = np.zeros(0, np.int64)
            return empty, empty, empty
        values, partitions, offsets = zip(*self._columns, strict=True)
        numbers = self._ledger.events.numbers_of(pa.chunked_array(list(values), pa.binary()))
        return numbers, np.concatenate(partitions), np.concatenate(offsets)

    def _disordered(self, numbers: NDArray[np.int64]) -> int:
        """One producer wrote them by number: each key's numbers must rise."""
        keys = self._ledger.events.customers[numbers]
        order = np.argsort(keys, kind="stable")
        same_key = np.diff(keys[order]) == 0
        return int(np.count_nonzero(same_key & (np.diff(numbers[order]) < 0)))
