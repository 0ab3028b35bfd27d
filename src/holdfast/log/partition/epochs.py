"""The leader epochs of a partition: from which offset on the batches carry which epoch."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable

from holdfast.segment.manifest.manifest import EpochStart
from holdfast.types import Epoch, Offset


class Epochs:
    """Epochs only rise; each begins where the one before it ends."""

    def __init__(self, known: Iterable[EpochStart]) -> None:
        self._starts = list(known)

    @property
    def current(self) -> Epoch:
        return self._starts[-1].epoch

    def note(self, epoch: int, start: int) -> None:
        """Batches from `start` on carry `epoch`; a known one changes nothing."""
        if epoch > self.current:
            self._starts.append(EpochStart(Epoch(epoch), Offset(start)))

    def above(self, epoch: int) -> list[EpochStart]:
        return [each for each in self._starts if each.epoch > epoch]

    def end_of(self, epoch: int, log_end: int) -> tuple[int, int] | None:
        """The largest known epoch not above the asked one, and the offset where it ends; None if all are above."""
        number = bisect_right(self._starts, epoch, key=lambda each: each.epoch) - 1
        if number < 0:
            return None
        end = self._starts[number + 1].start if number + 1 < len(self._starts) else log_end
        return self._starts[number].epoch, end

    def at(self, offset: int) -> int:
        """The epoch of the batch at an offset."""
        number = bisect_right(self._starts, offset, key=lambda each: each.start) - 1
        return self._starts[max(number, 0)].epoch
