"""What a partition has behind its segments, as rounds tell it: where its batches are, and which of them are decided."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.log.partition.producers import Ended, Transactions
from holdfast.log.rounds.seen import RoundRun, SeenTail
from holdfast.record.marker import MarkerKind
from holdfast.segment.manifest.info import Aborted
from holdfast.segment.manifest.manifest import Manifest


@dataclass(frozen=True, slots=True)
class RoundTail:
    """The offsets `[flushed, end)` of a partition."""

    runs: tuple[RoundRun, ...]
    end: int
    last_stable: int  # Below this every transaction is decided. It may be below `flushed`.
    epoch: int  # The leader epoch at the end.
    aborted: tuple[Aborted, ...]  # Whose markers are in rounds. Their records may be in segments.


def tail_of(manifest: Manifest, seen: SeenTail) -> RoundTail | None:
    """What of the rounds is in no segment; None if all is."""
    runs, end, epoch = [], int(manifest.flushed), int(manifest.epoch)
    for run in seen.runs:
        if run.start > end:
            break  # What lies between was in memory only (`holdfast.durability`): it comes with its segment, or never.
        if run.end > end:
            runs.append(run)
            end, epoch = run.end, max(epoch, run.epoch)
    if not runs:
        return None
    transactions = Transactions({each.producer_id: each.first_offset for each in manifest.open_transactions})
    for step in seen.steps:
        if not manifest.flushed <= step.offset < end:
            continue
        if step.marker is None:
            transactions.begin(step.producer_id, step.offset)
        elif step.producer_id in transactions.open:
            first = transactions.open[step.producer_id]
            is_aborted = step.marker == MarkerKind.ABORT
            transactions.end(Ended(step.producer_id, first, step.offset, is_aborted))
    aborted = tuple(transactions.aborted(0, end))
    return RoundTail(tuple(runs), end, transactions.last_stable(end), epoch, aborted)
