"""A child of the benchmark: what an authorizer costs a broker that produces.

    rights.py HOST:PORT PID HOST:PORT PID SIZE SECONDS TURNS

The first broker has none, the second has one; they take turns, and each request is the same. CPU is that of all threads
of the broker's process.
"""

from __future__ import annotations

import statistics
import sys
import time

from benchmarks.broker.looking import Load, cpu_seconds
from confluent_kafka.admin import AdminClient, NewTopic

from holdfast.record.build import build
from holdfast.record.records import Record

_TOPIC = "rights"
_RECORD_SIZE = 100


def make_topic(address: str) -> None:
    admin = AdminClient({"bootstrap.servers": address})
    if _TOPIC not in admin.list_topics(timeout=30).topics:
        admin.create_topics([NewTopic(_TOPIC, 1, 1)])[_TOPIC].result(30)


def run(brokers: dict[str, tuple[str, int]], size: int, seconds: float, turns: int) -> dict[str, float]:
    now = int(time.time() * 1000)
    batch = bytes(build([Record(None, bytes(_RECORD_SIZE), now) for _ in range(max(1, size // _RECORD_SIZE))]))
    for address, _ in brokers.values():
        make_topic(address)
    loads = {what: Load(address) for what, (address, _) in brokers.items()}
    rates: dict[str, list[float]] = {what: [] for what in brokers}
    costs: dict[str, list[float]] = {what: [] for what in brokers}
    for turn in range(-2, turns):
        for what in list(brokers)[:: 1 if turn % 2 else -1]:
            pid = brokers[what][1]
            began, used = time.perf_counter(), cpu_seconds(pid)
            acked = loads[what].run(_TOPIC, batch, seconds)
            if turn >= 0:  # Those before warm up.
                rates[what].append(acked / (time.perf_counter() - began))
                costs[what].append((cpu_seconds(pid) - used) / acked * 1e6)
    found: dict[str, float] = {"batch_size": len(batch)}
    for name, each in (("batches_per_second", rates), ("cpu_us_per_batch", costs)):
        for what, values in each.items():
            found[f"{name}_{what}"] = statistics.median(values)
        found[f"{name}_ratio"] = statistics.median(on / off for on, off in zip(each["on"], each["off"], strict=True))
    return found


if __name__ == "__main__":
    off, off_pid, on, on_pid, size_, seconds_, turns_ = sys.argv[1:]
    both = {"off": (off, int(off_pid)), "on": (on, int(on_pid))}
    print(*(f"{name}={value}" for name, value in run(both, int(size_), float(seconds_), int(turns_)).items()))
