"""A child of the benchmark: transactions of some records each with librdkafka, and the same records without them.

    rdkafka_transactions.py HOST:PORT TOPIC SIZE RECORDS COUNT

One producer, one transaction after the other. librdkafka adds partitions by requests.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable

from confluent_kafka import Producer

_WARM_UP = 50
_PATIENCE_S = 60


def _measure(count: int, *ways: Callable[[], None]) -> list[list[float]]:
    """Milliseconds of each. They take turns, so that drift of the machine hits them alike."""
    took: list[list[float]] = [[] for _ in ways]
    for number in range(_WARM_UP + count):
        for way, found in zip(ways, took, strict=True):
            started = time.perf_counter()
            way()
            if number >= _WARM_UP:
                found.append(1000 * (time.perf_counter() - started))
    return took


def run(address: str, topic: str, size: int, records: int, count: int) -> None:
    fixed = {"bootstrap.servers": address, "linger.ms": 0, "enable.idempotence": True}
    value = bytes(size)

    def send(producer: Producer) -> None:
        for _ in range(records):
            producer.produce(topic, value, partition=0)

    def plainly() -> None:
        send(plain)
        plain.flush(_PATIENCE_S)

    def in_transaction() -> None:
        whole.begin_transaction()
        send(whole)
        whole.commit_transaction(_PATIENCE_S)

    plain = Producer(fixed)
    whole = Producer({**fixed, "transactional.id": f"bench-{time.time_ns()}"})
    whole.init_transactions(_PATIENCE_S)
    without, took = _measure(count, plainly, in_transaction)
    percent = statistics.quantiles(took, n=100)
    figures = {
        "transactions_per_second": 1000 / statistics.mean(took),
        "p50_ms": percent[49],
        "p99_ms": percent[98],
        "plain_p50_ms": statistics.median(without),
    }
    print(" ".join(f"{name}={value}" for name, value in figures.items()))


if __name__ == "__main__":
    where, topic_, *numbers = sys.argv[1:]
    run(where, topic_, *map(int, numbers))
