"""How old events are when followers get them, live: by rate, followers and partitions, beside what producers wait.

python -m benchmarks.subscribe.followers [rates=500,5000,50000] [followers=0,1,4,16] [partitions=1,1000] [seconds=6]

With the word `results` the figures are stored as benchmarks/results/subscribe-followers.
"""

from __future__ import annotations

import asyncio
import json
import struct
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from benchmarks import machine
from benchmarks.machine import CHECKOUT, around
from benchmarks.results import new_run, publish
from benchmarks.tables import Table
from numpy.typing import NDArray

from holdfast.client import Client
from holdfast.subscribe import subscribe
from holdfast.testing import RunningBroker, free_port, running_broker

TITLE = "Events that followers get live"
METHOD = """One broker process, one producer process, and one process with all followers: subscriptions, each on its own
channel, that take batches. Events of 100 bytes are sent one by one at a steady rate, over all partitions in turn. An
event's age is from being handed to the producer to being handed out; a producer's wait is until its ack. Without
followers it is the producer alone. The first two seconds are not counted. All of them share the cores of this
machine. The CPU is that of the broker until the last follower had the last event, in seconds for a second of load."""
TOPIC = "followed"
END_S = 20.0
WARM_S = 2.0  # The first seconds are not counted.
ACKS_LOOKED_AT = 5_000  # A second, at most.
SIZE, STAMP = 100, struct.Struct("<d")


