"""Batches of some segments into new ones: cut at a size, put, and turned into the change that swaps them in."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from holdfast.io.chance import Chance
from holdfast.io.clock import Clock
from holdfast.io.objects import Exists, Objects
from holdfast.record.errors import stored
from holdfast.segment.manifest.changes import Replace
from holdfast.segment.manifest.info import Aborted, SegmentInfo
from holdfast.segment.manifest.manifest import Cleaned
from holdfast.segment.names import new_tag
from holdfast.segment.producers import Producers, ProducerState
from holdfast.segment.writer import encode_segment
from holdfast.types import Buffer, Epoch, Offset, PartitionId


@dataclass(frozen=True)
class RewriteContext:
    """What is needed to make new segments of one partition."""

    objects: Objects
    home: PartitionId
    epoch: Epoch
    clock: Clock
    chance: Chance
    segment_size_max: int
    on_unreadable: Callable[[], None] = lambda: None  # Told of each batch that stays because nobody can read it.


@dataclass
class Rewrite:
    """New segments for a run of old ones, which comes to an end where one of the old ones does."""

    shop: RewriteContext
    start: Offset
    compacted: bool
    size: int = 0
    _old: list[str] = field(default_factory=list)
    _new: list[SegmentInfo] = field(default_factory=list)
    _buffers: list[Buffer] = field(default_factory=list)
    _aborted: list[Aborted] = field(default_factory=list)
    _producers: dict[int, ProducerState] = field(default_factory=dict)
    _stored_at: float | None = None

    def begin_segment(self, old: SegmentInfo, aborted: Sequence[Aborted], producers: Producers) -> None:
        """What is added next comes from this one; `aborted` are those of its transactions that are kept."""
        self._old.append(old.name)
        self._aborted += aborted
        self._producers.update(producers)

    def add(self, buffer: Buffer, base: int) -> None:
        """Add whole batches, the first of which starts at `base`."""
        if self._buffers and self.size + len(buffer) > self.shop.segment_size_max * 3 // 2:  # No sliver at its end.
            self._put(Offset(base), None)
        self._buffers.append(buffer)
        self.size += len(buffer)

    @property
    def is_worth_it(self) -> bool:
        """Whether it has come far enough to end here: large, or with segments put that should be listed soon."""
        return 2 * self.size >= self.shop.segment_size_max or bool(self._new)

    @property
    def is_one_for_one(self) -> bool:
        """Whether it holds one old segment so far, and nothing is put yet."""
        return len(self._old) == 1 and not self._new

    def finish(self, end: Offset, cleaned: tuple[Cleaned, ...] | None) -> Replace:
        """Put what is left, for offsets up to `end`, and say what is to be swapped."""
        self._put(end, self._producers)
        assert self._stored_at is not None
        return Replace(tuple(self._old), tuple(self._new), self._stored_at, cleaned)

    def _put(self, end: Offset, producers: Producers | None) -> None:
        if self._stored_at is None:
            self._stored_at = self.shop.clock.boottime()
        here = [each for each in self._aborted if each.last_offset < end]
        with stored(f"the rewrite of {self._old[-1]}"):
            buffers, info = encode_segment(
                self._buffers,
                home=self.shop.home,
                epoch=self.shop.epoch,
                tag=new_tag(self.shop.chance),
                producers=producers,
                aborted=here,
                start=self.start,
                end=end,
                compacted=self.compacted,
                thorough=True,
            )
        with contextlib.suppress(Exists):  # The name is random: it is our own, put again below us after a lost answer.
            self.shop.objects.put_if_absent(info.name, buffers)
        self._new.append(info)
        self._aborted = [each for each in self._aborted if each.last_offset >= end]
        self._buffers, self.size, self.start = [], 0, end
