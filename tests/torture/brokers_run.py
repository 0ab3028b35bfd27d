"""One run with several brokers from beginning to end: their clients, the faults, and what is there afterwards."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.faulty_proxy import FaultyProxy
from tests.support.s3_server import S3Server
from tests.torture.brokers import LEASE_MS, Brokers
from tests.torture.brokers_faults import BrokersFaults, brokers_schedule
from tests.torture.cast import GROUPS, common_readers, common_writers
from tests.torture.clients.administering import Administrator, create
from tests.torture.ending import end_threads, in_thread, read_everything, settle, wait_for_readers
from tests.torture.ground import COMPACTED, COPIES, CUT, ONE, PHOENIX, SHRINKING, TXN, Ground
from tests.torture.history import History
from tests.torture.sampling import sample, sockets
from tests.torture.schedule import Planned

TOPICS = (ONE, TXN, COPIES, SHRINKING, CUT, COMPACTED, PHOENIX)
KEPT_NAMES = (ONE.name, TXN.name, COPIES.name)
MIB = 1 << 20
LIMITS = {"rss": 500 * MIB, "handles": 1000, "files": 1000, "growth": 96 * MIB, "entries": 1 << 40}
HEARS_S = LEASE_MS / 1000 + 2.0  # Who has not looked for a lease answers nobody; who has looked closes what is gone.
_SAMPLE_S = 1.0


@dataclass
class BrokersRun:
    """The parts of one run."""

    ground: Ground
    brokers: Brokers
    faults: BrokersFaults
    history: History

    def run(self, seed: int, seconds: float, administrator: Administrator) -> None:
        for number in self.brokers.numbers:
            self.brokers.start(number)
        self.history.info("limits", hears_s=HEARS_S, **LIMITS)
        for topic in self.ground.topics:
            self.history.info("topic", name=topic.name, like=topic.like, partitions=topic.partitions)
            assert create(self.ground, topic), f"{topic.name} could not be made"
        sampled = in_thread("sampler", self._sample, self.ground.reading, self.history)
        reading = [in_thread(each.name, each.run, self.ground, self.history) for each in common_readers(KEPT_NAMES)]
        writing = [in_thread(each.name, each.run, self.ground, self.history) for each in common_writers(administrator)]
        self.faults.run(brokers_schedule(seed, seconds), seconds)
        self.faults.breather(Planned(0, "breather", 0, 0), 0)
        self.ground.writing.set()
        end_threads(writing, self.ground, self.history)
        settle(self.ground, self.history)
        read_everything(self.ground, self.history, 1)
        wait_for_readers(self.ground, self.history, (*GROUPS, "committed", "everything"), KEPT_NAMES)
        self.faults.lose_all(Planned(0, "lose_all", 0, 0), 0)  # Nothing is left but the bucket.
        self.faults.calm()
        read_everything(self.ground, self.history, 2)
        self.ground.reading.set()
        end_threads([*reading, sampled], self.ground, self.history)
        self.faults.finish()

    def _sample(self, stop: threading.Event) -> None:
        while not stop.wait(_SAMPLE_S):
            for number in self.brokers.numbers:
                try:
                    process = self.brokers.pid(number)
                    (rss, handles), connections = sample(process), sockets(process)
                except OSError:
                    continue  # It has just ended.
                self.history.info("sample", process=process, rss=rss, handles=handles, connections=connections)


@contextmanager
def brokers_house(folder: Path, seed: int, administrator: Administrator, count: int) -> Iterator[BrokersRun]:
    """So many brokers on one S3 server, for one run; everything is under `folder`."""
    histories = folder / "histories"
    histories.mkdir(parents=True)
    with ExitStack() as stack:
        server = stack.enter_context(S3Server())
        ground = Ground("", "", histories, seed, None, TOPICS)
        history = ground.history("house")
        stack.callback(history.close)
        brokers = Brokers(folder, server, history, random.Random(f"faults {seed}"))
        for number in range(1, count + 1):
            brokers.add(number, stack.enter_context(FaultyProxy(server.port)))
        stack.callback(brokers.close)
        ground.bootstrap = brokers.bootstrap
        history.info("made of", store="an S3 server behind a proxy for each broker", disk="none")
        yield BrokersRun(ground, brokers, BrokersFaults(brokers, administrator, history, ground), history)
