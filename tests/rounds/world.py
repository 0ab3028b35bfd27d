"""All processes of one seed on one store: what was acknowledged must be there for whoever comes next."""

from __future__ import annotations

import random
from collections import Counter

from tests.rounds.process import PARTITIONS, Entry, Process
from tests.rounds.turns import Turns

from holdfast.io.clock import ManualClock
from holdfast.io.objects import NotFound
from holdfast.io.objects.memory import MemoryBucket, MemoryObjects
from holdfast.log.rounds.format import SEAL, decode_header
from holdfast.log.rounds.series import SeriesId

TURNS = 700
PROCESSES_MAX = 5
_PAUSES_S = (0.01, 1.0, 60.0, 400.0, 3600.0, 30_000.0)


class ProcessClock(ManualClock):
    """A process's clock; one that others stop may stand still with it."""


class World:
    """One seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.counts: Counter[str] = Counter()
        self.grace_s = 600.0
        self.turns = Turns(self.random)
        self.objects = MemoryObjects(MemoryBucket(), clock=ManualClock())
        self._clocks: list[ManualClock] = []
        self._are_clocks_true = self.random.random() < 0.7
        self.processes: list[Process] = []
        self._values = 0
        self.acked: dict[
            tuple[int, int], tuple[int, int]
        ] = {}  # By partition and offset: the value, and by which life.
        self.swept: set[SeriesId] = set()

    def new_clock(self) -> ManualClock:
        self._clocks.append(ProcessClock())
        return self._clocks[-1]

    def new_value(self) -> int:
        self._values += 1
        return self._values

    def run(self) -> None:
        """Processes come, write and go; then one comes undisturbed, all sleepers wake, and another one comes."""
        try:
            self.turns.fault_share = self.random.choice((0.0, 0.02, 0.06))
            self.turns.sleep_share = self.random.choice((0.0, 0.03, 0.1))
            self.come()
            for _ in range(TURNS):
                self.happen()
            self.turns.fault_share = self.turns.sleep_share = 0.0
            self.look()
            for _ in range(TURNS // 4):
                self.turns.next()
            self.look()
        finally:
            self.counts["turns"] += self.turns.count
            self.turns.end()

    def come(self) -> None:
        self.processes.append(Process(self, self.random))
        self.counts["processes"] += 1

    def happen(self) -> None:
        drawn = self.random.random()
        if drawn < 0.01 and len(self.processes) < PROCESSES_MAX:
            self.come()
        elif drawn < 0.017:
            self.counts["killed"] += self.random.choice(self.processes).kill()
        elif drawn < 0.06:
            self.pass_time(self.random.choice(_PAUSES_S))
        elif not self.turns.next() and len(self.processes) < PROCESSES_MAX:
            self.come()

    def pass_time(self, seconds: float) -> None:
        """Clocks stand still in a machine that others stop."""
        for clock in self._clocks:
            if self._are_clocks_true or self.random.random() < 0.5:
                clock.advance(seconds)

    def look(self) -> None:
        """Whoever comes now, undisturbed, has everything."""
        self.come()
        last = self.processes[-1]
        for _ in range(100_000):
            if last.serves:
                break
            assert not last.is_over
            self.pass_time(0.1)
            self.turns.next(last.actors)
        assert last.serves, "A takeover does not come to its end."

    # What is checked

    def acknowledged(self, process: Process, number: int, entries: list[tuple[int, Entry]]) -> None:
        self.counts["acknowledged"] += len(entries)
        series = process.series
        for below in range(process.under_way.first, number + 1):
            try:
                head = self.objects.get(series.name(below))
            except NotFound:
                continue
            assert decode_header("", head).kind != SEAL, "A life has acknowledged behind its seal."
        if self._are_clocks_true:
            assert series.id not in self.swept, "A life has acknowledged when all of it was deleted but its seal."
        for partition, entry in entries:
            for offset, value in enumerate(entry.values, entry.start):
                before, _ = self.acked.setdefault((partition, offset), (value, process.life))
                assert before == value, f"Offset {offset} of partition {partition} was acknowledged twice."

    def begins(self, process: Process) -> None:
        """A process serves: everything that was acknowledged by lives before it is there, once."""
        self.counts["served"] += 1
        self.counts["taken over"] += len(self.processes) > 1
        for partition in PARTITIONS:
            log = process.log(partition)
            assert len(set(log)) == len(log), "Something is there twice."
            for (home, offset), (value, life) in self.acked.items():
                if home == partition and life < process.life:
                    assert offset < len(log), f"An acknowledged entry was lost: offset {offset} of {len(log)}."
                    assert log[offset] == value, f"Another entry is where one was acknowledged: offset {offset}."
