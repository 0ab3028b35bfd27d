"""How long records are under way from one cluster to the other at a steady rate."""

from __future__ import annotations

import threading
import time

from benchmarks.broker.brokers import Running
from benchmarks.broker.looking import cpu_seconds
from confluent_kafka import OFFSET_END, Consumer, Producer, TopicPartition

_END_S = 60.0
_WARM_S = 2.0  # The first seconds are not counted.
_SIZE = 1024


def times_under_way(
    a: Running, b: Running, topic: str, partitions: int, rate: int, seconds: float, pid: int
) -> dict[str, object]:
    """The 50th and 99th of a hundred, and what the copier takes of a core meanwhile."""
    consumer = Consumer({"bootstrap.servers": b.address, "group.id": topic, "fetch.wait.max.ms": 100})
    consumer.assign([TopicPartition(topic, number, OFFSET_END) for number in range(partitions)])
    consumer.poll(2.0)  # It stands at the end now.
    used, wanted = cpu_seconds(pid), int(rate * seconds)
    sending = threading.Thread(target=_send, args=(a.address, topic, partitions, rate, seconds), daemon=True)
    sending.start()
    times: list[float] = []
    deadline = time.monotonic() + seconds + _END_S
    while len(times) < wanted and time.monotonic() < deadline:
        for record in consumer.consume(1000, 0.05):
            value = record.value()
            if record.error() is None and value:
                times.append((time.monotonic() - float(value[:20])) * 1000)
    cores = (cpu_seconds(pid) - used) / seconds
    sending.join()
    consumer.close()
    if len(times) < wanted:
        raise RuntimeError(f"{len(times)} of {wanted} records came")
    late = sorted(times[int(rate * _WARM_S) :])
    found = {f"p{share}_ms": round(late[min(len(late) * share // 100, len(late) - 1)], 1) for share in (50, 99)}
    return {**found, "cores": round(cores, 3)}


def _send(address: str, topic: str, partitions: int, rate: int, seconds: float) -> None:
    producer = Producer({"bootstrap.servers": address, "linger.ms": 5})
    began = time.monotonic()
    for number in range(int(rate * seconds)):
        if number % 50 == 0:
            time.sleep(max(began + number / rate - time.monotonic(), 0))
            producer.poll(0)
        producer.produce(topic, b"%020.6f" % time.monotonic() + bytes(_SIZE - 20), partition=number % partitions)
    producer.flush(_END_S)
