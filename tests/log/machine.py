"""The partition log as a state machine: everything that can happen to it, in any order, one step at a time.

Blocking calls of flushes, reads, deletes and compactions are parked: when each takes effect, when it is heard of, and
what the store does to it are steps of their own, so that everything else happens in between.
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.log import plain
from tests.log.parked import ParkedCalls
from tests.log.plain import PlainBatch, unstamped
from tests.log.slot import Slot
from tests.log.world import NOW, World, batch, from_producer, marker, turns

from holdfast.errors import Corrupt, HoldfastError, Rejected, Unavailable
from holdfast.io.faulty_objects import Call, FailAfter, FailBefore, FailEarly, Fault
from holdfast.io.simdisk import PowerCut
from holdfast.io.versions import Patience
from holdfast.log.errors import OutOfRange, ProducerEpochOld, SequenceGap, SequenceOld
from holdfast.log.logs import Logs
from holdfast.log.partition import PartitionLog
from holdfast.log.settings import PartitionSettings
from holdfast.record.batch import read_header
from holdfast.record.errors import TooLarge
from holdfast.segment.blocks import BlockCache
from holdfast.segment.changes import Replace
from holdfast.segment.manifest_log import ManifestLog
from holdfast.segment.names import PartitionId, new_tag
from holdfast.segment.read import SegmentReader
from holdfast.segment.writer import encode_segment

SAFE, QUICK = 0, 1
BATCH_SIZE_MAX = 6000
SETTINGS = (
    PartitionSettings(batch_size_max=BATCH_SIZE_MAX, retention_ms=-1),
    PartitionSettings(batch_size_max=BATCH_SIZE_MAX, retention_ms=-1, durability="memory"),
)
REFUSALS = {SequenceGap: "gap", SequenceOld: "old", ProducerEpochOld: "zombie"}


class Faults:
    """What happens to the next requests whose names start with a prefix."""

    def __init__(self, faults: list[Any], prefix: str = "") -> None:
        self._faults = faults
        self._left = list(faults)
        self._prefix = prefix

    def __call__(self, call: Call) -> Fault | None:
        return self._left.pop(0) if self._left and call.name.startswith(self._prefix) else None

    def __repr__(self) -> str:
        return f"Faults({self._faults}, {self._prefix!r})"


ENDS = [
    "kill",
    "power cut",
    "power cut in a write",
    "power cut in the next start",
    "failed fsync, kill",
    "failed fsync, power cut",
    "close",
]

CHANGES = ["flush", "flush", "flush", "delete records", "retention", "merge"]

NO_FAULTS = Faults([])

dice = st.integers(0, 3)
slots = st.sampled_from([SAFE, QUICK])
sizes = st.sampled_from([1, 30, 30, 300, 1500, 5000])  # The last is larger than a segment and than a chunk.
limits = st.sampled_from([0, 500, 2000, 1 << 20, 1 << 20])
one_fault = st.sampled_from([FailBefore(), FailAfter(), FailEarly()])
some_faults = st.one_of(
    st.just([]),
    st.lists(st.none() | one_fault, max_size=6),
    st.builds(lambda fault, count: [fault] * count, one_fault, st.integers(10, 16)),  # So many that writers give up.
)
faults = st.builds(Faults, some_faults, st.sampled_from(["", "manifests/", "segments/"]))
index = st.integers(0, 7)
places = st.floats(0, 1)


class SlowWriter:
    """Stands between the log and the loop: what is to be written waits until the machine says so."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._waiting: list[tuple[Any, ...]] = []
        self.call_soon_threadsafe = loop.call_soon_threadsafe

    def call_soon(self, *call: Any) -> None:
        self._waiting.append(call)

    def write(self) -> None:
        for call in self._waiting:
            self._loop.call_soon(*call)
        self._waiting = []


