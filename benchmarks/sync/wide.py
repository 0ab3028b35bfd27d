"""How long a record is under way from one cluster to the other at a steady rate, over 1 and 1,000 partitions.

python -m benchmarks.sync.wide [partitions=1,1000] [rate=100] [seconds=15] [results]

Two brokers and a sync as processes, one producer and one plain consumer of librdkafka in this one. A record's time is
from being handed to the producer at A to having been consumed at B; what the sync's process takes of a core is beside
it. With the word `results` the figures go to benchmarks/results/sync-wide.json.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.machine import CHECKOUT, around
from confluent_kafka import Consumer, Producer, TopicPartition

from holdfast.client import Client
from holdfast.testing import RunningBroker, running_broker

TOPIC = "wide"
END_S = 60.0
WARM_S = 3.0  # The first seconds are not counted.


def measure(partitions: int, rate: int, seconds: float) -> dict[str, Any]:
    """One row of figures."""
    with running_broker() as a, running_broker() as b:
        for each in (a, b):
            with Client(each.bootstrap) as client:
                client.create_topics({TOPIC: partitions})
        sync = subprocess.Popen(
            [sys.executable, "-m", "holdfast.cli", "sync", a.bootstrap, b.bootstrap, "--topics", TOPIC, "--json"],
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            return _measure(a, b, sync, partitions, rate, seconds)
        finally:
            sync.terminate()
            sync.wait(END_S)


def _measure(
    a: RunningBroker, b: RunningBroker, sync: subprocess.Popen[str], partitions: int, rate: int, seconds: float
) -> dict[str, Any]:
    assert sync.stdout is not None
    for line in sync.stdout:
        if json.loads(line)["state"] == "running" and json.loads(line)["checkpoints"]:
            break
    threading.Thread(target=lambda lines: list(lines), args=(sync.stdout,), daemon=True).start()
    consumer = Consumer({"bootstrap.servers": b.bootstrap, "group.id": "wide", "fetch.wait.max.ms": 100})
    consumer.assign([TopicPartition(TOPIC, number, 0) for number in range(partitions)])
    sending = threading.Thread(target=_send, args=(a.bootstrap, partitions, rate, seconds), daemon=True)
    before = _cpu_s(sync.pid)
    sending.start()
    times, wanted = [], int(rate * seconds)
    deadline = time.monotonic() + seconds + END_S
    while len(times) < wanted and time.monotonic() < deadline:
        record = consumer.poll(0.1)
        if record is not None and not record.error():
            times.append((time.monotonic() - float(record.value())) * 1000)
    cpu = (_cpu_s(sync.pid) - before) / seconds
    sending.join()
    consumer.close()
    assert len(times) == wanted, f"{len(times)} of {wanted} records came"
    late = sorted(times[int(rate * WARM_S) :])
    found = {"partitions": partitions, "rate": rate, "seconds": seconds, "sync_cores": round(cpu, 3)}
    return {**found, **{f"p{each}_ms": round(_share(late, each), 1) for each in (50, 99)}, "max_ms": round(late[-1], 1)}


def _share(times: Sequence[float], percent: int) -> float:
    return times[min(len(times) * percent // 100, len(times) - 1)]


def _send(bootstrap: str, partitions: int, rate: int, seconds: float) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0})
    began = time.monotonic()
    for number in range(int(rate * seconds)):
        time.sleep(max(began + number / rate - time.monotonic(), 0))
        producer.produce(TOPIC, str(time.monotonic()), partition=number * 7919 % partitions)
        producer.poll(0)
    producer.flush(END_S)


def _cpu_s(pid: int) -> float:
    """What a process has taken of the cores so far."""
    with open(f"/proc/{pid}/stat") as file:
        words = file.read().rsplit(")", 1)[1].split()
    return (int(words[11]) + int(words[12])) / 100


def _words(given: Mapping[str, str]) -> list[str]:
    return [f"{name}={value}" for name, value in given.items()]


def main() -> int:
    given = dict(each.split("=", 1) for each in sys.argv[1:] if "=" in each)
    if not given.keys() <= {"partitions", "rate", "seconds"} or {*sys.argv[1:]} - {"results", *_words(given)}:
        print(__doc__)
        return 0 if "--help" in sys.argv else 2
    rows = []
    for partitions in map(int, given.get("partitions", "1,1000").split(",")):
        now = around()
        rows.append({**now, **measure(partitions, int(given.get("rate", "100")), float(given.get("seconds", "15")))})
        print(json.dumps(rows[-1]), flush=True)
    if "results" in sys.argv:
        (CHECKOUT / "benchmarks/results/sync-wide.json").write_text(json.dumps(rows, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