def share(times: Sequence[float], percent: int) -> float:
    ordered = sorted(times)
    return round(ordered[min(len(ordered) * percent // 100, len(ordered) - 1)], 1) if ordered else -1.0


def produce(bootstrap: str, partitions: int, rate: int, seconds: float) -> None:
    """A process of its own: sends at a steady rate, and prints how long acks took."""
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0, "queue.buffering.max.messages": 2_000_000})
    acks: list[float] = []
    each = max(rate // ACKS_LOOKED_AT, 1)  # Of so many acks one is looked at.
    began = time.monotonic()
    for number in range(int(rate * seconds)):
        due = began + number / rate
        if due > time.monotonic():
            producer.poll(0)
            time.sleep(max(due - time.monotonic(), 0))
        sent = time.monotonic()
        more: dict[str, Any] = {}
        if number % each == 0:
            more["on_delivery"] = lambda _error, _record, sent=sent: acks.append((time.monotonic() - sent) * 1000)
        producer.produce(TOPIC, STAMP.pack(sent).ljust(SIZE), partition=number * 7919 % partitions, **more)
    producer.flush(END_S)
    late = acks[int(rate / each * WARM_S) :]
    print(json.dumps({"ack_p50_ms": share(late, 50), "ack_p99_ms": share(late, 99)}))


def stamps(values: Any) -> NDArray[np.float64]:
    """When the events of a batch were handed to their producer."""
    data = np.frombuffer(values.buffers()[2], np.uint8)[values.offset * SIZE :][: len(values) * SIZE]
    return np.ascontiguousarray(data.reshape(-1, SIZE)[:, : STAMP.size]).view(np.float64)[:, 0]


async def follow(port: int, wanted: int, ages: list[float], live: asyncio.Event, skip: int) -> int:
    """One follower; how many batches it was given."""
    subscription = subscribe(f"127.0.0.1:{port}", TOPIC)
    seen = batches = 0

    async def tell() -> None:
        while not subscription.stats.live:
            await asyncio.sleep(0.02)
        live.set()

    telling = asyncio.ensure_future(tell())
    async with subscription:
        async for batch in subscription.batches():
            batches += 1
            now = time.monotonic()
            if seen >= skip:
                ages.extend(((now - stamps(batch.batch.column("value"))) * 1000).tolist())
            seen += len(batch)
            if seen >= wanted:
                break
    await telling
    return batches


async def measure(broker: RunningBroker, port: int, partitions: int, rate: int, followers: int, seconds: float) -> Any:
    wanted, skip = int(rate * seconds), int(rate * WARM_S)
    ages: list[list[float]] = [[] for _ in range(followers)]
    live = [asyncio.Event() for _ in range(followers)]
    following = [asyncio.ensure_future(follow(port, wanted, *each, skip)) for each in zip(ages, live, strict=True)]
    for each in live:
        await each.wait()
    words = [f"{name}={value}" for name, value in (("partitions", partitions), ("rate", rate), ("seconds", seconds))]
    command = [sys.executable, "-m", "benchmarks.subscribe.followers", "produce", broker.bootstrap, *words]
    before = _cpu_s(broker.pid)
    process = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE, cwd=CHECKOUT)
    told, _ = await process.communicate()
    done, late = await asyncio.wait(following, timeout=END_S) if following else (set(), set())
    for each in late:
        each.cancel()
    found = [age for some in ages for age in some]
    return {
        "partitions": partitions,
        "rate": rate,
        "followers": followers,
        "seconds": seconds,
        "age_p50_ms": share(found, 50),
        "age_p99_ms": share(found, 99),
        **json.loads(told),
        "events_per_batch": round(wanted * len(done) / max(sum(each.result() for each in done), 1), 1),
        "broker_cores": round((_cpu_s(broker.pid) - before) / seconds, 2),
        "broker_mib": _peak_mib(broker.pid),
        "behind": len(late),
    }


def _cpu_s(pid: int) -> float:
    with open(f"/proc/{pid}/stat") as file:
        words = file.read().rsplit(")", 1)[1].split()
    return (int(words[11]) + int(words[12])) / 100


def _peak_mib(pid: int) -> int:
    with open(f"/proc/{pid}/status") as file:
        return next(int(line.split()[1]) >> 10 for line in file if line.startswith("VmHWM"))


def one(partitions: int, rate: int, followers: int, seconds: float) -> Any:
    port = free_port()
    with running_broker(subscribe_listen=f"127.0.0.1:{port}") as broker:
        with Client(broker.bootstrap) as client:
            client.create_topics({TOPIC: partitions})
        return asyncio.run(measure(broker, port, partitions, rate, followers, seconds))


def main() -> int:
    given = dict(each.split("=", 1) for each in sys.argv[1:] if "=" in each)
    seconds = float(given.get("seconds", "6"))
    if "produce" in sys.argv:
        produce(sys.argv[2], int(given["partitions"]), int(given["rate"]), seconds)
        return 0
    rows = []
    for partitions in map(int, given.get("partitions", "1,1000").split(",")):
        for rate in map(int, given.get("rates", "500,5000,50000").split(",")):
            for followers in map(int, given.get("followers", "0,1,4,16").split(",")):
                rows.append({**around(), **one(partitions, rate, followers, seconds)})
                print(json.dumps(rows[-1]), flush=True)
    stem = CHECKOUT / "benchmarks" / "results" / "subscribe-followers" if "results" in sys.argv else None
    versions = machine.versions("grpcio", "protobuf", "pyarrow", "numpy", "confluent-kafka")
    scale = {"rounds": 1, "seconds": seconds}
    publish(new_run(scale, CHECKOUT, versions, rows), TITLE, METHOD, [table(rows)], stem)
    return 0


def table(rows: Sequence[dict[str, Any]]) -> Table:
    """A row for each run."""
    columns = [
        "partitions, events/s, followers",
        "age p50, ms",
        "p99",
        "ack p50, ms",
        "p99",
        "p99 ÷ without followers",
        "events a message",
        "CPU s/s",
        "broker MiB",
    ]
    alone = {(row["partitions"], row["rate"]): row["ack_p99_ms"] for row in rows if not row["followers"]}
    return Table("Live, by rate and followers", columns, [_cells(row, alone) for row in rows])


def _cells(row: dict[str, Any], alone: dict[tuple[int, int], float]) -> list[str]:
    name = f"{row['partitions']:,}, {row['rate']:,}, {row['followers']}"
    acks = [f"{row['ack_p50_ms']:,.1f}", f"{row['ack_p99_ms']:,.1f}"]
    cost = [f"{row['broker_cores']:.2f}", str(row["broker_mib"])]
    if not row["followers"]:
        return [name, "", "", *acks, "", "", *cost]
    before = alone.get((row["partitions"], row["rate"]), 0.0)
    slower = f"{row['ack_p99_ms'] / before:.1f}" if before > 0 else ""
    ages = [f"{row['age_p50_ms']:,.1f}", f"{row['age_p99_ms']:,.1f}"]
    return [name, *ages, *acks, slower, f"{row['events_per_batch']:.0f}", *cost]


if __name__ == "__main__":
    sys.exit(main())
