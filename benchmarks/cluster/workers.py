"""`serve --workers N` under small requests and large ones, beside Apache Kafka on the same cores."""

from __future__ import annotations

import signal
import socket
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from benchmarks.broker import load
from benchmarks.broker.brokers import Running, kafka, ours
from benchmarks.cluster.measure import Figures
from benchmarks.cluster.world import COMMAND, until
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewTopic

from holdfast.testing import free_port

REQUESTS = {"one record of 100 B": (100, 1, 32, 8), "64 KB": (1000, 64, 4, 4)}  # Size, count, connections, under way.
_TOPICS = 6  # Of one partition each: every worker leads one.


@contextmanager
def broker(kind: str, folder: Path) -> Iterator[list[Running]]:
    """Those who answer: one for each worker."""
    if kind.startswith("workers"):
        with _workers(folder, int(kind.split()[1])) as found:
            yield found
    else:
        with kafka(folder, fsync=False) if kind == "kafka" else ours(folder) as one:
            yield [one]


@contextmanager
def _workers(folder: Path, count: int) -> Iterator[list[Running]]:
    first = _ports(count)
    listen = f"127.0.0.1:{first}"
    command = [str(COMMAND), "serve", "--data", str(folder), "--listen", listen, "--workers", str(count)]
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "said").open("w") as said, subprocess.Popen(command, stdout=said, stderr=said) as running:
        try:
            admin = AdminClient({"bootstrap.servers": listen, "log_level": 0})
            until(lambda: _known(admin) == count, "the workers have not come up")
            yield [Running(f"worker {at}", first + at, running.pid) for at in range(count)]
        finally:
            running.send_signal(signal.SIGTERM)
            try:
                running.wait(30)
            except subprocess.TimeoutExpired:
                running.kill()


def _known(admin: AdminClient) -> int:
    try:
        return len(admin.list_topics(timeout=5).brokers)
    except KafkaException:
        return 0


def _ports(count: int) -> int:
    """The first of so many free ones in a row."""
    while True:
        first = free_port()
        if first + count < 65_000 and all(_is_free(first + at) for at in range(count)):
            return first


def _is_free(port: int) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) != 0


def requests(kind: str, what: str, folder: Path, seconds: float) -> Figures:
    """Requests a second, of all workers together; each is asked for a partition that it leads."""
    tool = load.build()
    if isinstance(tool, str):
        raise RuntimeError(tool)
    size, count, connections, under_way = REQUESTS[what]
    with broker(kind, folder) as found:
        topics = _led(found, folder / "objects" if len(found) > 1 else None)
        with ThreadPoolExecutor(len(found)) as together:
            asked = [
                together.submit(
                    load.requests, tool, one, topic, size, count, connections // len(found), under_way, seconds
                )
                for one, topic in zip(found, topics, strict=True)
            ]
            rate = sum(each.result()["requests"] / seconds for each in asked)
    return {"requests_per_s": rate, "mb_per_s": rate * size * count / 1e6}


def _led(found: list[Running], store: Path | None) -> list[str]:
    """A topic for each, of which it leads the one partition; in a store of several one is moved to each."""
    admin = AdminClient({"bootstrap.servers": found[0].address, "log_level": 0})
    names = [f"w{at}" for at in range(_TOPICS)]
    for made in admin.create_topics([NewTopic(name, 1, 1) for name in names]).values():
        made.result(30)
    for at in range(len(found) if store else 0):
        move = [str(COMMAND), "cluster", "move", str(store), f"{names[at]}:0", str(at)]
        subprocess.run(move, check=True, capture_output=True, timeout=60)
    by_port: dict[int, str] = {}

    def look() -> bool:
        told = admin.list_topics(timeout=10)
        for name in names:
            leader = told.brokers.get(told.topics[name].partitions[0].leader) if name in told.topics else None
            if leader is not None:
                by_port[leader.port] = name
        return all(each.port in by_port for each in found)

    until(look, "a worker leads nothing")
    return [by_port[each.port] for each in found]
