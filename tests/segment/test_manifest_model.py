"""Manifests against a plain list, with writers that pause, a store that fails, and a garbage collector beside them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from uuid import UUID

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from holdfast.errors import Fenced, Unavailable
from holdfast.io import versions
from holdfast.io.chance import SeededChance
from holdfast.io.clock import ManualClock
from holdfast.io.objects.faulty import Delay, FailAfter, FailBefore, FailEarly, FaultyObjects
from holdfast.io.objects.memory import MemoryBucket, MemoryObjects
from holdfast.io.versions import FULL_EVERY, GRACE_S, VersionRetries
from holdfast.segment.errors import DoesNotFit, SegmentTooOld
from holdfast.segment.garbage import collect_partition
from holdfast.segment.manifest.changes import Append, RaiseEpoch, RaiseLogStart, Replace
from holdfast.segment.manifest.info import SegmentInfo
from holdfast.segment.manifest.load import load_manifest
from holdfast.segment.manifest.log import ManifestLog
from holdfast.segment.names import segment_name
from holdfast.types import PartitionId

HOME = PartitionId(UUID(int=5), 0)
WRITERS = st.sampled_from(["a", "b", "c"])


@dataclass(frozen=True)
class Model:
    """A manifest as a list, in the plainest way."""

    version: int = 0
    epoch: int = 1
    log_start: int = 0
    flushed: int = 0
    segments: tuple[tuple[int, int, str], ...] = ()

    def apply(self, change: object) -> Model | None:
        """The next one, or None if the change does not fit."""
        after = replace(self, version=self.version + 1)
        match change:
            case Append(segments=new):
                ends = [self.flushed, *(each.end for each in new)]
                if [each.base for each in new] == ends[:-1]:
                    rows = tuple((each.base, each.end, each.name) for each in new)
                    return replace(after, flushed=ends[-1], segments=self.segments + rows)
            case RaiseEpoch(epoch=epoch):
                return replace(after, epoch=epoch) if epoch > self.epoch else None
            case RaiseLogStart(log_start=start):
                if self.log_start < start <= self.flushed:
                    kept = tuple(row for row in self.segments if row[1] > start)
                    return replace(after, log_start=start, segments=kept)
            case Replace(old=old, new=new):
                names = tuple(row[2] for row in self.segments)
                for start in range(len(names)):
                    if names[start : start + len(old)] == old:
                        rows = tuple((each.base, each.end, each.name) for each in new)
                        return replace(after, segments=self.segments[:start] + rows + self.segments[start + len(old) :])
        return None


class Manifests(RuleBasedStateMachine):
    """Three writers share one partition; whoever raised the epoch last may write."""

    def __init__(self) -> None:
        super().__init__()
        versions.FULL_EVERY = 4  # So that a few steps see numbers deleted.
        self.clock = ManualClock()
        self.chance = SeededChance(3)
        self.objects = MemoryObjects(MemoryBucket(), clock=self.clock)
        self.faults: list[object] = []
        self.faulty = FaultyObjects(self.objects, self._plan)
        self.logs = {name: self._open(name) for name in "abc"}
        self.prepared: dict[str, object] = {}
        self.model = Model()
        self.raisers: dict[int, str] = {}
        self.late: list[object] = []  # Changes whose put may have taken effect, or may still.

    def teardown(self) -> None:
        versions.FULL_EVERY = FULL_EVERY

    def _plan(self, call):
        if not self.faults or call.kind not in ("put_if_absent", "get") or not call.name.startswith("manifests/"):
            return None
        fault = self.faults.pop()
        return fault if call.kind == "put_if_absent" or not isinstance(fault, FailEarly) else None

    def _open(self, writer):
        patience = VersionRetries(self.clock, self.chance, self.clock.advance, tries=3)
        return ManifestLog.open(self.faulty, HOME, cluster_id="c", writer=writer, patience=patience, first_epoch=1)

    def _put(self, base, end, **values):
        name = segment_name(HOME, base, end, 1, f"{self.chance.bits(64):016x}")
        info = SegmentInfo(name, base, end, 100, 50, 0, 0, end - base, **values)
        self.objects.put_if_absent(name, [bytes(100)])
        return info

    @rule(writer=WRITERS, sizes=st.lists(st.integers(1, 9), min_size=1, max_size=3))
    def put_segments(self, writer, sizes):
        base, made, stored_at = self.logs[writer].manifest.flushed, [], self.clock.monotonic()
        for size in sizes:
            made.append(self._put(base, base + size))
            base += size
        self.prepared[writer] = Append(tuple(made), base, {}, stored_at)

    @rule(writer=WRITERS, data=st.data())
    def compact(self, writer, data):
        segments = self.logs[writer].manifest.segments.items
        if segments:
            start = data.draw(st.integers(0, len(segments) - 1))
            run = segments[start : start + data.draw(st.integers(1, 4))]
            stored_at = self.clock.monotonic()
            made = self._put(run[0].base, run[-1].end, compacted=True)
            self.prepared[writer] = Replace(tuple(each.name for each in run), (made,), stored_at)

    @rule(writer=WRITERS, amount=st.integers(1, 20))
    def raise_log_start(self, writer, amount):
        manifest = self.logs[writer].manifest
        self.prepared[writer] = RaiseLogStart(min(manifest.flushed, manifest.log_start + amount))

    @rule(writer=WRITERS)
    def raise_epoch(self, writer):
        manifest = self.logs[writer].manifest
        self.prepared[writer] = RaiseEpoch(manifest.epoch + 1, max(manifest.flushed, manifest.epochs[-1].start))

    @rule(writer=WRITERS)
    def reopen(self, writer):
        self.faults.clear()
        self.logs[writer] = self._open(writer)

    @rule(faults=st.lists(st.sampled_from([FailBefore(), FailAfter(), FailEarly()]), max_size=8))
    def plan_faults(self, faults):
        self.faults = list(faults)

    @rule()
    def requests_under_way_arrive(self):
        self.faulty.arrive()

    @rule(seconds=st.sampled_from([1.0, GRACE_S / 3, GRACE_S * 0.6, GRACE_S * 1.1, GRACE_S * 3]))
    def time_passes(self, seconds):
        self.faulty.arrive()  # No request lives as long as half of the grace.
        self.clock.advance(seconds)

    @rule()
    def collect(self):
        collect_partition(self.objects, HOME, self.clock.now_ms())

    @rule(writer=WRITERS, times=st.integers(1, 6))
    def flush_several_times(self, writer, times):
        for _ in range(times):
            self.put_segments(writer, [1])
            self._commit(writer)

    @precondition(lambda self: self.prepared)
    @rule(writer=WRITERS)
    def commit(self, writer):
        self._commit(writer)

    @precondition(lambda self: self.prepared)
    @rule(writer=WRITERS)
    def commit_with_a_slow_request(self, writer):
        """Slower than any deadline allows, while others' requests arrive and the collector runs."""
        self.faults = [Delay(self._be_slow)]
        self._commit(writer)

    def _be_slow(self):
        self.faulty.arrive()
        self.clock.advance(GRACE_S * 0.49)
        self.collect()

    def _commit(self, writer):
        change = self.prepared.pop(writer, None)
        if change is None:
            return
        epoch_before = self.logs[writer].epoch
        try:
            manifest = self.logs[writer].commit(change)
        except (DoesNotFit, Fenced, SegmentTooOld):
            return
        except Unavailable:
            self.late.append(change)
            return
        if not isinstance(change, RaiseEpoch) and manifest.epoch != epoch_before:
            # It has raised the epoch before, and did not know, since the answer was lost.
            assert self.raisers.get(manifest.epoch) == writer, "A fenced writer wrote."
        if isinstance(change, RaiseLogStart | RaiseEpoch) and manifest.version <= self.model.version:
            return  # It is that high already.
        self._take_in([after for before in self._possible() if (after := before.apply(change))], manifest)
        self.late.clear()

    def _possible(self):
        return [self.model, *(after for each in self.late if (after := self.model.apply(each)))]

    def _take_in(self, models, real):
        fitting = [each for each in models if matches(each, real)]
        assert fitting, (self.model, models, real)
        self.model = fitting[0]
        self.raisers.setdefault(real.epoch, real.stamp.writer)

    @invariant()
    def the_newest_manifest_is_the_model(self):
        self._take_in(self._possible(), load_manifest(self.objects, HOME))

    @invariant()
    def every_listed_segment_is_in_the_store(self):
        for each in load_manifest(self.objects, HOME).segments:
            assert self.objects.size(each.name) == each.size


def matches(model, real):
    rows = tuple((each.base, each.end, each.name) for each in real.segments)
    return model == Model(real.version, real.epoch, real.log_start, real.flushed, rows)


Manifests.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestManifests = Manifests.TestCase
TestManifests.__doc__ = "L2, S7: after every step the list is right, and everything it lists is in the store."
