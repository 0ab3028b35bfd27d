"""A child of the benchmark: single records over raw connections, and the time from produce to consume.

    latency.py single HOST:PORT TOPIC SIZE COUNT PRODUCERS     each producer waits for every ack
    latency.py end-to-end HOST:PORT TOPIC SIZE COUNT RATE      librdkafka, at a fixed rate

The first speaks the protocol itself: a client library would take longer than the broker.
"""

from __future__ import annotations

import asyncio
import ssl
import struct
import sys
import threading
import time

from holdfast.protocol.header import frame_request
from holdfast.record.build import build
from holdfast.record.records import Record

_PRODUCE, _VERSION = 0, 7


def percentile(values: list[float], part: float) -> float:
    ordered = sorted(values)
    return ordered[min(int(len(ordered) * part), len(ordered) - 1)]


def produce_frame(topic: str, batch: bytes, correlation_id: int, partition: int = 0) -> bytes:
    name = topic.encode()
    body = struct.pack(">hhiih", -1, -1, 30_000, 1, len(name)) + name
    body += struct.pack(">iii", 1, partition, len(batch)) + batch
    return b"".join(frame_request(_PRODUCE, _VERSION, correlation_id, "bench", [body]))


async def single(
    address: str, topic: str, size: int, count: int, producers: int, tls: ssl.SSLContext | None = None
) -> None:
    host, _, port = address.rpartition(":")
    batch = bytes(build([Record(None, bytes(size), int(time.time() * 1000))]))
    took: list[float] = []

    async def one(records: int) -> None:
        reader, writer = await asyncio.open_connection(host, int(port), ssl=tls)
        frame = produce_frame(topic, batch, 1)
        code_at = 4 + 4 + 2 + len(topic.encode()) + 4 + 4  # Behind id, topics, name, partitions and index.
        for _ in range(records):
            started = time.perf_counter()
            writer.write(frame)
            (answer_size,) = struct.unpack(">i", await reader.readexactly(4))
            answer = await reader.readexactly(answer_size)
            (code,) = struct.unpack_from(">h", answer, code_at)
            assert code == 0, f"error code {code}"
            took.append(time.perf_counter() - started)
        writer.close()

    started = time.perf_counter()
    await asyncio.gather(*(one(count // producers) for _ in range(producers)))
    seconds = time.perf_counter() - started
    p50, p99 = percentile(took, 0.5) * 1000, percentile(took, 0.99) * 1000
    print(f"records_per_second={len(took) / seconds} p50_ms={p50} p99_ms={p99}")


def end_to_end(address: str, topic: str, size: int, count: int, rate: int) -> None:
    from confluent_kafka import Consumer, Producer, TopicPartition

    consumer = Consumer(
        {"bootstrap.servers": address, "group.id": "latency", "fetch.wait.max.ms": 500, "auto.offset.reset": "earliest"}
    )
    producer = Producer({"bootstrap.servers": address, "linger.ms": 0, "acks": "all"})
    start = consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=20)[1]
    consumer.assign([TopicPartition(topic, 0, start)])
    took: list[float] = []

    def read() -> None:
        while len(took) < count:
            message = consumer.poll(5)
            if message is None:
                return
            if message.error() is None:
                took.append(time.perf_counter() - float(message.key()))

    reader = threading.Thread(target=read)
    reader.start()
    begin = time.perf_counter() + 0.5
    for number in range(count):
        while (left := begin + number / rate - time.perf_counter()) > 0:
            producer.poll(min(left, 0.01))
        producer.produce(topic, bytes(size), key=repr(time.perf_counter()))
        producer.poll(0)
    producer.flush(30)
    reader.join()
    assert len(took) == count, f"{len(took)} of {count} arrived"
    took = took[count // 10 :]  # Connections and fetch sessions are warm by then.
    print(f"p50_ms={percentile(took, 0.5) * 1000} p99_ms={percentile(took, 0.99) * 1000}")


if __name__ == "__main__":
    kind, where, topic_, *numbers = sys.argv[1:]
    if kind == "single":
        asyncio.run(single(where, topic_, *map(int, numbers)))
    else:
        end_to_end(where, topic_, *map(int, numbers))
