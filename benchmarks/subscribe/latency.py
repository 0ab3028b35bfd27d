"""From produce to event at 500 events a second, in a process of its own: prints the times in milliseconds as JSON.

python -m benchmarks.subscribe.latency kafka=HOST:PORT grpc=HOST:PORT seconds=N topics=one,two
"""

from __future__ import annotations

import asyncio
import json
import sys
import time

from holdfast.subscribe import subscribe

RATE = 500


async def measure(kafka: str, grpc: str, seconds: float, topics: list[str]) -> list[float]:
    """Each event carries the time at which it was handed to the producer; all go to the first topic."""
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": kafka, "linger.ms": 0, "acks": "all"})
    for name in topics:
        producer.produce(name, b"0")  # So that it is there.
    producer.flush(30)
    count = int(RATE * seconds)
    found: list[float] = []

    async def follow() -> None:
        async with subscription:
            async for event in subscription:
                found.append((time.perf_counter() - float(event.value or b"0")) * 1000)
                if len(found) == count:
                    return

    subscription = subscribe(grpc, topics)
    following = asyncio.ensure_future(follow())
    while not subscription.stats.live and not following.done():
        await asyncio.sleep(0.01)
    begun = time.perf_counter()
    for number in range(count):
        await asyncio.sleep(max(begun + number / RATE - time.perf_counter(), 0))
        producer.produce(topics[0], b"%.7f" % time.perf_counter(), key=b"/k")
        producer.poll(0)
    await asyncio.wait_for(following, 30)
    return found


def main() -> None:
    given = dict(pair.split("=", 1) for pair in sys.argv[1:])
    topics = given["topics"].split(",")
    times = sorted(asyncio.run(measure(given["kafka"], given["grpc"], float(given["seconds"]), topics)))
    at = {f"p{part}_ms": times[min(int(len(times) * part / 100), len(times) - 1)] for part in (50, 99)}
    print(json.dumps({"entries": len(times), "seconds": float(given["seconds"]), **at, "max_ms": times[-1]}))


if __name__ == "__main__":
    main()
