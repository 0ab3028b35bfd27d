"""What is measured on every broker, in this order, on topics made for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.broker import clients
from benchmarks.broker.brokers import Running

Measured = dict[str, float]


@dataclass(frozen=True)
class Workload:
    """One row of the table."""

    name: str
    run: Callable[[Running], Measured]
    megabytes: float  # What goes through the broker: for CPU per MB.


def workloads(tool: Path | None, scale: float) -> Iterator[Workload]:
    """All of them. `scale` shrinks the record counts; without librdkafka's tool its rows are left out."""
    if tool is not None:
        yield from _librdkafka(tool, scale)
    yield from _java(scale)
    yield from _single(scale)
    yield from _transactions(scale)


def _librdkafka(tool: Path, scale: float) -> Iterator[Workload]:
    for size, count in ((1024, 400_000), (100, 1_000_000)):
        count = int(count * scale)
        megabytes = size * count / 1e6
        topic = f"rd-{size}"

        def produce(broker: Running, topic: str = topic, size: int = size, count: int = count) -> Measured:
            return vars(clients.rdkafka_produce(tool, broker, topic, size, count))

        def consume(broker: Running, topic: str = topic, size: int = size, count: int = count) -> Measured:
            return vars(clients.rdkafka_consume(tool, broker, topic, size, count))

        yield Workload(f"librdkafka produce {size} B, large batches", produce, megabytes)
        yield Workload(f"librdkafka consume {size} B", consume, megabytes)
    six = int(300_000 * scale)
    yield Workload(
        "librdkafka produce 1024 B, 6 partitions",
        lambda broker: vars(clients.rdkafka_produce(tool, broker, "six-rd", 1024, six)),
        1024 * six / 1e6,
    )


def _java(scale: float) -> Iterator[Workload]:
    for size, count, batch_size, linger_ms, what in (
        (100, 300_000, 16384, 5, "default batches"),
        (1024, 50_000, 16384, 5, "default batches"),
        (100, 600_000, 131_072, 5, "128 KiB batches"),
        (1024, 200_000, 131_072, 5, "128 KiB batches"),
    ):
        count = int(count * scale)

        def produce(
            broker: Running, size: int = size, count: int = count, batch: int = batch_size, linger: int = linger_ms
        ) -> Measured:
            return vars(clients.java_produce(broker, f"java-{size}", size, count, batch_size=batch, linger_ms=linger))

        yield Workload(f"Java produce {size} B, {what}", produce, size * count / 1e6)
    count = int(200_000 * scale)
    yield Workload(
        "Java consume 1024 B",
        lambda broker: vars(clients.java_consume(broker, "java-1024", 1024, count)),
        1024 * count / 1e6,
    )


def _single(scale: float) -> Iterator[Workload]:
    for producers, count in ((1, 2_000), (8, 8_000), (64, 20_000)):
        count = int(count * scale)

        def single(broker: Running, producers: int = producers, count: int = count) -> Measured:
            return clients.single_records(broker, "single", 100, count, producers)

        yield Workload(f"one record per request, {producers} producers", single, 100 * count / 1e6)
    yield Workload(
        "end to end at 500/s",
        lambda broker: clients.end_to_end(broker, "latency", 100, int(2500 * max(scale, 0.4)), 500),
        0,
    )


def _transactions(scale: float) -> Iterator[Workload]:
    for way, producers, count in (("implicit", 1, 1_000), ("implicit", 16, 6_000), ("explicit", 16, 6_000)):
        count = int(count * scale)

        def transact(broker: Running, way: str = way, producers: int = producers, count: int = count) -> Measured:
            return clients.transactions(broker, way, "single", 100, count, producers)

        yield Workload(f"transactions of one record, {way}, {producers} producers", transact, 100 * count / 1e6)
    for client in ("Java", "librdkafka"):
        for records, count in ((1, 1_000), (10, 1_000), (100, 500)):
            count = int(count * scale)

            def commit(broker: Running, client: str = client, records: int = records, count: int = count) -> Measured:
                return clients.client_transactions(broker, client, "single", 100, records, count)

            yield Workload(f"transactions of {records}, {client}", commit, 100 * records * count / 1e6)
