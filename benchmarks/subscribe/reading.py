"""One way to read the same events, in a process of its own: prints what it measured as JSON.

python -m benchmarks.subscribe.reading WAY kafka=HOST:PORT grpc=HOST:PORT events=N [s3 options as name=value]
"""

from __future__ import annotations

import asyncio
import json
import resource
import sys
import time
from typing import Any

from benchmarks.subscribe.data import SOURCES, Check

from holdfast.io.objects.open import open_objects
from holdfast.subscribe import NOW, subscribe
from holdfast.subscribe.warm import warm

STORE = "store_"


class Clock:
    """From the start to the first event and to the last."""

    def __init__(self) -> None:
        self.started = time.perf_counter()
        self.first_s = 0.0

    def mark(self) -> None:
        self.first_s = self.first_s or time.perf_counter() - self.started

    def result(self, count: int) -> dict[str, Any]:
        used = resource.getrusage(resource.RUSAGE_SELF)
        return {
            "entries": count,
            "seconds": time.perf_counter() - self.started,
            "first_s": self.first_s,
            "cpu_s": used.ru_utime + used.ru_stime,
            "peak_size": used.ru_maxrss * 1024,
        }


async def in_batches(given: dict[str, str], *, refs: bool) -> dict[str, Any]:
    clock, check = Clock(), Check()
    subscription = _subscribe(given, segment_refs=refs)
    async for batch in subscription.batches():
        clock.mark()
        check.batch(batch.batch)
    return clock.result(check.count)


async def one_by_one(given: dict[str, str], *, refs: bool, batches: bool) -> dict[str, Any]:
    clock, check = Clock(), Check()
    most = int(given["events"])
    async with _subscribe(given, segment_refs=refs, batches=batches) as subscription:
        async for event in subscription:
            clock.mark()
            check.event(event.topic, event.offset, event.timestamp, event.value or b"")
            if check.count == most:
                break
    return clock.result(check.count)


def _subscribe(given: dict[str, str], **options: Any) -> Any:
    store = {key.removeprefix(STORE): value for key, value in given.items() if key.startswith(STORE)}
    objects = open_objects(store.pop("url"), store) if store else None
    return subscribe(given["grpc"], SOURCES, since=0, until=NOW, objects=objects, **options)


def by_kafka(given: dict[str, str]) -> dict[str, Any]:
    """A plain consumer: the same topics, each partition in its order, no merge."""
    from confluent_kafka import Consumer, TopicPartition

    settings = {"bootstrap.servers": given["kafka"], "group.id": "bench", "enable.auto.commit": False}
    consumer = Consumer({**settings, "fetch.message.max.bytes": 8 << 20, "queued.max.messages.kbytes": 262_144})
    clock = Clock()
    consumer.assign([TopicPartition(name, 0, 0) for name in SOURCES])
    seen = dict.fromkeys(SOURCES, 0)
    count, most = 0, int(given["events"])
    while count < most:
        for message in consumer.consume(10_000, timeout=10):
            clock.mark()
            topic = message.topic()
            assert message.error() is None
            assert message.offset() == seen[topic]
            assert message.value()[:8] == seen[topic].to_bytes(8, "little")
            seen[topic] += 1
            count += 1
    result = clock.result(count)
    consumer.close()
    return result


def main() -> None:
    way, *pairs = sys.argv[1:]
    given = dict(pair.split("=", 1) for pair in pairs)
    warm()  # Loading is not measured; a process does it once.
    if way == "kafka":
        measured = by_kafka(given)
    elif way == "refs":
        measured = asyncio.run(in_batches(given, refs=True))
    elif way == "stream":
        measured = asyncio.run(in_batches(given, refs=False))
    elif way == "refs_events":
        measured = asyncio.run(one_by_one(given, refs=True, batches=True))
    else:
        measured = asyncio.run(one_by_one(given, refs=False, batches=way == "stream_events"))
    print(json.dumps(measured))


if __name__ == "__main__":
    main()
