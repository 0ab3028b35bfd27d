"""K9: a consumer without fetch sessions, which names all of its many partitions each time, leaves time for others."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

from tests.broker.wire import Wire, batch, create_topic, fetch_fields, message, produce, wait_for
from tests.support.broker_process import BrokerProcess

from holdfast.broker.fetch.share import FetchShare
from holdfast.io.clock import SystemClock
from holdfast.protocol.api import Key
from holdfast.protocol.classes import request_class
from holdfast.protocol.header import frame_request
from holdfast.protocol.messages import encode_request

PARTITIONS = 2_000
VERSION = 12


class Greedy:
    """Fetches all partitions again as soon as it was answered. There always is a record, so that nothing waits."""

    def __init__(self, port: int, topic: str) -> None:
        wanted = message(request_class(Key.FETCH), fetch_fields(topic, partitions=range(PARTITIONS), max_wait_ms=500))
        body = encode_request(Key.FETCH, VERSION, wanted)
        self._frame = b"".join(frame_request(Key.FETCH, VERSION, 1, "greedy", body))
        self._port = port
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.count = 0

    def __enter__(self) -> Greedy:
        self._thread.start()
        wait_for(lambda: self.count >= 2)
        return self

    def __exit__(self, *error: object) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        with Wire(self._port) as wire:
            while not self._ended.is_set():
                wire.send_bytes(self._frame)
                assert len(wire.receive()) > PARTITIONS * 30
                self.count += 1


def test_a_producer_does_not_wait_behind_fetches_of_2000_partitions(own_broker: Callable[..., BrokerProcess]) -> None:
    """K9: for each record one such fetch would be worked on, and more; the producer gets on several times as often."""
    broker = own_broker()
    with Wire(broker.port) as wire:
        create_topic(wire, "many", partitions=PARTITIONS)
        data = batch(b"x" * 100)
        assert produce(wire, "many", data).error_code == 0
        with Greedy(broker.port, "many") as greedy:
            before = greedy.count
            for number in range(300):
                assert produce(wire, "many", data, partition=1 + number % 99).error_code == 0
            fetches = greedy.count - before
    assert 0 < fetches < 100, f"{fetches} fetches during 300 records"


def test_whoever_gets_much_does_not_rest() -> None:
    """K9: a consumer that is behind reads on at once; one that gets little waits, and never for longer than a limit."""

    async def took(seconds: float, size: int) -> float:
        share, clock = FetchShare(SystemClock()), SystemClock()
        share.spent(seconds, size)
        began = clock.monotonic()
        await share.turn()
        return clock.monotonic() - began

    assert min(asyncio.run(took(0.05, 1 << 20)) for _ in range(5)) < 0.1  # The machine may be busy.
    assert asyncio.run(took(0.05, 100)) >= 0.19
    assert 0.49 <= asyncio.run(took(60.0, 100)) < 5
