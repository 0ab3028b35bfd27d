"""A child of the benchmark: one producer beside one consumer that has many partitions.

    many.py HOST:PORT PARTITIONS SECONDS

The consumer is librdkafka's, in a process of its own, and stands at the end of all partitions. The producer speaks the
protocol itself: one record to the next of a hundred partitions, wait for the ack, and again; all others are idle. Every
record must reach the consumer. The topics are deleted at the end.
"""

from __future__ import annotations

import socket
import struct
import subprocess
import sys
import time
from itertools import cycle

from benchmarks.broker.latency import percentile, produce_frame
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from holdfast.record.build import build
from holdfast.record.records import Record

_TOPIC_SIZE = 2_000  # Partitions of one topic: Kafka makes no more than 10,000 at once.
_BUSY_COUNT = 100  # Partitions that get records; all others are idle.
_MADE_SECONDS_MAX = 240
_SETTLED_S = 3.0  # Without a record: the consumer has all there is.
_PATIENCE_S = 30


def parts(count: int) -> list[tuple[str, int]]:
    """So many partitions, as topics and their sizes."""
    return [
        (f"many-{count}-{start // _TOPIC_SIZE}", min(_TOPIC_SIZE, count - start))
        for start in range(0, count, _TOPIC_SIZE)
    ]


def make(address: str, count: int) -> None:
    """Make the topics, and wait until all their partitions have leaders."""
    admin = AdminClient({"bootstrap.servers": address})
    for name, size in parts(count):
        options = {"operation_timeout": _MADE_SECONDS_MAX, "request_timeout": _MADE_SECONDS_MAX}
        [made] = admin.create_topics([NewTopic(name, size, 1)], **options).values()
        made.result(_MADE_SECONDS_MAX)
        deadline = time.monotonic() + _PATIENCE_S
        while not _is_led(admin, name, size) and time.monotonic() < deadline:
            time.sleep(0.2)


def _is_led(admin: AdminClient, name: str, size: int) -> bool:
    found = admin.list_topics(name, timeout=_PATIENCE_S).topics[name].partitions
    return len(found) == size and all(each.leader >= 0 for each in found.values())


def consume(address: str, count: int) -> None:
    """The child of the child: says `ready` once the first and the last busy partition were read, then how many came."""
    settings = {"bootstrap.servers": address, "group.id": f"many-{count}", "enable.auto.commit": False}
    consumer = Consumer({**settings, "auto.offset.reset": "earliest", "fetch.wait.max.ms": 500})
    consumer.assign([TopicPartition(name, index, 0) for name, size in parts(count) for index in range(size)])
    waits_for = {busy(count)[0], busy(count)[-1]}
    got, last_at = 0, time.monotonic()
    while waits_for or time.monotonic() - last_at < _SETTLED_S or not _is_told_to_end():
        for message in consumer.consume(500, 0.1):
            if message.error() is not None:
                raise RuntimeError(str(message.error()))
            got, last_at = got + 1, time.monotonic()
            if waits_for:
                waits_for.discard((message.topic(), message.partition()))
                if not waits_for:
                    print("ready", flush=True)
        assert time.monotonic() - last_at < _MADE_SECONDS_MAX, "nothing has come"
    print(got, flush=True)


def _is_told_to_end() -> bool:
    import select

    return bool(select.select([sys.stdin], [], [], 0)[0])


class OneByOne:
    """A connection on which every record is waited for."""

    def __init__(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        self._link = socket.create_connection((host, int(port)), timeout=_PATIENCE_S)
        self._link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._batch = bytes(build([Record(None, bytes(100), int(time.time() * 1000))]))

    def send_first(self, topic: str, partition: int) -> None:
        """The same where the broker may not lead the partition yet, although its metadata say so."""
        deadline = time.monotonic() + _PATIENCE_S
        while True:
            try:
                return self.send(topic, partition)
            except RuntimeError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.1)

    def send(self, topic: str, partition: int) -> None:
        self._link.sendall(produce_frame(topic, self._batch, 1, partition))
        (size,) = struct.unpack(">i", self._read(4))
        (code,) = struct.unpack_from(">h", self._read(size), 4 + 4 + 2 + len(topic) + 4 + 4)
        if code:
            raise RuntimeError(f"error code {code}")

    def _read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            more = self._link.recv(size - len(data))
            if not more:
                raise RuntimeError("the broker has closed the connection")
            data += more
        return data


def busy(count: int) -> list[tuple[str, int]]:
    """The partitions that get records, spread over all of them; the last is the very last."""
    places = [(name, index) for name, size in parts(count) for index in range(size)]
    return places[:: -max(1, count // _BUSY_COUNT)][::-1]


def run(address: str, count: int, seconds: float) -> None:
    make(address, count)
    producer = OneByOne(address)
    for place in busy(count):
        producer.send_first(*place)
    command = [sys.executable, "-m", __spec__.name, "consume", address, str(count)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as consumer:
        assert consumer.stdin is not None
        assert consumer.stdout is not None
        if consumer.stdout.readline().strip() != "ready":
            raise RuntimeError("the consumer has not come up")
        places, took = cycle(busy(count)), []
        for place in busy(count):
            producer.send(*place)
        began = time.perf_counter()
        while (start := time.perf_counter()) < began + seconds:
            producer.send(*next(places))
            took.append(time.perf_counter() - start)
        rate = len(took) / (time.perf_counter() - began)
        consumer.stdin.write("end\n")
        consumer.stdin.flush()
        got = int(consumer.stdout.readline())
    sent = len(took) + 2 * len(busy(count))
    if got != sent:
        raise RuntimeError(f"{got} of {sent} records were consumed")
    p50, p99 = (percentile(took, part) * 1000 for part in (0.5, 0.99))
    print(f"records_per_second={rate} p50_ms={p50} p99_ms={p99}")
    admin = AdminClient({"bootstrap.servers": address})
    for deleted in admin.delete_topics([name for name, _ in parts(count)], operation_timeout=60).values():
        deleted.result(60)


if __name__ == "__main__":
    if sys.argv[1] == "consume":
        consume(sys.argv[2], int(sys.argv[3]))
    else:
        run(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]))
