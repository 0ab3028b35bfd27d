"""What can happen to a manifest, as values. A change that was made for another state raises DoesNotFit.

Append          flushed segments, with the state of producers and transactions after them
RaiseEpoch      a new leader, or the same one after an unclean stop
RaiseLogStart   retention, delete records: whole segments below go
Replace         compaction: other segments for the same range
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, TypeAlias

from holdfast.segment.errors import DoesNotFit, HigherEpoch
from holdfast.segment.manifest.info import SegmentInfo
from holdfast.segment.manifest.manifest import Cleaned, EpochStart, Manifest
from holdfast.segment.manifest.segments import SegmentList
from holdfast.segment.producers import Producers
from holdfast.types import Epoch, Offset


@dataclass(frozen=True)
class Append:
    """Segments that continue at `flushed`. Without segments only the state is replaced."""

    segments: tuple[SegmentInfo, ...]
    last_stable: Offset
    producers: Producers
    stored_at: float  # The boot time before the first of them was put: too old, and they must be put again.
    forgotten_below: int | None = None  # None: as it is.
    running_ms: int = 0

    def apply(self, manifest: Manifest) -> Manifest:
        if self.segments and self.segments[0].base != manifest.flushed:
            raise DoesNotFit(f"append {self.segments[0].name}", f"the next offset is {manifest.flushed}")
        return replace(
            manifest,
            segments=manifest.segments.append(self.segments),
            flushed=self.segments[-1].end if self.segments else manifest.flushed,
            last_stable=self.last_stable,
            producers=MappingProxyType(dict(self.producers)),
            forgotten_below=manifest.forgotten_below if self.forgotten_below is None else self.forgotten_below,
            running_ms=max(manifest.running_ms, self.running_ms),
        )

    def is_in(self, manifest: Manifest) -> bool:
        """Whether it was applied already, by a commit whose answer was lost."""
        return bool(self.segments) and all(manifest.segments.holding(each.base) == each for each in self.segments)

    def step(self) -> list[Any]:
        return ["append", [each.to_row() for each in self.segments]]


@dataclass(frozen=True)
class RaiseEpoch:
    """A new leader epoch, for batches from `start` on."""

    epoch: Epoch
    start: Offset

    def apply(self, manifest: Manifest) -> Manifest:
        if self.epoch < manifest.epoch:
            raise HigherEpoch(manifest.home.manifests, self.epoch, manifest.epoch)
        if self.epoch == manifest.epoch or self.start < max(manifest.flushed, manifest.epochs[-1].start):
            raise DoesNotFit(
                f"raise the epoch to {self.epoch} at {self.start}", f"{manifest.epochs[-1]}, flushed {manifest.flushed}"
            )
        return replace(manifest, epochs=(*manifest.epochs, EpochStart(self.epoch, self.start)))

    def is_in(self, manifest: Manifest) -> bool:  # noqa: ARG002
        return False  # Another writer may have raised it to the same number.

    def step(self) -> None:
        return None


@dataclass(frozen=True)
class RaiseLogStart:
    """Nothing below `log_start` is kept."""

    log_start: Offset

    def apply(self, manifest: Manifest) -> Manifest:
        if not manifest.log_start < self.log_start <= manifest.flushed:
            raise DoesNotFit(
                f"raise log start to {self.log_start}", f"it is {manifest.log_start}, flushed {manifest.flushed}"
            )
        return replace(
            manifest,
            log_start=self.log_start,
            segments=manifest.segments.drop(self.log_start),
            epochs=_known_from(manifest.epochs, self.log_start),
        )

    def is_in(self, manifest: Manifest) -> bool:
        return manifest.log_start >= self.log_start

    def step(self) -> list[Any]:
        return ["drop", self.log_start]


@dataclass(frozen=True)
class Replace:
    """Other segments for the range of a run of segments; the names in `old` say which run was read.

    With no segments at all it only says how far the partition is clean.
    """

    old: tuple[str, ...]
    new: tuple[SegmentInfo, ...]
    stored_at: float  # As in Append.
    cleaned: tuple[Cleaned, ...] | None = None  # None: as it is.

    def apply(self, manifest: Manifest) -> Manifest:
        cleaned = manifest.cleaned if self.cleaned is None else self.cleaned
        if not self.new:
            return replace(manifest, cleaned=cleaned)
        start, end = manifest.segments.run(SegmentList(self.new))
        if tuple(each.name for each in manifest.segments.items[start:end]) != self.old:
            raise DoesNotFit(f"replace by {self.new[0].name}", "the segments in its place are not those it was made of")
        return replace(manifest, segments=manifest.segments.replace(self.new), cleaned=cleaned)

    def is_in(self, manifest: Manifest) -> bool:
        return bool(self.new) and all(manifest.segments.holding(each.base) == each for each in self.new)

    def step(self) -> list[Any] | None:
        return ["replace", [each.to_row() for each in self.new]] if self.new else None


Change: TypeAlias = Append | RaiseEpoch | RaiseLogStart | Replace


def take_step(segments: SegmentList, step: list[Any], folder: str) -> SegmentList:
    """Repeat on a list what a change did to another one like it."""
    kind, content = step
    if kind == "drop":
        return segments.drop(content)
    rows = [SegmentInfo.from_row(row, folder) for row in content]
    return segments.append(rows) if kind == "append" else segments.replace(rows)


def _known_from(epochs: tuple[EpochStart, ...], log_start: Offset) -> tuple[EpochStart, ...]:
    """The epochs that still have offsets, and the newest one."""
    below = sum(each.start <= log_start for each in epochs)
    return epochs[max(0, below - 1) :]
