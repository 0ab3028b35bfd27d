"""What an audit found: of one segment, of one partition, of everything."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from holdfast.types import OffsetRange

PROBLEMS_SHOWN_MAX = 1000  # Of one partition: what is broken all over is said often enough.


@dataclass
class AuditCounts:
    """Offsets by what became of them. `duplicates` are offsets found once more, and belong to no sum."""

    records: int = 0  # Readable by everybody.
    control: int = 0  # Transaction markers: no client ever sees them.
    aborted: int = 0  # Of transactions that were taken back.
    open: int = 0  # Of transactions that are not decided yet.
    compacted: int = 0  # Gone because a later record has their key.
    expired: int = 0  # Gone by retention while the audit ran.
    duplicates: int = 0

    def add(self, other: AuditCounts) -> None:
        for name in vars(other):
            setattr(self, name, getattr(self, name) + getattr(other, name))

    @property
    def accounted(self) -> int:
        return self.records + self.control + self.aborted + self.open + self.compacted + self.expired


class ProducerRun(NamedTuple):
    """The sequences of one producer in one stretch of a partition: the first, and the last."""

    producer_id: int
    epoch: int
    first: int
    last: int
    offset: int  # Of the first batch.


@dataclass
class SegmentReport:
    """What a task says of one stretch of offsets."""

    span: OffsetRange
    name: str
    size: int = 0
    batches: int = 0
    counts: AuditCounts = field(default_factory=AuditCounts)
    missing: list[OffsetRange] = field(default_factory=list)  # Offsets that should be here and cannot be read.
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)  # What is odd and no fault.
    producers: list[ProducerRun] = field(default_factory=list)

    def problem(self, what: str) -> None:
        if len(self.problems) < PROBLEMS_SHOWN_MAX:
            self.problems.append(f"{self.name}: {what}")


@dataclass
class PartitionReport:
    """One partition. It is sound when nothing is missing, nothing is there twice, and no problem was found."""

    topic: str
    partition: int
    log_start: int = 0
    flushed: int = 0
    end: int = 0  # All offsets below this were acknowledged, as far as is known.
    segments: int = 0
    size: int = 0
    batches: int = 0
    tail: int = 0  # Offsets at and above `flushed`, from the write-ahead log or the broker.
    counts: AuditCounts = field(default_factory=AuditCounts)
    missing: list[OffsetRange] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    leftovers: int = 0  # Segments that no manifest lists, and that are no fault.
    expected: int = 0  # Offsets a producer says were acknowledged.
    expected_missing: int = 0
    expected_expired: int = 0  # Of these, below log start: retention let them go.

    @property
    def missing_count(self) -> int:
        return sum(each.width for each in self.missing)

    @property
    def total(self) -> int:
        """How many offsets there should be."""
        return max(0, self.end - self.log_start)

    @property
    def delivered_percent(self) -> float:
        """Offsets accounted for, of all that there should be; with a producer's list, the worse of the two."""
        shares = [1 - self.missing_count / self.total] if self.total else []
        shares += [1 - self.expected_missing / self.expected] if self.expected else []
        if not shares:
            return 0.0 if self.problems else 100.0
        return 100 * min(shares)

    @property
    def is_sound(self) -> bool:
        return not (self.missing or self.problems or self.counts.duplicates or self.expected_missing)

    def take(self, reports: Iterable[SegmentReport]) -> None:
        """Add what tasks found, in the order of offsets."""
        for each in sorted(reports, key=lambda report: report.span):
            self.segments += 1
            self.size += each.size
            self.batches += each.batches
            self.counts.add(each.counts)
            self.missing += each.missing
            self.problems += each.problems[: PROBLEMS_SHOWN_MAX - len(self.problems)]
            self.notes += each.notes

    def facts(self) -> dict[str, Any]:
        """For machines."""
        return {
            "topic": self.topic,
            "partition": self.partition,
            "sound": self.is_sound,
            "delivered_percent": round(self.delivered_percent, 6),
            "log_start": self.log_start,
            "flushed": self.flushed,
            "end": self.end,
            "segments": self.segments,
            "bytes": self.size,
            "batches": self.batches,
            **vars(self.counts),
            "tail": self.tail,
            "missing": self.missing_count,
            "gaps": [list(each) for each in self.missing],
            "expected": self.expected,
            "expected_missing": self.expected_missing,
            "expected_expired": self.expected_expired,
            "leftovers": self.leftovers,
            "problems": self.problems,
            "notes": self.notes,
        }
