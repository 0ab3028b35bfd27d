"""A real broker under load, killed with SIGKILL again and again; then everything is counted.

    python tests/kill/rounds.py --rounds 200 --seed 7

Several idempotent producers write numbers, and two consumer groups read and commit, while the broker is killed and
started again. Afterwards every acknowledged record must be there, once, in its producer's order, at the offset that was
acknowledged; committed offsets must never have gone back; the groups must have reached the end.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.support.broker_process import BrokerProcess, free_port  # The checkout, for runs from the command line.

TOPIC = "numbers"
PARTITIONS = 4
GROUPS = ("first", "second")
QUIET = {"log_level": 0, "socket.connection.setup.timeout.ms": 5000, "reconnect.backoff.max.ms": 200}


@dataclass
class History:
    """What the clients saw."""

    acked: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)  # (producer, number) → place
    refused: list[str] = field(default_factory=list)
    sent: dict[int, int] = field(default_factory=dict)  # Producer → numbers handed to its client.
    read: dict[str, set[tuple[int, int]]] = field(default_factory=dict)  # Group → (partition, offset)
    committed: dict[tuple[str, int], int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


def produce(number: int, port: int, history: History, stop: threading.Event) -> None:
    """Write numbers, each to a partition of its own turn, as fast as acks come."""
    producer = Producer(
        {
            **QUIET,
            "bootstrap.servers": f"127.0.0.1:{port}",
            "enable.idempotence": True,
            "linger.ms": 2,
            "message.timeout.ms": 120_000,
            "queue.buffering.max.messages": 2000,
        }
    )

    def told(error: object, message: object, at: int) -> None:
        if error is not None:
            history.refused.append(f"producer {number}: {at}: {error}")
        else:
            history.acked[number, at] = (message.partition(), message.offset())  # type: ignore[attr-defined]

    count = 0
    while not stop.is_set():
        try:
            producer.produce(
                TOPIC,
                f"{number}:{count}",
                partition=count % PARTITIONS,
                on_delivery=lambda error, message, at=count: told(error, message, at),
            )
        except BufferError:
            producer.poll(0.05)
            continue
        count += 1
        producer.poll(0)
    history.sent[number] = count
    if producer.flush(60):
        history.problems.append(f"producer {number} could not get rid of its records")


def follow(group: str, port: int, history: History, stop: threading.Event) -> None:
    """Read as a member of a group, and commit what was read."""
    consumer = Consumer(
        {
            **QUIET,
            "bootstrap.servers": f"127.0.0.1:{port}",
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "session.timeout.ms": 6000,
        }
    )
    consumer.subscribe([TOPIC])
    seen = history.read.setdefault(group, set())
    try:
        while not stop.is_set():
            messages = [each for each in consumer.consume(1000, 0.1) if each.error() is None]
            seen.update((each.partition(), each.offset()) for each in messages)
            if messages:
                try:
                    consumer.commit(asynchronous=False)
                except KafkaException:
                    continue  # Killed meanwhile, or the group is being rebuilt: the next commit covers it.
    finally:
        consumer.close()


def check_committed(port: int, history: History) -> None:
    """Committed offsets never go back."""
    admin = AdminClient({**QUIET, "bootstrap.servers": f"127.0.0.1:{port}"})
    for group in GROUPS:
        try:
            asked = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)], request_timeout=10)
            found = asked[group].result().topic_partitions
        except KafkaException:
            continue  # The group has not committed anything yet, or the broker is only just there.
        for each in found:
            before = history.committed.get((group, each.partition), -1)
            if each.offset < before:
                history.problems.append(f"group {group}-{each.partition}: committed {before}, then {each.offset}")
            history.committed[group, each.partition] = max(before, each.offset)


def read_all(port: int) -> list[list[str]]:
    """Every record of every partition, in order."""
    consumer = Consumer({**QUIET, "bootstrap.servers": f"127.0.0.1:{port}", "group.id": "auditor"})
    found: list[list[str]] = []
    for partition in range(PARTITIONS):
        start, end = consumer.get_watermark_offsets(TopicPartition(TOPIC, partition), timeout=20)
        records: list[str] = []
        consumer.assign([TopicPartition(TOPIC, partition, start)])
        deadline = time.monotonic() + 60
        while len(records) < end - start and time.monotonic() < deadline:
            for message in consumer.consume(10_000, 1.0):
                if message.error() is None:
                    assert message.offset() == start + len(records), "an offset is missing"
                    records.append(message.value().decode())
        assert len(records) == end - start, f"partition {partition}: {len(records)} of {end - start} were readable"
        found.append(records)
    consumer.close()
    return found


def check(history: History, stored: list[list[str]]) -> list[str]:
    """What is wrong; nothing, if nothing acknowledged was lost, doubled or moved."""
    problems = list(history.problems) + history.refused
    for (producer, number), (partition, offset) in history.acked.items():
        wanted = f"{producer}:{number}"
        found = stored[partition][offset] if offset < len(stored[partition]) else None
        if found != wanted:
            problems.append(f"acknowledged record {wanted} at {partition}:{offset} is {found}")
    for partition, records in enumerate(stored):
        last: dict[str, int] = {}
        for record in records:
            producer_text, number_text = record.split(":")
            if int(number_text) <= last.get(producer_text, -1):
                problems.append(f"partition {partition}: {record} comes after {last[producer_text]}")
            last[producer_text] = int(number_text)
    for group in GROUPS:
        everything = {(p, o) for p, records in enumerate(stored) for o in range(len(records))}
        missed = everything - history.read.get(group, set())
        if missed:
            problems.append(f"group {group} missed {len(missed)} records, such as {sorted(missed)[:3]}")
    return problems


def run(data: Path, rounds: int, seed: int, producers: int = 3) -> tuple[History, list[str]]:
    """The whole test; the history, and what was wrong."""
    chance = random.Random(seed)
    port = free_port()
    history = History()
    settings = ["group.initial.rebalance.delay.ms=0", "log.segment_size_max=262144", "log.flush_age_ms_max=300"]
    broker = BrokerProcess(data, port=port, settings=settings)
    broker.start()
    admin = AdminClient({**QUIET, "bootstrap.servers": f"127.0.0.1:{port}"})
    admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])[TOPIC].result(20)
    stop_writing, stop_reading = threading.Event(), threading.Event()
    writers = [threading.Thread(target=produce, args=(each, port, history, stop_writing)) for each in range(producers)]
    readers = [threading.Thread(target=follow, args=(each, port, history, stop_reading)) for each in GROUPS]
    for thread in [*writers, *readers]:
        thread.start()
    try:
        for _ in range(rounds):
            stop_writing.wait(0.1 + chance.random() * 0.6)  # Only the time passes: nobody sets it in here.
            broker.kill()
            broker.start()
            check_committed(port, history)
    finally:
        stop_writing.set()
        for thread in writers:
            thread.join()
    stored = read_all(port)
    total = sum(map(len, stored))
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and any(len(history.read.get(each, ())) < total for each in GROUPS):
        stop_reading.wait(0.1)
    stop_reading.set()
    for thread in readers:
        thread.join()
    check_committed(port, history)
    broker.stop()
    return history, check(history, stored)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))
    asked = parser.parse_args()
    print(f"seed {asked.seed}, {asked.rounds} rounds", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        history, problems = run(Path(folder), asked.rounds, asked.seed)
    print(f"{len(history.acked)} records acknowledged, {len(problems)} problems")
    for problem in problems[:20]:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
