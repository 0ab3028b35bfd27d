"""A child of the benchmark: what an authorizer costs a broker that produces.

    rights.py HOST:PORT PID HOST:PORT PID SIZE SECONDS TURNS

The first broker has none, the second has one; they take turns, and each request is the same. CPU is that of all threads
of the broker's process.
"""

from __future__ import annotations

import sys
import time
from functools import partial

from benchmarks.broker.looking import Load, in_turns
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
    load_of = {what: partial(Load(address).run, _TOPIC, batch, seconds) for what, (address, _) in brokers.items()}
    pids = {what: pid for what, (_, pid) in brokers.items()}
    return {"batch_size": len(batch), **in_turns(load_of, pids, turns)}


if __name__ == "__main__":
    off, off_pid, on, on_pid, size_, seconds_, turns_ = sys.argv[1:]
    both = {"off": (off, int(off_pid)), "on": (on, int(on_pid))}
    print(*(f"{name}={value}" for name, value in run(both, int(size_), float(seconds_), int(turns_)).items()))
