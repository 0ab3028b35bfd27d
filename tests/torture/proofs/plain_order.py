"""librdkafka's plain producer changes the order of records also with one request in flight: beside Apache Kafka, too.

    python tests/torture/proofs/plain_order.py

A proxy in front of Kafka refuses every fourth produce request with an error after which clients try again, as a broker
does that lacks replicas. While a request is in flight, librdkafka makes the next one; that goes out first, and the
refused records come again behind it. kafka-python makes none: there nothing changes places.
"""

from __future__ import annotations

import asyncio
import struct
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))  # The checkout: this is a command of its own.

from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from kafka import KafkaProducer
from tests.support.apache import ApacheKafka

from holdfast.testing import free_port

COUNT = 3000
_EVERY = 4
_NOT_ENOUGH_REPLICAS = 19


def refusal(correlation: bytes, topic: str) -> bytes:
    """A produce response of version 9 or 10, for partition 0."""
    name = topic.encode()
    partition = struct.pack(">ihqqq", 0, _NOT_ENOUGH_REPLICAS, -1, -1, -1) + b"\1\0\0"
    body = b"\2" + bytes([len(name) + 1]) + name + b"\2" + partition + b"\0" + struct.pack(">i", 0) + b"\0"
    return correlation + b"\0" + body


class RefusingProxy(threading.Thread):
    """Passes frames on, except some of those that produce."""

    def __init__(self, port: int, target: int) -> None:
        super().__init__(daemon=True)
        self._port, self._target = port, target
        self._seen = 0
        self.refused = 0

    def run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        async with await asyncio.start_server(self._accept, "127.0.0.1", self._port) as server:
            await server.serve_forever()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        back, onward = await asyncio.open_connection("127.0.0.1", self._target)
        answers = asyncio.ensure_future(self._answers(back, writer))
        try:
            while True:
                frame = await _frame(reader)
                if frame[:2] == b"\0\0" and self._refuses():
                    _write(writer, refusal(frame[4:8], "order"))
                else:
                    _write(onward, frame)
        except (OSError, asyncio.IncompleteReadError):
            answers.cancel()
            onward.close()
            writer.close()

    async def _answers(self, back: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            _write(writer, await _frame(back))

    def _refuses(self) -> bool:
        self._seen += 1
        refuses = self._seen % _EVERY == 0
        self.refused += refuses
        return refuses


async def _frame(reader: asyncio.StreamReader) -> bytes:
    return await reader.readexactly(int.from_bytes(await reader.readexactly(4), "big"))


def _write(writer: asyncio.StreamWriter, frame: bytes) -> None:
    writer.write(len(frame).to_bytes(4, "big") + frame)


def write_librdkafka(bootstrap: str) -> None:
    settings = {"bootstrap.servers": bootstrap, "max.in.flight": 1, "enable.idempotence": False, "linger.ms": 0}
    producer = Producer({**settings, "acks": "all", "log_level": 0})
    for number in range(COUNT):
        producer.produce("order", str(number).encode(), partition=0)
        producer.poll(0.001)
    assert producer.flush(60) == 0


def write_kafka_python(bootstrap: str) -> None:
    producer = KafkaProducer(
        bootstrap_servers=bootstrap, enable_idempotence=False, acks="all", max_in_flight_requests_per_connection=1
    )
    for number in range(COUNT):
        producer.send("order", str(number).encode(), partition=0)
        time.sleep(0.001)  # Or all are sent in a few requests.
    producer.flush(60)
    producer.close()


def stored(bootstrap: str) -> list[int]:
    """Numbers in the order of their offsets; repeats do not count."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "nobody", "enable.partition.eof": True})
    consumer.assign([TopicPartition("order", 0, OFFSET_BEGINNING)])
    numbers: dict[int, None] = {}
    while True:
        for message in consumer.consume(1000, 5):
            if message.error() is None:
                numbers.setdefault(int(message.value()))
            elif message.error().name() == "_PARTITION_EOF" and len(numbers) == COUNT:
                return list(numbers)


def try_out(write: Callable[[str], None]) -> None:
    port = free_port()
    address = f"127.0.0.1:{port}"
    with (
        tempfile.TemporaryDirectory(prefix="holdfast-proof-") as name,
        ApacheKafka(Path(name), settings=(), advertise=address) as broker,
    ):
        proxy = RefusingProxy(port, broker.port)
        proxy.start()
        admin = AdminClient({"bootstrap.servers": address})  # Its futures live no longer than it does.
        for made in admin.create_topics([NewTopic("order", 1)]).values():
            made.result()
        write(address)
        late = sum(after < before for before, after in pairwise(stored(address)))
        print(f"{write.__name__}: {proxy.refused} requests refused, {late} records came late", flush=True)


if __name__ == "__main__":
    for client in (write_librdkafka, write_kafka_python):
        try_out(client)
