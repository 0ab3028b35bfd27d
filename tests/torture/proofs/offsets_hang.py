"""librdkafka waits for ever in `send_offsets_to_transaction` after its only broker was away: beside Apache Kafka, too.

    python tests/torture/proofs/offsets_hang.py kafka       or ours

A transactional producer sends a group's offsets once; so it knows the group's coordinator. The broker is killed, and
started again when the client has found all brokers down. It finds the broker again, as its acknowledged records show.
Then it sends offsets a second time, with a time-out of ten seconds. With `metadata.recovery.strategy=rebootstrap`, the
default, the client has made the broker anew, and still waits for the connection of the one that it has given up.
"""

from __future__ import annotations

import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[3]))  # The checkout: this is a command of its own.

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from tests.support.apache import ApacheKafka

from holdfast.testing import RunningBroker

_CALL_S = 10.0
_PATIENCE_S = 60.0
STRATEGIES = ("rebootstrap", "none")


def patient(call: Any) -> None:
    """Call again while the client says that this may help: Kafka makes its internal topics when they are first used."""
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        try:
            call()
            return
        except KafkaException as failure:
            if not failure.args[0].retriable() or time.monotonic() > deadline:
                raise


class Client:
    """One copy loop, reduced to what matters."""

    def __init__(self, bootstrap: str, strategy: str) -> None:
        self._down = threading.Event()
        self._offset = 0
        settings = {
            "bootstrap.servers": bootstrap,
            "log_level": 0,
            "reconnect.backoff.ms": 20,
            "reconnect.backoff.max.ms": 300,
            "metadata.recovery.strategy": strategy,
        }
        self._consumer = Consumer({**settings, "group.id": f"group-{strategy}"})
        self._producer = Producer({**settings, "transactional.id": strategy, "error_cb": self._told})
        patient(lambda: self._producer.init_transactions(_CALL_S))

    def _told(self, error: Any) -> None:
        if error.name() == "_ALL_BROKERS_DOWN":
            self._down.set()

    def write(self) -> None:
        """Records in a new transaction, acknowledged."""
        self._producer.begin_transaction()
        self._producer.produce("to", b"copy")
        assert self._producer.flush(_PATIENCE_S) == 0, "the broker was not found again"

    def send_offsets(self) -> float | None:
        """How long it took, or None when it has not ended after six times its time-out."""
        self._offset += 1
        began = time.monotonic()
        call = threading.Thread(target=self._send_offsets, daemon=True)
        call.start()
        call.join(6 * _CALL_S)
        return None if call.is_alive() else time.monotonic() - began

    def _send_offsets(self) -> None:
        member = self._consumer.consumer_group_metadata()
        ends = [TopicPartition("from", 0, self._offset)]
        patient(lambda: self._producer.send_offsets_to_transaction(ends, member, _CALL_S))

    def commit(self) -> None:
        patient(lambda: self._producer.commit_transaction(_CALL_S))

    def wait_until_down(self) -> None:
        deadline = time.monotonic() + _PATIENCE_S
        while not self._down.is_set() and time.monotonic() < deadline:
            self._producer.poll(0.1)


def try_out(broker: RunningBroker | ApacheKafka, strategy: str) -> float | None:
    client = Client(broker.bootstrap, strategy)
    client.write()
    assert client.send_offsets() is not None
    client.commit()
    broker.kill()
    client.wait_until_down()
    broker.start()
    client.write()
    return client.send_offsets()


def main(which: str) -> None:
    with tempfile.TemporaryDirectory(prefix="holdfast-proof-") as name:
        folder = Path(name)
        with (
            ApacheKafka(folder / "kafka", settings=()) if which == "kafka" else RunningBroker(folder / "data") as broker
        ):
            admin = AdminClient({"bootstrap.servers": broker.bootstrap})
            for made in admin.create_topics([NewTopic("from", 1), NewTopic("to", 1)]).values():
                made.result()
            for strategy in STRATEGIES:
                took = try_out(broker, strategy)
                print(f"{which}, {strategy}: {'hangs' if took is None else f'{took:.1f} s'}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
