"""The manifest: all that is known of one partition's stored part, as one frozen value that checks itself."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from holdfast.errors import Corrupt
from holdfast.io.versions import Stamp
from holdfast.segment.manifest.segments import SegmentList
from holdfast.segment.producers import Producers
from holdfast.types import Epoch, Offset, PartitionId


class EpochStart(NamedTuple):
    """From which offset on the batches carry a leader epoch."""

    epoch: Epoch
    start: Offset


class Cleaned(NamedTuple):
    """Below `end` the partition has held at most one record per key since `since_ms`: when tombstones may go."""

    end: Offset
    since_ms: int


class OpenTransaction(NamedTuple):
    """A transaction without a marker yet."""

    first_offset: Offset
    producer_id: int


class AppendedSegment(NamedTuple):
    """Who has last moved `flushed`: the process, and the nonce of the version in which it did."""

    incarnation: str = ""  # Versions of earlier releases do not say it.
    nonce: str = ""


NOBODY = AppendedSegment()


@dataclass(frozen=True, slots=True)
class Manifest:
    """One version of a partition's manifest.

    Invariants: the segments tile a range that ends at `flushed` and whose first segment holds `log_start`; without
    segments the two are equal; `last_stable` is not above `flushed`; epochs grow.
    """

    home: PartitionId
    cluster_id: str
    version: int
    stamp: Stamp  # Who wrote this version.
    epochs: tuple[EpochStart, ...]
    log_start: Offset = Offset(0)
    flushed: Offset = Offset(0)  # The next offset: all below is in segments, or gone.
    last_stable: Offset = Offset(0)
    segments: SegmentList = field(default_factory=SegmentList)
    producers: Producers = field(default_factory=dict)  # As of `flushed`.
    forgotten_below: int | None = None  # Producers with lower ids may have been known; None: nobody can tell.
    running_ms: int = 0  # For how long brokers have run with this partition: no clock's jump is in it.
    cleaned: tuple[Cleaned, ...] = ()
    appended: AppendedSegment = (
        NOBODY  # Kept by whoever changes anything else: a second writer shows through compaction.
    )

    def __post_init__(self) -> None:
        problem = self._problem()
        if problem:
            raise Corrupt(f"manifest version {self.version} of {self.home.path}: {problem}")

    def _problem(self) -> str:
        if not 0 <= self.log_start <= self.flushed or not 0 <= self.last_stable <= self.flushed:
            return f"log start {self.log_start}, last stable {self.last_stable}, flushed {self.flushed}"
        if not self.segments and self.log_start != self.flushed:
            return f"no segments hold [{self.log_start}, {self.flushed})"
        if self.segments and not self.segments[0].base <= self.log_start < self.segments[0].end:
            return f"{self.segments[0].name} does not hold log start {self.log_start}"
        if self.segments and self.segments[-1].end != self.flushed:
            return f"{self.segments[-1].name} does not end at {self.flushed}"
        if not self.epochs or any(a.epoch >= b.epoch or a.start > b.start for a, b in pairwise(self.epochs)):
            return f"epochs {self.epochs}"
        return ""

    @property
    def epoch(self) -> Epoch:
        """The leader epoch: a writer with a lower one is fenced."""
        return self.epochs[-1].epoch

    @property
    def open_transactions(self) -> tuple[OpenTransaction, ...]:
        """The transactions without a marker below `flushed`, by their first offset."""
        started = ((each.transaction_start, each.producer_id) for each in self.producers.values())
        return tuple(sorted(OpenTransaction(start, number) for start, number in started if start is not None))


def first_manifest(
    home: PartitionId, cluster_id: str, epoch: Epoch, stamp: Stamp, forgotten_below: int | None = None
) -> Manifest:
    """The manifest of a partition that was never written to."""
    epochs = (EpochStart(epoch, Offset(0)),)
    return Manifest(home, cluster_id, 0, stamp, epochs, forgotten_below=forgotten_below)
