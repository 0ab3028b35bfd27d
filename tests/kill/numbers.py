"""Idempotent producers that write numbers, groups that read them, and what must be true of both at the end."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

TOPIC = "numbers"
PARTITIONS = 4
GROUPS = {"first": ("classic",), "second": ("consumer",), "both": ("classic", "consumer")}  # By their members.
QUIET = {
    "log_level": 0,
    "socket.connection.setup.timeout.ms": 5000,
    "reconnect.backoff.max.ms": 200,
    "metadata.recovery.strategy": "none",  # Or it forgets the only broker there is, and takes longer to be back.
}


@dataclass
class History:
    """What the clients saw."""

    acked: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)  # (producer, number) → place
    refused: list[str] = field(default_factory=list)
    read: dict[str, set[tuple[int, int]]] = field(default_factory=lambda: {group: set() for group in GROUPS})
    committed: dict[tuple[str, int], int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


def group_settings(address: str, group: str, protocol: str) -> dict[str, object]:
    """A consumer of a group. Of the new protocol the broker says when a session ends."""
    fixed = {"auto.offset.reset": "earliest", "enable.auto.commit": False, "group.protocol": protocol}
    classic = {"session.timeout.ms": 6000, "heartbeat.interval.ms": 200} if protocol == "classic" else {}
    return {**QUIET, "bootstrap.servers": address, "group.id": group, **fixed, **classic}


def produce(
    number: int,
    address: str,
    history: History,
    stop: threading.Event,
    more: Mapping[str, object] = MappingProxyType({}),
) -> None:
    """Write numbers, each to a partition of its own turn, a few thousand each second."""
    producer = Producer(
        {
            **QUIET,
            "bootstrap.servers": address,
            "enable.idempotence": True,
            "linger.ms": 2,
            "message.timeout.ms": 120_000,
            "queue.buffering.max.messages": 2000,
            **more,
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
        if count % 50 == 0:
            stop.wait(0.01)  # Or the transactions, which are threads of the same process, would hardly get on.
    if producer.flush(60):
        history.problems.append(f"producer {number} could not get rid of its records")


def follow(group: str, protocol: str, address: str, history: History, stop: threading.Event) -> None:
    """Read as a member of a group, and commit what was read."""
    consumer = Consumer(group_settings(address, group, protocol))
    consumer.subscribe([TOPIC])
    seen = history.read[group]
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


def check_committed(address: str, history: History) -> None:
    """Committed offsets never go back."""
    admin = AdminClient({**QUIET, "bootstrap.servers": address})
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


def read_all(address: str) -> list[list[str]]:
    """Every record of every partition, in order."""
    consumer = Consumer({**QUIET, "bootstrap.servers": address, "group.id": "auditor"})
    found: list[list[str]] = []
    for partition in range(PARTITIONS):
        start, end = _ends(consumer, TopicPartition(TOPIC, partition))
        records: list[str] = []
        consumer.assign([TopicPartition(TOPIC, partition, start)])
        deadline = time.monotonic() + 60
        while len(records) < end - start and time.monotonic() < deadline:
            for message in consumer.consume(10_000, 0.1):
                if message.error() is None:
                    assert message.offset() == start + len(records), "an offset is missing"
                    records.append(message.value().decode())
        assert len(records) == end - start, f"partition {partition}: {len(records)} of {end - start} were readable"
        found.append(records)
    consumer.close()
    return found


def _ends(consumer: Consumer, partition: TopicPartition) -> tuple[int, int]:
    """Where a partition begins and ends. A client asks whoever led it once, and does not ask again where it moved."""
    deadline = time.monotonic() + 60
    while True:
        try:
            return consumer.get_watermark_offsets(partition, timeout=20)
        except KafkaException:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)


def wait_for_groups(history: History, total: int, seconds_max: float = 60) -> None:
    """Until every group has read everything, or has had its time."""
    deadline = time.monotonic() + seconds_max
    while time.monotonic() < deadline and any(len(read) < total for read in history.read.values()):
        time.sleep(0.05)


def check(history: History, stored: list[list[str]]) -> list[str]:
    """What is wrong; nothing, if nothing acknowledged was lost, doubled or moved."""
    problems = list(history.refused)
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
    everything = {(partition, offset) for partition, records in enumerate(stored) for offset in range(len(records))}
    for group, read in history.read.items():
        missed = everything - read
        if missed:
            problems.append(f"group {group} missed {len(missed)} records, such as {sorted(missed)[:3]}")
    return problems
