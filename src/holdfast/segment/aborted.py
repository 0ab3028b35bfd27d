"""Which batches belong to aborted transactions: readers of committed records leave them out.

A transaction of a producer goes from its first batch to its marker, and those of one producer never overlap. Manifests
and segments know both ends; an answer to a fetch names only the first, and the marker is among its batches, if it ends
there at all.
"""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.record.batch import BatchHeader
from holdfast.segment.manifest.info import Aborted

_NOT_ENDED = 2**63 - 1


class AbortedIndex:
    """Whether a batch belongs to an aborted transaction."""

    def __init__(self, aborted: Iterable[Aborted]) -> None:
        self._ranges: dict[int, list[tuple[int, int]]] = {}  # By producer; both ends belong to it.
        for each in aborted:
            self._add(each.producer_id, each.first_offset, each.last_offset)

    @classmethod
    def of_fetch(cls, started: Iterable[tuple[int, int]], batches: Iterable[BatchHeader]) -> AbortedIndex:
        """Of an answer: producers and first offsets of its aborted transactions, and its batches."""
        index = cls(())
        started = list(started)
        markers: dict[int, list[int]] = {}
        for header in batches if started else ():
            if header.is_control:
                markers.setdefault(header.producer_id, []).append(header.base_offset)
        for producer_id, first in started:
            ends = (offset for offset in markers.get(producer_id, ()) if offset >= first)
            index._add(producer_id, first, min(ends, default=_NOT_ENDED))
        return index

    def _add(self, producer_id: int, first: int, last: int) -> None:
        self._ranges.setdefault(producer_id, []).append((first, last))

    def __bool__(self) -> bool:
        """Whether there is any."""
        return bool(self._ranges)

    def holds(self, header: BatchHeader) -> bool:
        return header.is_transactional and any(
            first <= header.base_offset <= last for first, last in self._ranges.get(header.producer_id, ())
        )

    def hides(self, header: BatchHeader) -> bool:
        """Whether nobody but the log itself has a use for it: markers, and what a transaction took back."""
        return header.is_control or self.holds(header)
