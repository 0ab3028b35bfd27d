"""A repaired partition is written: segments for what is left of damaged ones and of the tail, and one full manifest.

Nothing in the store is changed or deleted. The new manifest has the number of the next full list, above every version
there is, readable or not; so nobody reads a damaged one again, and the same repair can be made twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from holdfast.io.chance import Chance
from holdfast.io.objects import Objects
from holdfast.io.versions import FULL_EVERY, Stamp, Versions, full_before
from holdfast.log.metadata import Identity
from holdfast.log.partition.producers import ProducerTable, Transactions
from holdfast.operate.repair.partition import Batch, PartitionPlan
from holdfast.operate.repair.segment import Survivors
from holdfast.segment.manifest.codec import encode
from holdfast.segment.manifest.info import SegmentInfo
from holdfast.segment.manifest.manifest import EpochStart, Manifest
from holdfast.segment.manifest.segments import SegmentList
from holdfast.segment.names import new_tag
from holdfast.segment.producers import longest_silent_first
from holdfast.segment.writer import encode_segment
from holdfast.types import Epoch, Offset

_SEGMENT_SIZE_MAX = 64 << 20


@dataclass(frozen=True)
class Repairer:
    """Writes plans into a store, in the name of a broker whose generation is above all that wrote before."""

    objects: Objects
    identity: Identity
    chance: Chance

    def write(self, plan: PartitionPlan) -> Manifest:
        """Put the segments, then the manifest that lists them."""
        before = plan.manifest
        known = plan.producers if plan.producers is not None else (before.producers if before else {})
        producers = ProducerTable(longest_silent_first(known.values()))
        running_ms = max((each.heard_ms for each in known.values()), default=before.running_ms if before else 0)
        segments = [self._again(plan, each) for each in plan.segments]
        segments += self._tail_segments(plan, producers, running_ms)
        end = Offset(segments[-1].end if segments else plan.end)
        log_start = Offset(before.log_start if before else segments[0].base if segments else end)
        generation = Epoch(self.identity.generation)
        epochs = (*(before.epochs if before else ()), EpochStart(generation, end))
        undecided = producers.open_transactions().values()
        manifest = Manifest(
            home=plan.home,
            cluster_id=self.identity.cluster,
            version=0 if plan.newest is None else full_before(plan.newest) + FULL_EVERY,
            stamp=Stamp(generation, self.identity.broker, new_tag(self.chance) + new_tag(self.chance)),
            epochs=epochs,
            log_start=log_start if segments else end,
            flushed=end,
            last_stable=Offset(min(undecided, default=end)),
            segments=SegmentList(segments),
            producers=producers.snapshot(),
            running_ms=running_ms,
            cleaned=before.cleaned if before else (),
        )
        versions = Versions(self.objects, plan.home.manifests)
        self.objects.put_if_absent(versions.name(manifest.version), [encode(manifest, [])])
        versions.leave_hint(manifest.version)
        return manifest

    def _again(self, plan: PartitionPlan, info: SegmentInfo) -> SegmentInfo:
        survivors = plan.damaged.get(info.name)
        return info if survivors is None else self._without_what_is_lost(plan, info, survivors)

    def _without_what_is_lost(self, plan: PartitionPlan, info: SegmentInfo, survivors: Survivors) -> SegmentInfo:
        data, made = encode_segment(
            [batch for _, batch in survivors.batches],
            home=plan.home,
            epoch=Epoch(self.identity.generation),
            tag=new_tag(self.chance),
            producers=survivors.producers,
            aborted=info.aborted,
            start=info.base,
            end=info.end,
            compacted=True,
        )
        self.objects.put_if_absent(made.name, data)
        return made

    def _tail_segments(self, plan: PartitionPlan, producers: ProducerTable, now_ms: int) -> Iterator[SegmentInfo]:
        """The tail up to the end, holes and all."""
        transactions = Transactions(producers.open_transactions())
        start = plan.flushed
        runs = list(_runs(plan.tail))
        if not runs and start < plan.end and plan.segments:
            runs = [[]]  # Nothing is left of these offsets, but they were given away: they are not given again.
        for number, run in enumerate(runs):
            for header, batch in run:
                ended = producers.apply(header, batch, now_ms)
                if ended is not None:
                    transactions.end(ended)
                elif header.is_transactional and not header.is_control:
                    transactions.begin(header.producer_id, header.base_offset)
            end = plan.end if number + 1 == len(runs) else runs[number + 1][0][0].base_offset
            data, made = encode_segment(
                [batch for _, batch in run],
                home=plan.home,
                epoch=Epoch(self.identity.generation),
                tag=new_tag(self.chance),
                producers=producers.of(header.producer_id for header, _ in run),
                aborted=transactions.aborted_with_marker_in(start, end),
                start=Offset(start),
                end=Offset(end),
                compacted=True,
            )
            self.objects.put_if_absent(made.name, data)
            yield made
            start = end


def _runs(tail: list[Batch]) -> Iterator[list[Batch]]:
    """Batches that make one segment each."""
    run: list[Batch] = []
    size = 0
    for each in tail:
        if run and size + len(each[1]) > _SEGMENT_SIZE_MAX:
            yield run
            run, size = [], 0
        run.append(each)
        size += len(each[1])
    if run:
        yield run
