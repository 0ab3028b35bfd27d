"""From produce to event at 500 events a second: follows what another process produces, prints the times as JSON.

python -m benchmarks.subscribe.latency WAY kafka=HOST:PORT grpc=HOST:PORT seconds=N topics=one,two

WAY is `subscription`, or `kafka` for a plain consumer of librdkafka: what it takes is the machine's, and the ack's.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time

from benchmarks.subscribe.producing import RATE, part
from confluent_kafka import Consumer, Producer, TopicPartition

from holdfast.subscribe import Subscription, subscribe

END_S = 30.0


class Times:
    """How long each took, in milliseconds, from being handed to the producer to being here."""

    def __init__(self, count: int) -> None:
        self.found: list[float] = []
        self._count = count

    def note(self, value: bytes) -> bool:
        """Whether it was the last one."""
        self.found.append((time.monotonic() - float(value)) * 1000)  # One clock for all processes.
        return len(self.found) == self._count


class Producing:
    """A process that sends all to the first of the topics."""

    def __init__(self, kafka: str, topics: list[str], count: int) -> None:
        self._words = [f"kafka={kafka}", f"topic={topics[0]}", f"count={count}"]
        producer = Producer({"bootstrap.servers": kafka})
        for name in topics:
            producer.produce(name, b"0")  # So that it is there.
        producer.flush(END_S)

    def begin(self) -> None:
        command = [sys.executable, "-m", "benchmarks.subscribe.producing", *self._words]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    def end(self) -> dict[str, float]:
        """How long its acks took."""
        told, _ = self._process.communicate(timeout=END_S)
        acks: dict[str, float] = json.loads(told)
        return acks


async def by_subscription(grpc: str, topics: list[str], times: Times, producing: Producing) -> None:
    subscription = subscribe(grpc, topics)
    following = asyncio.ensure_future(_follow(subscription, times))
    while not subscription.stats.live and not following.done():
        await asyncio.sleep(0.01)
    producing.begin()
    await following


async def _follow(subscription: Subscription, times: Times) -> None:
    async with subscription:
        async for event in subscription:
            if times.note(event.value or b"0"):
                return


def by_kafka(kafka: str, topics: list[str], times: Times, producing: Producing) -> None:
    consumer = Consumer({"bootstrap.servers": kafka, "group.id": "bench", "enable.auto.commit": False})
    ends = [(name, consumer.get_watermark_offsets(TopicPartition(name, 0), timeout=END_S)[1]) for name in topics]
    consumer.assign([TopicPartition(name, 0, end) for name, end in ends])
    consumer.poll(1)  # Until it has asked for what is to come.
    producing.begin()
    while True:
        message = consumer.poll(END_S)
        assert message is not None
        assert message.error() is None
        if times.note(message.value()):
            break
    consumer.close()


def main() -> None:
    way, *pairs = sys.argv[1:]
    given = dict(pair.split("=", 1) for pair in pairs)
    topics, seconds = given["topics"].split(","), float(given["seconds"])
    count = int(RATE * seconds)
    times, producing = Times(count), Producing(given["kafka"], topics, count)
    if way == "kafka":
        by_kafka(given["kafka"], topics, times, producing)
    else:
        asyncio.run(by_subscription(given["grpc"], topics, times, producing))
    at = {f"p{percent}_ms": part(times.found, percent) for percent in (50, 99)}
    longest_ms = max(times.found)
    print(json.dumps({"entries": count, "seconds": seconds, **at, "max_ms": longest_ms, **producing.end()}))


if __name__ == "__main__":
    main()
