"""From produce to event at 500 events a second: follows what another process produces, prints the times as JSON.

python -m benchmarks.subscribe.latency kafka=HOST:PORT grpc=HOST:PORT seconds=N topics=one,two
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from typing import Any

from benchmarks.subscribe.producing import RATE, part
from confluent_kafka import Producer

from holdfast.subscribe import subscribe


def make_topics(kafka: str, topics: list[str]) -> None:
    producer = Producer({"bootstrap.servers": kafka})
    for name in topics:
        producer.produce(name, b"0")  # So that it is there.
    producer.flush(30)


async def measure(kafka: str, grpc: str, topics: list[str], count: int) -> tuple[list[float], dict[str, Any]]:
    """The time until each is an event, and what the producer tells; all go to the first topic."""
    found: list[float] = []

    async def follow() -> None:
        async with subscription:
            async for event in subscription:
                found.append((time.monotonic() - float(event.value or b"0")) * 1000)  # One clock for all processes.
                if len(found) == count:
                    return

    subscription = subscribe(grpc, topics)
    following = asyncio.ensure_future(follow())
    while not subscription.stats.live and not following.done():
        await asyncio.sleep(0.01)
    words = ("-m", "benchmarks.subscribe.producing", f"kafka={kafka}", f"topic={topics[0]}", f"count={count}")
    producing = await asyncio.create_subprocess_exec(sys.executable, *words, stdout=asyncio.subprocess.PIPE)
    told, _ = await producing.communicate()
    await asyncio.wait_for(following, 30)
    return found, json.loads(told)


def main() -> None:
    given = dict(pair.split("=", 1) for pair in sys.argv[1:])
    topics, seconds = given["topics"].split(","), float(given["seconds"])
    make_topics(given["kafka"], topics)
    times, acks = asyncio.run(measure(given["kafka"], given["grpc"], topics, int(RATE * seconds)))
    at = {f"p{percent}_ms": part(times, percent) for percent in (50, 99)}
    print(json.dumps({"entries": len(times), "seconds": seconds, **at, "max_ms": max(times), **acks}))


if __name__ == "__main__":
    main()
