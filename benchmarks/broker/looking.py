"""A child of the benchmark: what it costs a broker to look into the records before it acknowledges them.

    looking.py HOST:PORT PID CODEC SIZE SECONDS TURNS

Two topics that differ in `holdfast.validate.records` alone take turns, so that they share the drift of the machine. In
each turn one batch, made before, is sent again and again over a few connections, with five requests under way on each,
as clients do. CPU is that of all threads of the broker's process.
"""

from __future__ import annotations

import random
import selectors
import socket
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.broker.latency import produce_frame
from confluent_kafka.admin import AdminClient, NewTopic

from holdfast.record.build import build
from holdfast.record.layout import Codec
from holdfast.record.records import Record

CONNECTIONS = 4
_IN_FLIGHT = 5
_TOPICS = {"off": "looking-off", "on": "looking-yes"}  # As long as one another: so are their requests.
_RECORD_SIZE = 113  # Of one record, with its numbers.
_CONFIG = "holdfast.validate.records"


def batch_of(codec: Codec, size: int) -> bytes:
    """A batch of so many bytes of records, before they are compressed to about half."""
    chance, now = random.Random(16), int(time.time() * 1000)
    made = [Record(None, _value(chance), now + number // 10) for number in range(size // _RECORD_SIZE)]
    return bytes(build(made, codec=codec))


def _value(chance: random.Random) -> bytes:
    noise = chance.randbytes(19).hex()
    return f'{{"order":{chance.randrange(10**6):06},"customer":"{noise}","state":"shipped","currency":"EUR"}}'.encode()


def cpu_seconds(pid: int) -> float:
    """Of all threads, to the nanosecond."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9


class Load:
    """Connections that send one frame again and again."""

    def __init__(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        self._links = [socket.create_connection((host, int(port))) for _ in range(CONNECTIONS)]
        self._selector = selectors.DefaultSelector()
        for link in self._links:
            link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._selector.register(link, selectors.EVENT_READ)

    def run(self, topic: str, batch: bytes, seconds: float) -> int:
        """Send for so long; how many batches were acknowledged. Nothing is under way before or after."""
        frame = produce_frame(topic, batch, 1)
        answer_size = 4 + 4 + 4 + 2 + len(topic) + 4 + 4 + 2 + 8 + 8 + 8 + 4
        code_at = 4 + 4 + 4 + 2 + len(topic) + 4 + 4
        got = dict.fromkeys(self._links, b"")
        under_way = dict.fromkeys(self._links, _IN_FLIGHT)
        for link in self._links:
            link.sendall(frame * _IN_FLIGHT)
        acked, end = 0, time.perf_counter() + seconds
        while any(under_way.values()):
            for key, _ in self._selector.select():
                link = key.fileobj
                assert isinstance(link, socket.socket)
                data = got[link] + link.recv(64 << 10)
                answers, rest = divmod(len(data), answer_size)
                for number in range(answers):
                    at = number * answer_size + code_at
                    assert data[at : at + 2] == b"\0\0", f"error code {int.from_bytes(data[at : at + 2], 'big')}"
                got[link] = data[len(data) - rest :]
                acked += answers
                more = answers if time.perf_counter() < end else 0
                under_way[link] += more - answers
                if more:
                    link.sendall(frame * more)
        return acked


def make_topics(address: str) -> None:
    admin = AdminClient({"bootstrap.servers": address})
    wanted = [
        NewTopic(topic, 1, 1, config={_CONFIG: "true" if what == "on" else "false"})
        for what, topic in _TOPICS.items()
        if topic not in admin.list_topics(timeout=30).topics
    ]
    for made in admin.create_topics(wanted).values() if wanted else ():
        made.result(30)


def run(address: str, pid: int, codec: Codec, size: int, seconds: float, turns: int) -> dict[str, float]:
    make_topics(address)
    batch, load = batch_of(codec, size), Load(address)
    load_of = {what: partial(load.run, topic, batch, seconds) for what, topic in _TOPICS.items()}
    return {"batch_size": len(batch), **in_turns(load_of, dict.fromkeys(_TOPICS, pid), turns)}


def in_turns(load_of: dict[str, Callable[[], int]], pids: dict[str, int], turns: int) -> dict[str, float]:
    """ "off" and "on" one after the other, in an order that changes: the rate and the cost of each, and their ratio."""
    rates: dict[str, list[float]] = {what: [] for what in load_of}
    costs: dict[str, list[float]] = {what: [] for what in load_of}
    for turn in range(-2, turns):
        for what in list(load_of)[:: 1 if turn % 2 else -1]:
            began, used = time.perf_counter(), cpu_seconds(pids[what])
            acked = load_of[what]()
            if turn >= 0:  # Those before warm up.
                rates[what].append(acked / (time.perf_counter() - began))
                costs[what].append((cpu_seconds(pids[what]) - used) / acked * 1e6)
    found: dict[str, float] = {}
    for name, each in (("batches_per_second", rates), ("cpu_us_per_batch", costs)):
        for what, values in each.items():
            found[f"{name}_{what}"] = statistics.median(values)
        found[f"{name}_ratio"] = statistics.median(on / off for on, off in zip(each["on"], each["off"], strict=True))
    return found


if __name__ == "__main__":
    where, pid_, codec_, size_, seconds_, turns_ = sys.argv[1:]
    figures = run(where, int(pid_), Codec[codec_.upper()], int(size_), float(seconds_), int(turns_))
    print(*(f"{name}={value}" for name, value in figures.items()))
