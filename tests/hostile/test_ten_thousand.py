"""K10: ten thousand connections to one broker, which come at once, ask once, stay, and go at once."""

from __future__ import annotations

import multiprocessing
import socket
import struct
import time
from multiprocessing.connection import Connection
from pathlib import Path

from tests.broker.test_largest_requests import Neighbour
from tests.broker.wire import Wire, batch, create_topic, produce
from tests.hostile.attacks import hold
from tests.hostile.test_attacks import P99_MS, Watch, p99, resident_size
from tests.support.broker_process import BrokerProcess

from holdfast.protocol.api import Key

COUNT = 10_000
ADDRESSES = 8  # That they come from: one has only so many ports, and others need some.
EACH_SIZE_MAX = 12 << 10  # Bytes of the broker's memory for each connection.
ANSWER_S = 90


def crowd(port: int, said: Connection) -> None:
    """All of them, in a process of its own: open files are counted by process."""
    links: list[socket.socket] = []
    for number in range(COUNT):
        link = socket.socket()
        link.settimeout(ANSWER_S)
        link.bind((f"127.0.0.{2 + number % ADDRESSES}", 0))
        link.connect(("127.0.0.1", port))
        links.append(link)
    for number, link in enumerate(links):
        link.sendall(struct.pack(">ihhih", 10, Key.API_VERSIONS, 0, number, -1))
    for number, link in enumerate(links):
        assert struct.unpack_from(">i", link.recv(65_536), 4) == (number,)
    said.send("all are answered")
    said.recv()
    for link in links:
        link.close()


def test_ten_thousand_connections(tmp_path: Path) -> None:
    """K10, K9: all of them are served, each costs little memory, and a good client beside them does not notice: it is
    compared with one of another broker, since this machine may be busy with other things."""
    context = multiprocessing.get_context("spawn")
    mine, theirs = context.Pipe()
    settings = [f"max.connections={COUNT + 100}"]
    with BrokerProcess(tmp_path / "crowded", settings=settings) as broker, BrokerProcess(tmp_path / "quiet") as quiet:
        for each in (broker, quiet):
            with Wire(each.port) as wire:
                create_topic(wire, "good")
        process = context.Process(target=crowd, args=(broker.port, theirs), daemon=True)
        with Neighbour(broker.port, "good", broker.pid) as good, Neighbour(quiet.port, "good", quiet.pid) as other:
            before, began = resident_size(broker.pid), time.monotonic()
            with Watch(broker.pid) as watch:
                process.start()
                assert mine.poll(ANSWER_S), "they are not answered"
                assert mine.recv() == "all are answered"
                came = time.monotonic()
                hold()
            mine.send("go")
            process.join(ANSWER_S)
            ended = time.monotonic()
        with Wire(broker.port) as wire:
            assert produce(wire, "good", batch(b"after")).error_code == 0
        assert not any("refused" in line for line in broker.said)
    took_ms, other_ms = p99(good, began, ended), p99(other, began, ended)
    size = (watch.most - before) / COUNT
    print(f"{COUNT} in {came - began:.1f} s, {size:.0f} bytes each, p99 {took_ms:.1f} ms, elsewhere {other_ms:.1f}")
    assert process.exitcode == 0
    assert size < EACH_SIZE_MAX
    assert took_ms <= max(P99_MS, 5 * other_ms)
