"""A child of the benchmark: a client with TLS.

tls.py HOST:PORT PID TRUST produce|consume COUNT       librdkafka, 1 KiB records
tls.py HOST:PORT PID TRUST single COUNT PRODUCERS      raw connections, each waits for every ack
tls.py HOST:PORT PID TRUST idle COUNT                  so many connections that say nothing
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import sys
import time
from pathlib import Path

from benchmarks.broker.latency import single
from confluent_kafka import Consumer, Producer, TopicPartition

_TOPIC = "rd-1024"
_VALUE = bytes(range(256)) * 4


def settings(address: str, trust: str) -> dict[str, object]:
    return {"bootstrap.servers": address, "security.protocol": "SSL", "ssl.ca.location": trust}


def produce(address: str, trust: str, count: int) -> str:
    queue = {"linger.ms": 5, "batch.num.messages": 10_000, "queue.buffering.max.messages": 1_000_000, "acks": "all"}
    producer = Producer(settings(address, trust) | queue)
    producer.list_topics(_TOPIC, 20)
    began = time.perf_counter()
    for number in range(count):
        producer.produce(_TOPIC, _VALUE)
        if number % 1000 == 0:
            producer.poll(0)
    assert producer.flush(120) == 0
    return f"records_per_second={count / (time.perf_counter() - began)}"


def consume(address: str, trust: str, count: int) -> str:
    consumer = Consumer(settings(address, trust) | {"group.id": "bench", "fetch.wait.max.ms": 100})
    consumer.assign([TopicPartition(_TOPIC, 0, 0)])
    found, began = 0, 0.0
    while found < count:
        messages = consumer.consume(10_000, 30)
        assert messages, f"nothing came behind {found} records"
        began = began or time.perf_counter()  # As the plain consumer is measured: from the first record on.
        found += len(messages)
    return f"records_per_second={found / (time.perf_counter() - began)}"


def idle(address: str, trust: str, pid: int, count: int) -> str:
    host, _, port = address.rpartition(":")
    context = ssl.create_default_context(cafile=trust)
    before = resident(pid)
    links = [
        context.wrap_socket(socket.create_connection((host, int(port))), server_hostname="localhost")
        for _ in range(count)
    ]
    time.sleep(2)
    grown = resident(pid) - before
    return f"kib_per_connection={grown / len(links)}"


def resident(pid: int) -> float:
    """KiB of memory that a process has."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4.0


if __name__ == "__main__":
    where, pid_, trust_, kind, *numbers = sys.argv[1:]
    many = list(map(int, numbers))
    if kind == "single":
        made = ssl.create_default_context(cafile=trust_)
        asyncio.run(single(where, "single", 100, *many, made))
    elif kind == "idle":
        print(idle(where, trust_, int(pid_), *many))
    else:
        print({"produce": produce, "consume": consume}[kind](where, trust_, *many))
