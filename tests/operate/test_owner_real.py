"""Two brokers that came from one data directory, as processes: copies, pauses, kills, on one store."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from holdfast.testing.process import BrokerDidNotStart, RunningBroker

TOPIC = "orders"
OPTIONS = ("--set", "log.owner_check_ms=200")


def broker_on(data: Path, store: Path, *options: str) -> RunningBroker:
    return RunningBroker(data, options=("--store", str(store), *OPTIONS, *options))


@pytest.fixture
def original(tmp_path: Path) -> Iterator[RunningBroker]:
    broker = broker_on(tmp_path / "data", tmp_path / "store")
    broker.start()
    try:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        admin.create_topics([NewTopic(TOPIC, 1, 1)])[TOPIC].result(30)
        yield broker
    finally:
        if broker.is_running:
            os.kill(broker.pid, signal.SIGCONT)
        broker.close()


def copied(broker: RunningBroker) -> Path:
    """A copy of its data directory, as `cp -a` makes it beside a running broker."""
    target = broker.data.parent / "copy"
    shutil.copytree(broker.data, target, symlinks=True)
    return target


class Writing:
    """Produces numbers, one after the other, until it is told to stop; remembers which were acknowledged."""

    def __init__(self, broker: RunningBroker, word: bytes) -> None:
        self.acked: list[bytes] = []
        self._word = word
        self._stop = threading.Event()
        config = {"bootstrap.servers": broker.bootstrap, "message.timeout.ms": 2000, "linger.ms": 0, "acks": "all"}
        self._producer = Producer(config, logger=None)
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        number = 0
        while not self._stop.is_set():
            value = b"%s %d" % (self._word, number)
            self._producer.produce(TOPIC, value, on_delivery=self._delivered)
            self._producer.poll(0.005)
            number += 1

    def _delivered(self, failure: object, message: object) -> None:
        if failure is None:
            self.acked.append(message.value())  # type: ignore[attr-defined]

    def until(self, count: int) -> None:
        end = time.monotonic() + 30
        while len(self.acked) < count:
            assert time.monotonic() < end, "Nothing is acknowledged."
            self._stop.wait(0.01)

    def end(self) -> list[bytes]:
        self._stop.set()
        self._thread.join()
        self._producer.flush(10)
        return self.acked


def read_all(broker: RunningBroker) -> list[bytes]:
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "r", "enable.partition.eof": True})
    consumer.assign([TopicPartition(TOPIC, 0, 0)])
    found = []
    while True:
        message = consumer.poll(20)
        assert message is not None
        if message.error():
            consumer.close()
            return found
        found.append(message.value())


def ended(broker: RunningBroker, within_s: float) -> int:
    """Its exit code, when it has ended by itself."""
    process = broker._process
    assert process is not None
    return process.wait(within_s)


def in_quarantine(broker: RunningBroker) -> bytes:
    return b"".join(path.read_bytes() for path in (broker.data / "quarantine").glob("*.tail"))


def test_a_copy_that_takes_over_and_its_original_never_go_on_together(original: RunningBroker, tmp_path: Path) -> None:
    """D1, D3: both are written to. The original stops within two looks, says so, and keeps every record that it has
    acknowledged in its quarantine; the copy has all of its own, and all from before. The test of D1."""
    first = Writing(original, b"first")
    first.until(50)
    copy = broker_on(copied(original), tmp_path / "store", "--take-over")
    copy.start()
    try:
        assert ended(original, 10) == 1
        second = Writing(copy, b"second")
        second.until(50)
        acked_first, acked_second = first.end(), second.end()
        found = read_all(copy)
        assert [each for each in found if each.startswith(b"second")] == acked_second
        saved = in_quarantine(original)
        assert [each for each in acked_first if each not in found and each not in saved] == []
        assert any("does not own the store any more" in line for line in original.said)
        assert any("not in the store" in line and "ERROR" in line for line in original.said)
    finally:
        copy.close()


def test_a_copy_is_refused_while_its_original_is_alive(original: RunningBroker, tmp_path: Path) -> None:
    """D1: it asks, the original answers, and goes on as if nothing had been."""
    writing = Writing(original, b"first")
    writing.until(20)
    copy = broker_on(copied(original), tmp_path / "store")
    for _ in range(2):
        with pytest.raises(BrokerDidNotStart, match="is running"):
            copy.start()
    writing.until(len(writing.acked) + 20)
    acked = writing.end()
    assert read_all(original) == acked
    original.restart()
    assert read_all(original) == acked


def test_a_directory_that_was_moved_goes_on(original: RunningBroker, tmp_path: Path) -> None:
    """D1: its broker is gone, so nobody answers. The directory it came from, should it come back, is refused."""
    writing = Writing(original, b"first")
    writing.until(20)
    original.kill()
    acked = writing.end()
    moved = broker_on(copied(original), tmp_path / "store")
    moved.start()
    try:
        assert set(acked) <= set(read_all(moved))
        assert not any("store away" in line for line in moved.said), "It was told nothing wrong of the store meanwhile."
        with pytest.raises(BrokerDidNotStart, match="--take-over"):
            original.start()
    finally:
        moved.close()


def test_a_broker_that_was_stopped_acknowledges_nothing_when_another_has_taken_its_place(
    original: RunningBroker, tmp_path: Path
) -> None:
    """D2, D3: SIGSTOP with requests on their way. The next one takes over, and when it goes on it acknowledges none.
    The test of D2."""
    writing = Writing(original, b"first")
    writing.until(50)
    os.kill(original.pid, signal.SIGSTOP)
    time.sleep(0.2)  # Answers that were on their way have come; requests pile up in its sockets.
    acked = len(writing.acked)
    copy = broker_on(copied(original), tmp_path / "store")
    copy.start()
    try:
        second = Writing(copy, b"second")
        second.until(20)
        time.sleep(1.5)  # So long that a look is overdue, whatever it did last.
        os.kill(original.pid, signal.SIGCONT)
        assert ended(original, 10) == 1
        assert len(writing.end()) == acked
        acked_second = second.end()
        found = read_all(copy)
        assert [each for each in found if each.startswith(b"second")] == acked_second
        assert set(writing.acked) <= set(found)
    finally:
        copy.close()


def test_kills_in_the_middle_of_claims(original: RunningBroker, tmp_path: Path) -> None:
    """D1: however often it is killed while it starts, its own directory is never taken for a copy."""
    writing = Writing(original, b"first")
    writing.until(20)
    original.kill()
    acked = writing.end()
    for delay_ms in range(300, 1000, 100):
        process = _spawn(original)
        time.sleep(delay_ms / 1000)
        process.kill()
        process.wait()
    original.start()
    assert set(acked) <= set(read_all(original))
    claims = list((tmp_path / "store" / "owner").glob("*.json"))
    assert 2 <= len(claims) <= 12


def _spawn(broker: RunningBroker) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "holdfast.cli", "serve", "--data", str(broker.data), "--listen", broker.bootstrap]
    store = broker.data.parent / "store"
    quiet = subprocess.DEVNULL
    return subprocess.Popen([*command, "--store", str(store)], stdin=quiet, stdout=quiet, stderr=quiet)
