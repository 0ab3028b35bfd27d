"""Writes on both sides while sync and both brokers are killed at random moments; then both must be equal."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from tests.sync.consuming import consume
from tests.sync.process import SyncProcess
from tests.sync.reading import Reading
from tests.sync.sides import Seen, assert_equal, read_topic

from holdfast.client import LATEST, Client
from holdfast.record.build import build
from holdfast.record.records import Record
from holdfast.testing import RunningBroker

PARTITIONS = 3
TOPIC = "torture"
SETTINGS = {
    "HOLDFAST_SUBSCRIBE_LISTEN": "none",
    "HOLDFAST_GROUP_INITIAL_REBALANCE_DELAY_MS": "0",
    "HOLDFAST_LOG_RETENTION_MS": "-1",  # Records have old timestamps, and a slow run is longer than a check.
}
GROUP = "readers"


class Writing(threading.Thread):
    """One producer: every record is acknowledged before the next batch, and noted."""

    def __init__(self, address: str, side: str, count: int, batch_count: int) -> None:
        super().__init__(daemon=True)
        self._address = address
        self._side = side
        self._count = count
        self._batch_count = batch_count
        self.written = 0
        self.noted: list[Counter[Seen]] = [Counter() for _ in range(PARTITIONS)]
        self.failure: BaseException | None = None

    def run(self) -> None:
        try:
            with Client(self._address, self._side, patience_s=120) as client:
                self._write(client)
        except BaseException as failure:
            self.failure = failure

    def _write(self, client: Client) -> None:
        producer = client.init_producer_id()
        sequences = [0] * PARTITIONS
        for start in range(0, self._count, self._batch_count):
            partition = start // self._batch_count % PARTITIONS
            records = [self._record(number) for number in range(start, min(start + self._batch_count, self._count))]
            numbers = {"producer_id": producer.id, "producer_epoch": producer.epoch}
            batch = build(records, base_sequence=sequences[partition], **numbers)  # type: ignore[arg-type]
            client.produce({(TOPIC, partition): batch})
            sequences[partition] += len(records)
            self.noted[partition].update(Seen(each.key, each.value, each.timestamp, each.headers) for each in records)
            self.written += len(records)

    def _record(self, number: int) -> Record:
        headers = (("n", str(number).encode()),) if number % 5 == 0 else ()
        return Record(
            f"key-{number % 97}".encode(), f"{self._side}-{number}".encode(), 1_700_000_000_000 + number, headers
        )


class Broker(AbstractContextManager[object], Protocol):
    """One that can be killed, ours or another."""

    @property
    def bootstrap(self) -> str: ...

    def start(self) -> None: ...

    def kill(self) -> None: ...


@dataclass
class Report:
    """What a run did."""

    records: int
    kills: Counter[str]
    seconds: float
    caught_up_s: float


class Rounds:
    """One run: `records` on each side, `kills` in all, chosen by the seed."""

    def __init__(
        self,
        folder: Path,
        seed: int,
        records: int,
        kills: int,
        *,
        both: bool = True,
        batch: int = 100,
        victims: Sequence[str] = ("sync", "sync", "a", "b"),
        b: Broker | None = None,  # One that runs already, and stays.
        read_count: int = 0,  # Records that a group reads at A meanwhile; the others it reads at B.
    ) -> None:
        self._random = random.Random(seed)
        self._a: Broker = RunningBroker(folder / "a", environment=SETTINGS)
        own = RunningBroker(folder / "b", environment=SETTINGS)
        self._b: Broker = b or own
        self._own = [self._a, own] if b is None else [self._a]
        self._both = both
        self._victims = victims
        self._read_count = read_count
        self._records = records
        self._batch = batch
        self._moments = sorted(self._random.randrange(records) for _ in range(kills))
        self._kills: Counter[str] = Counter()

    def run(self) -> Report:
        with ExitStack() as stack:
            for each in self._own:
                stack.enter_context(each)
            with Client(self._a.bootstrap) as client:
                client.create_topics({TOPIC: PARTITIONS})
            if self._both:
                with Client(self._b.bootstrap) as client:
                    client.create_topics({TOPIC: PARTITIONS})
            began = time.monotonic()
            reading = Reading(self._a.bootstrap, TOPIC, GROUP, self._read_count)
            writers = self._torture(reading)
            written = time.monotonic()
            self._finish()
            done = time.monotonic()
            self._check(writers)
            if self._read_count:
                self._check_group(reading)
            return Report(self._records * len(writers), self._kills, done - began, done - written)

    def _arguments(self, *more: str) -> tuple[str, ...]:
        ways = ("--both",) if self._both else ()
        return (self._a.bootstrap, self._b.bootstrap, *ways, "--topics", TOPIC, "--save-interval", "0.3", *more)

    def _torture(self, reading: Reading) -> list[Writing]:
        sides = {"a": self._a, "b": self._b} if self._both else {"a": self._a}
        writers = [Writing(each.bootstrap, name, self._records, self._batch) for name, each in sides.items()]
        sync = SyncProcess(*self._arguments())
        try:
            for each in (*writers, reading):
                each.start()
            for moment in self._moments:
                while any(each.is_alive() for each in writers) and writers[0].written < moment:
                    time.sleep(0.002)
                sync = self._strike(sync)
            for each in (*writers, reading):
                each.join()
                assert each.failure is None, each.failure
            return writers
        finally:
            sync.kill()  # Not cleanly: what it has not saved is found again.

    def _strike(self, sync: SyncProcess) -> SyncProcess:
        victim = self._random.choice(self._victims)
        self._kills[victim] += 1
        if victim == "sync":
            self._let_it_write(sync)
            sync.kill()
            return SyncProcess(*self._arguments())
        broker = {"a": self._a, "b": self._b}[victim]
        broker.kill()
        broker.start()
        return sync

    def _let_it_write(self, sync: SyncProcess) -> None:
        """Mostly it is killed while it writes, sometimes before it does."""
        if self._random.random() < 0.2:
            return
        least = self._random.randrange(1, 1000)
        before = self._end_at_b()
        deadline = time.monotonic() + 3
        while self._end_at_b() < before + least and sync.is_running and time.monotonic() < deadline:
            time.sleep(0.002)

    def _end_at_b(self) -> int:
        with Client(self._b.bootstrap) as client:
            known = client.metadata().topics
            wanted = {(TOPIC, each.number): LATEST for each in known[TOPIC].partitions} if TOPIC in known else {}
            return sum(each.offset for each in client.list_offsets(wanted).values())

    def _finish(self) -> None:
        sync = SyncProcess(*self._arguments("--once"))
        assert sync.wait() == 0, sync.said

    def _check_group(self, reading: Reading) -> None:
        """What it has not read at A it reads at B, and nothing twice."""
        with Client(self._b.bootstrap) as client:
            wanted = [each.seen.value or b"" for held in read_topic(client, TOPIC) for each in held]
        read = reading.values + consume(self._b.bootstrap, TOPIC, GROUP, None)
        assert sorted(read) == sorted(wanted), "the group has read a record twice, or never"

    def _check(self, writers: list[Writing]) -> None:
        with Client(self._a.bootstrap) as at_a, Client(self._b.bootstrap) as at_b:
            here, there = read_topic(at_a, TOPIC), read_topic(at_b, TOPIC)
        assert_equal(here, there)
        for partition in range(PARTITIONS):
            wanted = sum((each.noted[partition] for each in writers), Counter[Seen]())
            found = Counter(each.seen for each in there[partition])
            lost, more = list((wanted - found).elements()), list((found - wanted).elements())
            assert not lost, f"partition {partition} has lost {len(lost)} records, such as {lost[0]}"
            assert not more, f"partition {partition} has {len(more)} records too many, such as {more[0]}"
