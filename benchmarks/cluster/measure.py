"""What is measured of brokers on one bucket. Each function is one row: its figures by name."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from benchmarks.broker.latency import percentile
from benchmarks.broker.many import OneByOne
from benchmarks.cluster.world import TOPIC, World, until, world
from confluent_kafka import Message, Producer

Figures = dict[str, float]
MONTH_S = 365.25 / 12 * 86_400
PUT_DOLLARS, GET_DOLLARS = 0.005 / 1000, 0.0004 / 1000  # S3 Standard in us-east-1; a list is paid as a put.
_GIVE_UP_S = 90.0
_PACE_S = 0.005


def acks(folder: Path, latency_ms: float, interval_ms: int, seconds: float) -> Figures:
    """One broker: one writer who waits for each ack, then as much as librdkafka sends."""
    with world(folder, latency_ms, f"wal.interval_ms={interval_ms}") as made:
        made.start(1)
        made.make_topic(1)
        writer, took = OneByOne(made.bootstrap), []
        writer.send_first(TOPIC, 0)
        began = time.perf_counter()
        while (start := time.perf_counter()) < began + seconds:
            writer.send(TOPIC, 0)
            took.append((time.perf_counter() - start) * 1000)
        found = {"p50_ms": percentile(took, 0.5), "p99_ms": percentile(took, 0.99)}
        return found | _throughput(made, seconds)


def _throughput(made: World, seconds: float) -> Figures:
    settings = {"linger.ms": 5, "batch.size": 1 << 20, "queue.buffering.max.kbytes": 64 << 10}
    producer = Producer({"bootstrap.servers": made.bootstrap, "acks": "all", "log_level": 0, **settings})
    acked, value = [0], bytes(1024)

    def told(error: object, _: Message) -> None:
        acked[0] += error is None

    def send(until_: float) -> None:
        while time.perf_counter() < until_:
            try:
                producer.produce(TOPIC, value, on_delivery=told)
            except BufferError:
                producer.poll(0.01)
            producer.poll(0)

    send(time.perf_counter() + seconds / 4)
    before, count, began = made.rounds(), acked[0], time.perf_counter()
    send(began + seconds)
    took, sent = time.perf_counter() - began, acked[0] - count
    puts = made.rounds() - before
    producer.purge()
    producer.flush(10)
    return {"mb_per_s": sent * 1024 / 1e6 / took, "puts_per_s": puts / took}


def takeover(folder: Path, latency_ms: float, partitions: int, mib: int) -> Figures:
    """Three brokers, one is killed: until the first and the last of its partitions has acknowledged a record."""
    with world(folder, latency_ms) as made:
        made.start(1, 2, 3)
        made.make_topic(partitions)
        settings = {"bootstrap.servers": made.bootstrap, "log_level": 0, "socket.timeout.ms": 5000}
        producer = Producer({**settings, "acks": "all", "linger.ms": 20, "message.timeout.ms": 120_000})
        for number in range(mib << 10):
            while True:
                try:
                    producer.produce(TOPIC, bytes(1024), partition=number % partitions)
                    break
                except BufferError:
                    producer.poll(0.1)
        if producer.flush(_GIVE_UP_S):
            raise RuntimeError("what a takeover needs could not be written")
        lost = [at for at, leader in enumerate(made.leaders()) if leader == 2]
        answered: dict[int, float] = {}
        made.brokers[2].kill()
        killed = time.perf_counter()

        def told(error: object, message: Message) -> None:
            if error is None:
                answered.setdefault(message.partition(), time.perf_counter() - killed)

        for each in lost:
            producer.produce(TOPIC, b"x", partition=each, on_delivery=told)
        producer.flush(_GIVE_UP_S)
        if len(answered) < len(lost):
            raise RuntimeError(f"{len(lost) - len(answered)} of {len(lost)} partitions were not taken over")
        return {"lost_partitions": len(lost), "first_s": min(answered.values()), "last_s": max(answered.values())}


class Pace:
    """A record to the next partition every 5 ms, and how long each waits for its ack."""

    def __init__(self, made: World, partitions: int) -> None:
        settings = {"bootstrap.servers": made.bootstrap, "log_level": 0, "acks": "all", "linger.ms": 0}
        self._producer = Producer({**settings, "message.timeout.ms": 60_000})
        self._partitions = partitions
        self._end = threading.Event()
        self.waits: list[tuple[int, float]] = []  # Partition and milliseconds.
        self.errors = 0
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        number = 0
        while not self._end.wait(_PACE_S):
            began = time.perf_counter()
            self._producer.produce(
                TOPIC, b"x" * 100, partition=number % self._partitions, on_delivery=self._told(began)
            )
            self._producer.poll(0)
            number += 1
        self._producer.flush(_GIVE_UP_S)

    def _told(self, began: float) -> Callable[[object, Message], None]:
        def told(error: object, message: Message) -> None:
            if error is None:
                self.waits.append((message.partition(), (time.perf_counter() - began) * 1000))
            else:
                self.errors += 1

        return told

    def longest(self, since: int, partitions: list[int]) -> float:
        found = list(self.waits)[since:]
        return max((wait for partition, wait in found if partition in partitions), default=float("nan"))

    def settle(self, seconds: float) -> None:
        """Until whatever was sent by now has its answer, and a little longer."""
        wanted = len(self.waits) + 2 * self._partitions
        until(lambda: len(self.waits) >= wanted, "nothing is acknowledged any more")
        time.sleep(seconds)

    def end(self) -> None:
        self._end.set()
        self._thread.join()


def handover(folder: Path, latency_ms: float, partitions: int, moves: int) -> Figures:
    """Three brokers under a steady load: single partitions are moved, then one broker is drained."""
    with world(folder, latency_ms, "wal.interval_ms=5") as made:
        made.start(1, 2, 3)
        made.make_topic(partitions)
        pace = Pace(made, partitions)
        try:
            pace.settle(2.0)
            usual = median([wait for _, wait in list(pace.waits)])
            pauses = []
            for partition in range(moves):
                goal = 1 + made.leaders()[partition] % 3
                since = len(pace.waits)
                made.command("move", f"{TOPIC}:{partition}", str(goal))
                until(lambda at=partition, to=goal: made.leaders()[at] == to, "a partition was not moved")  # type: ignore[misc]
                pace.settle(0.5)
                pauses.append(pace.longest(since, [partition]))
            drained = [at for at, leader in enumerate(made.leaders()) if leader == 1]
            since, began = len(pace.waits), time.perf_counter()
            made.command("drain", "1")
            took = time.perf_counter() - began
            pace.settle(0.5)
            pause = pace.longest(since, drained)
        finally:
            pace.end()
        return {
            "usual_ms": usual,
            "move_ms": median(pauses),
            "move_ms_most": max(pauses),
            "drained_partitions": len(drained),
            "drain_s": took,
            "drain_ms_most": pause,
            "errors": pace.errors,
        }


def cost(folder: Path, seconds: float, mb_per_s: float) -> Figures:
    """Three brokers, 12 partitions, idle or with so much: requests a second, and dollars a month, of one broker."""
    with world(folder, 0, counted=True) as made:
        made.start(1, 2, 3)
        made.make_topic(12)
        time.sleep(5.0)  # Joins and the first hand-overs are behind them.
        producer = Producer({"bootstrap.servers": made.bootstrap, "log_level": 0, "acks": "all", "linger.ms": 20})
        before, began = made.requests(), time.perf_counter()
        sent = 0
        while (passed := time.perf_counter() - began) < seconds:
            while sent < passed * mb_per_s * 1e6 / 1024:
                producer.produce(TOPIC, bytes(1024), partition=sent % 12)
                sent += 1
            producer.poll(0.01)
            time.sleep(0.01)
        after, took = made.requests(), time.perf_counter() - began
        producer.flush(10)
    each = {name: (after[name] - before[name]) / took / 3 for name in ("put", "get", "list", "delete", "rounds")}
    dollars = ((each["put"] + each["list"]) * PUT_DOLLARS + each["get"] * GET_DOLLARS) * MONTH_S
    return {f"{name}s_per_s": value for name, value in each.items() if name != "rounds"} | {
        "rounds_per_s": each["rounds"],
        "dollars_a_month": dollars,
    }