class PartitionMachine(RuleBasedStateMachine):
    """Two partitions, one in each mode, over one write-ahead log."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World(segment_size_max=1000, tail_size_max=3000)
        self.slots = [Slot(PartitionId(UUID(int=number), 0), SETTINGS[number]) for number in (SAFE, QUICK)]
        self.topics = 2
        self.values = 0
        self.calls = ParkedCalls()
        self.loop: asyncio.AbstractEventLoop | None = None
        self.logs: Logs | None = None
        self.acks: list[tuple[Slot, int, asyncio.Task[Any]]] = []
        self.changes: list[asyncio.Task[Any]] = []
        self.reads: list[tuple[Slot, int, asyncio.Task[Any]]] = []
        self.complaints: list[dict[str, Any]] = []  # Of the loop: what failed where nobody listened.

    # The process

    @initialize()
    def first_start(self) -> None:
        self._start(clean=False, faults=NO_FAULTS, crash_after=None)

    def _start(self, *, clean: bool, faults: Faults, crash_after: int | None) -> None:
        """Open everything: perhaps the store fails the first time, perhaps the power does."""
        disk = self.world.disk
        self.world.faults = faults
        disk.crash_at = None if crash_after is None else disk.calls + crash_after
        try:
            self._open(clean=clean)
        except (Unavailable, PowerCut) as failure:
            if isinstance(failure, PowerCut):
                disk.power_cut()
            self._end_loop()
            self.world.faults, disk.crash_at = NO_FAULTS, None
            disk.kill()
            self._open(clean=clean and not isinstance(failure, PowerCut))
        self.world.faults, disk.crash_at = NO_FAULTS, None

    def _open(self, *, clean: bool) -> None:
        self.loop = asyncio.new_event_loop()
        self.loop.set_exception_handler(self._complain)
        self.calls = ParkedCalls()
        self.logs = self._run(self.world.open(calls=self.calls))
        self.writer = self.logs._ground.journal._loop = SlowWriter(self.loop)
        for slot in self.slots:
            partition = self._run(self.logs.partition(slot.home, slot.settings))
            slot.reopened(partition, clean=clean or not slot.history)

    def _complain(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if not isinstance(context.get("exception"), PowerCut):
            self.complaints.append(context)

    def _run(self, work: Any) -> Any:
        assert self.loop is not None
        return self.loop.run_until_complete(work)

    def _end_loop(self) -> None:
        """The process is gone: nothing of it goes on."""
        if self.loop is None:
            return
        tasks = asyncio.all_tasks(self.loop)
        for task in tasks:
            task.cancel()
        ours = [*self.changes, *(each[2] for each in self.acks + self.reads)]  # Whatever they say, nobody asks.
        self.loop.run_until_complete(_ended([*tasks, *ours]))
        self.loop.close()
        self.loop = self.logs = None
        self.acks, self.changes, self.reads = [], [], []

    def teardown(self) -> None:
        self.world.disk.kill()
        self._end_loop()

    @rule(how=st.sampled_from(ENDS), faults=faults, calls=st.integers(0, 12), dice=dice)
    def end_the_process(self, how: str, faults: Faults, calls: int, dice: int) -> None:
        """By a kill or a power cut, in the middle of a write or of the next start, by a failed fsync, or cleanly."""
        if dice != 1:  # Not too often: something should have happened in between.
            return
        disk = self.world.disk
        if how == "power cut in a write":
            disk.crash_at = disk.calls + calls % 4
            self.fsync()
        elif how.startswith("failed fsync"):
            disk.fail_next("sync")
            self.fsync()
        elif how == "close":
            self._close_and_reopen(faults)
            return
        self._crash("power cut" in how, faults, calls if how == "power cut in the next start" else None)

    def _crash(self, power_cut: bool, faults: Faults, crash_after: int | None) -> None:
        self._look()
        if power_cut:
            self.world.disk.power_cut()
        else:
            self.world.disk.kill()
        self._end_loop()
        self._start(clean=False, faults=faults, crash_after=crash_after)

    def _close_and_reopen(self, faults: Faults) -> None:
        self.let_all_go()
        assert self.logs is not None
        self._run(self.logs.close())
        self._look()
        self._end_loop()
        self._start(clean=True, faults=faults, crash_after=None)

    # Producers

    @rule(number=slots, sizes=st.lists(sizes, min_size=1, max_size=6))
    def append(self, number: int, sizes: list[int]) -> None:
        for size in sizes:
            self._append(self.slots[number], batch(*self._new_values(size), timestamp=NOW))

    @rule(
        number=slots,
        producer=st.integers(1, 3),
        epoch=st.integers(0, 1),
        distance=st.sampled_from([0, 0, 0, 0, -1, -2, -7, 1]),
        size=sizes,
        transactional=st.booleans(),
    )
    def append_idempotent(
        self, number: int, producer: int, epoch: int, distance: int, size: int, transactional: bool
    ) -> None:
        """New, repeated, too early, too old, or of a zombie: it is told what the plain history says."""
        slot = self.slots[number]
        mine = [each for each in slot.history if (each.producer, each.epoch, each.marker) == (producer, epoch, "")]
        if distance < 0 and len(mine) >= -distance:
            sent = mine[distance]
            values, sequence, transactional = [b"repeat"] * sent.count, sent.sequence, sent.transactional
        else:
            values = self._new_values(size)
            sequence = max((mine[-1].last_sequence + 1 if mine else 0) + distance, 0)
        data = from_producer(sequence, *values, number=producer, epoch=epoch, transactional=transactional)
        expected = plain.verdict(slot.history, producer, epoch, sequence, len(values))
        self._append(slot, data, expected)

    @rule(number=slots, producer=st.integers(1, 3), epoch=st.integers(0, 1), abort=st.booleans())
    def end_transaction(self, number: int, producer: int, epoch: int, abort: bool) -> None:
        slot = self.slots[number]
        assert slot.partition is not None
        known = [each.epoch for each in slot.history if each.producer == producer]
        try:
            place = slot.partition.append_marker(marker(producer, epoch, abort=abort))
        except ProducerEpochOld:
            assert epoch < known[-1]
            return
        assert not known or epoch >= known[-1]
        data = slot.partition.tail._batches[-1].data
        assert data is not None
        self._note(slot, place.base_offset, data, marker="abort" if abort else "commit")

    @rule(number=slots, sizes=st.lists(sizes, min_size=1, max_size=6))
    def append_and_fsync(self, number: int, sizes: list[int]) -> None:
        """With one in the middle that is too large: it leaves no trace."""
        self.append(number, sizes[:2])
        with pytest.raises(TooLarge):
            self._append(self.slots[number], batch(bytes(BATCH_SIZE_MAX)))
        self.append(number, sizes[2:])
        self.fsync()

    def _new_values(self, size: int) -> list[bytes]:
        self.values += 1
        return [b"%d." % self.values + bytes(size), b"%d" % self.values][: 1 + self.values % 2]

    def _append(self, slot: Slot, data: bytearray, expected: str | PlainBatch = "append") -> None:
        partition = slot.partition
        assert partition is not None
        [(header, checked)] = partition.check_batches(data)
        try:
            place = partition.append_one(header, checked)
        except tuple(REFUSALS) as failure:
            self._check_refusal(failure, expected)
            return
        if place.repeated:
            assert isinstance(expected, PlainBatch)
            assert (place.base_offset, place.end_offset) == (expected.base, expected.end)
        else:
            assert expected == "append"
            self._note(slot, place.base_offset, checked)
        assert self.loop is not None
        ack = self.loop.create_task(partition.acknowledged(place.end_offset))
        self.acks.append((slot, place.end_offset, ack))

    @staticmethod
    def _check_refusal(failure: Exception, expected: object) -> None:
        assert REFUSALS[type(failure)] == expected

    def _note(self, slot: Slot, base: int, data: memoryview, marker: str = "") -> None:
        assert base == slot.end, "An offset was given twice, or left out."
        header = read_header(data)
        slot.history.append(
            PlainBatch(
                base,
                header.record_count,
                unstamped(header, data),
                header.producer_id,
                header.producer_epoch,
                header.base_sequence,
                header.is_transactional,
                marker,
                header.leader_epoch,
            )
        )

    @rule()
    def fsync(self) -> None:
        self.writer.write()
        self._run(turns(5))

    # What takes long

    def _begin(self, work: Any) -> asyncio.Task[Any]:
        task = self.calls.start(work, self.loop)
        self._run(turns(3))
        return task

    @rule(number=slots, what=st.sampled_from(CHANGES), place=places)
    def start_change(self, number: int, what: str, place: float) -> None:
        if len(self.changes) < 4:
            self.changes.append(self._begin(self._change(number, what, place)))

    @rule(number=slots, what=st.sampled_from(CHANGES), place=places, faults=faults, purge=st.booleans())
    def change_at_once(self, number: int, what: str, place: float, faults: Faults, purge: bool) -> None:
        """While reads are under way, but no other change."""
        if self.changes:
            return
        self.fsync()
        self.world.faults = faults
        with contextlib.suppress(Unavailable, OutOfRange):
            self._run(self._change(number, what, place))
        self.world.faults = NO_FAULTS
        if purge:
            self.logs.purge()
            self.fsync()

    def _change(self, number: int, what: str, place: float) -> Any:
        partition = self._partition(number)
        if what == "flush":
            return partition.flush()
        if what == "delete records":
            return partition.delete_records(int(partition.marks.high_watermark * place * place))
        if what == "retention":
            partition.settings = replace(partition.settings, retention_size=int(10_000 * place))
            return partition.apply_retention()
        return partition.compact()

    @rule()
    def the_store_is_well(self) -> None:
        """Then everything can be flushed, whatever went wrong before; reads are still under way."""
        if self.changes:
            self.let_all_go()
        self.fsync()
        for slot in self.slots:
            failures = 0
            while slot.partition.marks.flushed < slot.partition.marks.durable:
                try:
                    self._run(slot.partition.flush())
                except Unavailable:
                    failures += 1
                assert failures < 3, "A flush never succeeds."
        self.logs.purge()
        self.fsync()

    @rule(number=slots, place=places, max_bytes=limits, max_records=st.sampled_from([None, None, None, 0, 5]))
    def start_read(self, number: int, place: float, max_bytes: int, max_records: int | None) -> None:
        slot, partition = self.slots[number], self._partition(number)
        start, end = partition.marks.log_start, partition.marks.high_watermark
        if len(self.reads) < 4:
            offset = start + int((end - start) * place)
            self.reads.append((slot, offset, self._begin(partition.read(offset, max_records, max_bytes))))

    def _partition(self, number: int) -> PartitionLog:
        partition = self.slots[number].partition
        assert partition is not None
        return partition

    @precondition(lambda self: any(not each.performed for each in self.calls.parked))
    @rule(number=index, faults=faults)
    def a_call_takes_effect(self, number: int, faults: Faults) -> None:
        """Its requests to the store fail before or after they are done, or arrive later, or pass."""
        waiting = [each for each in self.calls.parked if not each.performed]
        self.world.faults = faults
        waiting[number % len(waiting)].perform()
        self.world.faults = NO_FAULTS

    @precondition(lambda self: any(each.performed for each in self.calls.parked))
    @rule(number=index)
    def a_call_is_heard_of(self, number: int) -> None:
        done = [each for each in self.calls.parked if each.performed]
        parked = done[number % len(done)]
        self.calls.parked.remove(parked)
        parked.deliver()
        self._run(turns(3))
        self._check_tasks()

    @precondition(lambda self: self.calls.parked)
    @rule(count=st.integers(1, 12), faults=faults)
    def calls_go_on(self, count: int, faults: Faults) -> None:
        """Some calls take effect and are heard of at once."""
        self.world.faults = faults
        while self.calls.parked and count:
            self.calls.let_go()
            self._run(turns(3))
            count -= 1
        self.world.faults = NO_FAULTS
        self._check_tasks()

    @rule()
    def let_all_go(self) -> None:
        self.fsync()
        for _ in range(500):
            if not self.calls.parked:
                break
            self.calls.let_go()
            self._run(turns(3))
        self._check_tasks()
        assert not self.changes, "A flush or another change hangs."
        assert not self.reads, "A read hangs."

    @precondition(lambda self: self.changes)
    @rule(number=index)
    def cancel(self, number: int) -> None:
        self.changes[number % len(self.changes)].cancel()
        self._run(turns(3))
        self._check_tasks()

    def _check_tasks(self) -> None:
        """Whatever has ended has ended well, or with an error that says what to do."""
        for task in [each for each in self.changes if each.done()]:
            self.changes.remove(task)
            failure = None if task.cancelled() else task.exception()
            assert failure is None or isinstance(failure, Unavailable | OutOfRange), failure
        for each in [each for each in self.reads if each[2].done()]:
            self.reads.remove(each)
            slot, offset, task = each
            failure = task.exception()
            if failure is None:
                slot.check_read(task.result(), offset)
            elif isinstance(failure, OutOfRange):
                assert offset < slot.partition.marks.log_start
            else:
                assert isinstance(failure, Unavailable), failure

    # Others

    @rule(number=slots)
    def second_writer_replaces_a_segment(self, number: int) -> None:
        """A legitimate one, as compaction is: in the same epoch, with a manifest log of its own."""
        partition, world = self._partition(number), self.world
        patience = Patience(world.clock, partition.ground.chance, lambda _: None)
        cluster = partition.ground.journal.identity.cluster
        log = ManifestLog.open(world.objects, partition.home, cluster_id=cluster, writer="other", patience=patience)
        if not len(log.manifest.segments):
            return
        old = log.manifest.segments[0]
        found = SegmentReader(BlockCache(world.objects, 1 << 22)).read(old, old.base, 1 << 30)
        tag = new_tag(partition.ground.chance)
        data, info = encode_segment(
            found.buffers, home=partition.home, epoch=log.manifest.epoch, tag=tag, aborted=old.aborted
        )
        world.objects.put_if_absent(info.name, data)
        log.commit(Replace((old.name,), (info,), world.clock.monotonic()))

    @rule(what=st.sampled_from(["arrive", "arrive", "collect", "purge", "purge", "1 s", "20 min", "66 min", "3 h"]))
    def meanwhile(self, what: str) -> None:
        """Late requests reach the store, garbage is collected, the write-ahead log is purged, or time passes."""
        assert self.logs is not None
        if what == "collect":
            self._run(self.logs._upkeep.collect_garbage())
        elif what == "purge":
            self.logs.purge()
        else:
            self.world.store.arrive()  # No request lives as long as half of the grace.
            self.world.clock.advance({"arrive": 0, "1 s": 1, "20 min": 1200, "66 min": 3960, "3 h": 10_800}[what])

    @rule(number=slots, dice=dice)
    def delete_topic_and_make_it_again(self, number: int, dice: int) -> None:
        if dice != 1:
            return
        assert self.logs is not None
        slot = self.slots[number]
        self.let_all_go()
        self.world.store.arrive()
        deletion = self.loop.create_task(self.logs.delete_topic(slot.home.topic_id))
        self._run(turns(2))
        self.fsync()
        self._run(deletion)
        self._run(turns())
        assert not [name for name in self.world.names() if slot.home.topic_id.hex in name]
        self.acks = [each for each in self.acks if each[0] is not slot]
        self.slots[number] = Slot(PartitionId(UUID(int=self.topics), 0), slot.settings)
        self.topics += 1
        self.slots[number].partition = self._run(self.logs.partition(self.slots[number].home, slot.settings))

    # What must hold

    def _look(self) -> None:
        """What a producer or a reader may have heard by now."""
        for slot in self.slots:
            if slot.partition is not None:
                slot.durable = max(slot.durable, slot.partition.marks.durable)
                slot.shown = max(slot.shown, slot.partition.marks.high_watermark)

    @invariant()
    def nothing_fails_where_nobody_listens(self) -> None:
        assert not self.complaints

    @invariant()
    def acknowledged_means_durable(self) -> None:
        for slot, end, ack in [each for each in self.acks if each[2].done()]:
            self.acks.remove((slot, end, ack))
            if not ack.cancelled() and ack.exception() is None and slot.settings.durability == "fsync":
                assert slot.partition.marks.high_watermark >= end, "An ack came before its record was readable."
                assert slot.partition.marks.durable >= end, "An ack came before its fsync."

    @invariant()
    def every_offset_is_readable_exactly_once(self) -> None:
        if self.logs is None:
            return
        for slot in self.slots:
            chance = self.world.chance
            start, end = slot.partition.marks.log_start, slot.partition.marks.high_watermark
            offset = start + chance.bits(16) % (end - start + 1)
            max_bytes = (0, 700, 1 << 20, 1 << 20)[chance.bits(2)]
            try:
                slot.check(self.world.manifest(slot.home), offset, max_bytes)
            except (Rejected, Unavailable, Corrupt, HoldfastError) as failure:
                raise AssertionError(f"What must be readable is not: {failure!r}") from failure


async def _ended(tasks: list[asyncio.Task[Any]]) -> None:
    await asyncio.gather(*tasks, return_exceptions=True)
