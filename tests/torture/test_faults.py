"""Whoever disturbs looks after the broker, too: one that ends late, by what came before, is started again."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import KafkaError, Message, Producer
from tests.torture.clients.administering import Administrator
from tests.torture.controls import Controls
from tests.torture.disk import WrappedDisk
from tests.torture.faults import WRITERS, Faults
from tests.torture.ground import Ground
from tests.torture.history import read_histories
from tests.torture.schedule import Planned
from tests.torture.store import DirectoryStore
from tests.torture.torture_run import ENTRY

from holdfast.testing import RunningBroker


@contextmanager
def writing(ground: Ground) -> Iterator[None]:
    """One producer writes the histories of all who must be acknowledged."""
    histories = [ground.history(name) for name in WRITERS]
    producer = Producer(ground.settings(message_timeout_ms=2000))

    def told(error: KafkaError | None, _: Message) -> None:
        for each in histories if error is None else ():
            each.ok("send")

    def work() -> None:
        while not ground.writing.is_set():
            producer.produce("t", b"value", on_delivery=told)
            producer.flush(0.1)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        ground.writing.set()
        thread.join()


class EndingStore(DirectoryStore):
    """The broker ends as soon as everything is calm."""

    broker: RunningBroker

    def deny(self, *, on: bool) -> None:
        super().deny(on=on)
        self.broker.kill()


@pytest.mark.timeout(120)
def test_a_breather_starts_a_broker_that_ends_in_it(tmp_path: Path) -> None:
    """A8: an fsync that failed just before may end it after all was looked at: nobody is stuck because of that."""
    controls, histories = Controls(tmp_path / "controls"), tmp_path / "histories"
    histories.mkdir()
    environment = {"TORTURE_CONTROLS": str(controls.path)}
    broker = RunningBroker(tmp_path / "data", environment=environment, entry=[str(ENTRY)])
    store = EndingStore(tmp_path / "store", controls)
    store.broker = broker
    ground = Ground(broker.bootstrap, "", histories, 0, store)
    parts = controls, WrappedDisk(tmp_path / "data", controls), store, (), Administrator(), ground.history("house")
    faults = Faults(broker, *parts, random.Random(0), ground, tmp_path / "duels")
    with broker, writing(ground):
        faults.breather(Planned(0, "breather", 0, 0))
    events = read_histories(histories)
    assert [each["event"] for each in events if each["op"] == "broker"] == ["failed", "started"]
    assert [each["stuck"] for each in events if each["op"] == "breather"] == [[]]
