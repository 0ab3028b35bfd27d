"""Flushes, deletes, retention, merges and reads of the model test: begun, then taken forward call by call."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule
from tests.log.faults import NO_FAULTS, Faults, faults
from tests.log.log_world import turns
from tests.log.producing import Producing, slots

from holdfast.errors import Unavailable
from holdfast.log.errors import OutOfRange

CHANGES = ["flush", "flush", "flush", "delete records", "retention", "merge"]

limits = st.sampled_from([0, 500, 2000, 1 << 20, 1 << 20])
index = st.integers(0, 7)
places = st.floats(0, 1)


class Changing(Producing):
    """What takes long: when each call takes effect, when it is heard of, and what the store does to it."""

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
        self.write()
        self.world.faults = faults
        with contextlib.suppress(Unavailable, OutOfRange):
            self._run(self._change(number, what, place))
        self.world.faults = NO_FAULTS
        if purge:
            self.logs.purge()
            self.write()

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
        self.write()
        for slot in self.slots:
            failures = 0
            while slot.partition.marks.flushed < slot.partition.marks.durable:
                try:
                    self._run(slot.partition.flush())
                except Unavailable:
                    failures += 1
                assert failures < 3, "A flush never succeeds."
        self.logs.purge()
        self.write()

    @rule(number=slots, place=places, max_bytes=limits, max_records=st.sampled_from([None, None, None, 0, 5]))
    def start_read(self, number: int, place: float, max_bytes: int, max_records: int | None) -> None:
        slot, partition = self.slots[number], self._partition(number)
        start, end = partition.marks.log_start, partition.marks.high_watermark
        if len(self.reads) < 4:
            offset = start + int((end - start) * place)
            self.reads.append((slot, offset, self._begin(partition.read(offset, max_records, max_bytes))))

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
        self.write()
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
