"""All lives of one seed: one disk, one store, one model, clients that outlive every crash."""

from __future__ import annotations

import copy
import random
from collections import Counter
from collections.abc import Collection
from typing import Any

from tests.sim.admins import Committer, Member, Operator
from tests.sim.broker_life import AGES_MS, DAY_MS, BrokerLife, turns
from tests.sim.clock import BrokerClock
from tests.sim.model import Model
from tests.sim.producers import HOUR_MS, IdempotentProducer, PlainProducer
from tests.sim.readers import check_committed, check_everything, check_partition, look_while_syncing
from tests.sim.store import ProcessObjects
from tests.sim.usurper import SLEEP_S, go_on, in_thread

from holdfast.broker.running import AllSettings, BrokerEnvironment
from holdfast.broker.settings import BrokerSettings
from holdfast.io.calls import InlineCalls
from holdfast.io.chance import SeededChance
from holdfast.io.clock import ManualClock
from holdfast.io.disk.simulated import SimulatedDisk
from holdfast.io.objects.memory import MemoryBucket, MemoryObjects
from holdfast.log.ownership.owner import PREFIX as OWNERS
from holdfast.log.settings import JournalSettings, LogSettings

LIVES_PER_SEED = 5
FAULTS = ("write", "sync", "sync", "rename", "create", "remove", "sync_names")
KINDS = ("denies", "misreads", "usurps", "jumps", "ages")  # Beside crashes, and failures of disk and store.
JUMPS_MS = (0, 0, HOUR_MS // 2, -HOUR_MS // 2, 8 * DAY_MS, 40 * DAY_MS, -8 * DAY_MS)  # Of the broker's wall clock.
PAUSES = (0, 0, 0, 1, 2, 6, 20)  # Turns of the loop between two things that happen.


class BrokerLives:
    """One seed."""

    def __init__(self, seed: int, kinds: Collection[str] = KINDS, place: str = "disk") -> None:
        """`place` is that of the write-ahead log: with one in the store nothing is on the disk."""
        self.model = Model()
        self._kinds = kinds
        self._place = place
        self.counts: Counter[str] = Counter()
        self._random = random.Random(seed)
        self._disk = SimulatedDisk(SeededChance(seed))
        self._world = ManualClock()
        self._objects = MemoryObjects(MemoryBucket(), clock=self._world)
        self._clean = True  # Nobody has seen an epoch that the next start must raise.
        self._members = [Member(number) for number in range(2)]
        self._clients: list[Any] = [
            *(IdempotentProducer(number) for number in range(3)),
            *(PlainProducer(number) for number in range(2)),
            *(Committer(number) for number in range(2)),
            *self._members,
            Operator(),
        ]
        self._weights = [10, 10, 10, 8, 8, 6, 6, 2, 2, 3]

    def run(self, lives: int = LIVES_PER_SEED) -> None:
        """Live and crash, some times over; then look once more, undisturbed."""
        for _ in range(lives):
            self._disk.crash_at = self._disk.calls + self._random.randrange(self._random.choice((12, 60, 150)))
            if self._random.random() < 0.2:
                self._disk.fail_next(self._random.choice(FAULTS), after=self._random.randrange(20))
                self._live(faulty=True, fault_share=0.0)
            else:
                fault_share = self._random.choice((0.0, 0.0, 0.0, 0.1))
                self._live(faulty=fault_share > 0, fault_share=fault_share)
            self._crash()
        self._disk.crash_at = None
        self._live(faulty=False, fault_share=0.0, close=True)

    def _live(self, *, faulty: bool, fault_share: float, close: bool | None = None) -> None:
        seed = self._random.getrandbits(32)
        denies = self._comes("denies", 0.15)
        self._denies = denies and not faulty  # Then nothing else is wrong with the store.
        misread_at = self._random.choice((5, 20, 60)) if self._comes("misreads", 0.2) else -1
        self._suspend_at = self._random.randrange(150) if self._comes("usurps", 0.25) else -1
        disk, chance = self._disk, SeededChance(seed)
        around = BrokerEnvironment(
            wal_directory=disk,
            objects=ProcessObjects(self._objects, disk, chance, fault_share, denies=denies, misread_at=misread_at),
            clock=BrokerClock(self._world),
            chance=SeededChance(seed),
            calls=InlineCalls(),
            threaded=False,
        )
        close = self._random.random() < 0.25 if close is None else close
        life = BrokerLife(around, self._choose_settings(), self.model, self._random, faulty=faulty or denies)
        life.ages_ms = AGES_MS if "ages" in self._kinds else (0,)
        for client in self._clients:
            client.begin()
        try:
            life.run(self._use, close=close)
        finally:
            disk.during_sync = None
            self.counts += life.counts
            if life.is_shown and not life.is_usurped:
                self._clean = life.is_closing

    def _choose_settings(self) -> AllSettings:
        choose = self._random.choice
        return AllSettings(
            broker=BrokerSettings(offsets_topic_num_partitions=2, group_initial_rebalance_delay_ms=0),
            log=LogSettings(
                segment_size_max=choose((300, 2000)),
                flush_age_ms_max=choose((0, 500, 5000)),
                tail_size_max=choose((1000, 100_000)),
                wal_size_max=choose((12_000, 1 << 20)) if self._place == "disk" else choose((1 << 20, 1 << 24)),
            ),
            wal=JournalSettings(
                place=self._place,
                chunk_size_max=choose((4096, 6000)),
                chunk_entries_max=choose((5, 1000)),
                zero_ahead_size=choose((0, 512)),
                spares_max=choose((0, 2)),
            ),
        )

    def _crash(self) -> None:
        assert self._place == "disk" or not self._disk.names(), "Something is on a disk that nobody keeps."
        if self._random.random() < 0.5:
            self._disk.kill()
            self.counts["killed"] += 1
        else:
            self._disk.power_cut()
            self.counts["power cut"] += 1

    # What happens in a life

    async def _use(self, life: BrokerLife) -> None:
        await check_everything(life, clean=self._clean, started=True)
        for member in self._members:
            await member.check(life)
        self._disk.during_sync = lambda: look_while_syncing(life)
        for step in range(self._random.randrange(150)):
            if life.is_over:
                return
            if step == self._suspend_at:
                life.broker.context.logs.owner.start()  # Without threads nobody has: here time passes when we say so.
                await turns(3)
                if not life.is_over and self._usurp(life):
                    await go_on(life, self._work_in_the_background)
                return
            self._do_something(life)
            await turns(self._random.choice(PAUSES))
        await turns(100)
        if not life.faulty or self._denies:
            await life.check_nobody_waits()
        if not life.is_over:
            await check_everything(life, clean=True, started=False)

    def _comes(self, kind: str, share: float) -> bool:
        """Whether something happens in this life; drawn also where it is left out, so that all else is the same."""
        return self._random.random() < share and kind in self._kinds

    def _usurp(self, life: BrokerLife) -> bool:
        """Suspend this broker; another one lives and ends on a copy of its disk, which is the disk from now on.

        Whether it took its place: one that ended in its start may not have come so far. Then it is as if it had never
        been.
        """
        claims = self._claims()
        self._disk.during_sync = None
        own, self._disk = self._disk, copy.deepcopy(self._disk)
        self._disk.kill()
        self._disk.crash_at = self._disk.calls + 30 + self._random.randrange(150)
        began = self._world.monotonic()
        self._world.advance(SLEEP_S)
        for client in self._clients:
            client.begin()
        in_thread(lambda: self._live(faulty=False, fault_share=0.0, close=False))
        self._crash()
        self._disk.crash_at = None
        life.clock.slept_s += self._world.monotonic() - began
        self.counts["usurped"] += 1
        if self._claims() == claims:
            self._disk = own
            return False
        return True

    def _claims(self) -> list[str]:
        return [each.name for each in self._objects.list(OWNERS)]

    def _do_something(self, life: BrokerLife) -> None:
        drawn = self._random.random()
        if drawn < 0.6:
            self._random.choices(self._clients, self._weights)[0].act(life)
        elif drawn < 0.75:
            self._read(life)
        else:
            self._work_in_the_background(life)

    def _read(self, life: BrokerLife) -> None:
        if not life.model.live():
            return
        topic = self._random.choice(life.model.live())
        life.start(check_partition(life, topic, self._random.randrange(topic.count)))
        if life.model.committed:
            (group, topic_id, partition), committed = self._random.choice(list(life.model.committed.items()))
            life.start(check_committed(life, group, life.model.topics[topic_id], partition, committed))

    def _work_in_the_background(self, life: BrokerLife) -> None:
        logs = life.broker.context.logs
        upkeep = logs._upkeep
        self._world.advance(self._random.choice((0.0, 0.1, 1.0, 3.0)))
        if self._comes("jumps", 0.05):
            life.clock.off_ms = self._random.choice(JUMPS_MS)
            self.counts["clock jumps"] += 1
        drawn = self._random.random()
        if drawn < 0.7:
            logs._flusher.tick()
        elif drawn < 0.8:
            life.broker.context.groups.timers.run_due()
        else:
            life.start(self._random.choice((upkeep.compact, upkeep.apply_retention, upkeep.collect_garbage))())
