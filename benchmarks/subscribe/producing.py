"""Sends 500 records a second, each with the time at which it is handed over: prints how long acks took, as JSON.

python -m benchmarks.subscribe.producing kafka=HOST:PORT topic=NAME count=N
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from confluent_kafka import Producer

RATE = 500


def produce(kafka: str, topic: str, count: int) -> list[float]:
    """The time until each ack, in milliseconds."""
    producer = Producer({"bootstrap.servers": kafka, "linger.ms": 0, "acks": "all"})
    acks: list[float] = []

    def note(failure: object, message: Any) -> None:
        assert failure is None, failure
        acks.append(message.latency() * 1000)

    begun = time.monotonic()
    for number in range(count):
        while (left_s := begun + number / RATE - time.monotonic()) > 0:
            producer.poll(left_s)  # Acks are noted when they come.
        producer.produce(topic, b"%.7f" % time.monotonic(), key=b"/k", on_delivery=note)
    producer.flush(30)
    return acks


def part(times: list[float], percent: int) -> float:
    """So many percent of the times are not above this one."""
    return sorted(times)[min(int(len(times) * percent / 100), len(times) - 1)]


if __name__ == "__main__":
    given = dict(pair.split("=", 1) for pair in sys.argv[1:])
    times = produce(given["kafka"], given["topic"], int(given["count"]))
    print(json.dumps({f"ack_p{percent}_ms": part(times, percent) for percent in (50, 99)}))
