"""The partition log as a state machine: everything that can happen to it, in any order, one step at a time.

Blocking calls of flushes, reads, deletes and merges are parked: when each takes effect, when it is heard of, and what
the store does to it are steps of their own, so that everything else happens in between.
"""

from __future__ import annotations

from uuid import UUID

from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, rule
from tests.log.changing import Changing
from tests.log.faults import NO_FAULTS, Faults, faults
from tests.log.log_world import turns
from tests.log.producing import slots
from tests.log.second_writer import replace_first_segment
from tests.log.slot import Slot

from holdfast.errors import HoldfastError
from holdfast.types import PartitionId

ENDS = [
    "kill",
    "power cut",
    "power cut in a write",
    "power cut in the next start",
    "failed fsync, kill",
    "failed fsync, power cut",
    "close",
]

dice = st.integers(0, 3)


class PartitionMachine(Changing):
    """The producers, what takes long, and all that may happen beside; and what must hold after every step."""

    @initialize()
    def first_start(self) -> None:
        self._start(clean=False, faults=NO_FAULTS, crash_after=None)

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

    @rule(number=slots)
    def second_writer_replaces_a_segment(self, number: int) -> None:
        replace_first_segment(self.world, self._partition(number))

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
            except HoldfastError as failure:
                raise AssertionError(f"What must be readable is not: {failure!r}") from failure
