"""A transaction that takes too long, with Kafka's Java producer: it is told what Apache Kafka 4.3.1 tells it.

But for a commit: there Kafka says "invalid state", at which Streams ends. Here it is fenced, and Streams begins again.
"""

from __future__ import annotations

import base64
from typing import Any

import pytest
from tests.broker.wire import Wire, wait_for
from tests.java.jvm import JavaFailure, Jvm
from tests.java.serving import Serving
from tests.support.reading import read_whole

from holdfast.protocol.api import Key


class Late:
    """A producer with one record in a transaction whose time is up."""

    def __init__(self, java: Jvm, broker: Serving, name: str) -> None:
        self._java, self._name = java, name
        java.do("topics.create", topic=name, partitions=2)
        self.do("open", config={"transactional.id": name, "transaction.timeout.ms": "300"})
        self.do("begin")
        assert self.send(b"late") == "written"
        with Wire(broker.port) as wire:
            wait_for(lambda: self._state(wire) == "CompleteAbort")

    def _state(self, wire: Wire) -> str:
        [found] = wire.ask(Key.DESCRIBE_TRANSACTIONS, 0, transactional_ids=[self._name]).transaction_states
        state: str = found.transaction_state
        return state

    def do(self, step: str, **arguments: Any) -> Any:
        return self._java.do(f"transactor.{step}", producer=self._name, **arguments)

    def send(self, value: bytes, partition: int = 0) -> str:
        """What became of one record."""
        record = {"topic": self._name, "partition": partition, "value": base64.b64encode(value).decode()}
        [told] = self.do("send", records=[record])
        return str(told.get("error", "written"))

    def goes_on(self) -> None:
        self.do("abort")
        self.do("begin")
        assert self.send(b"next") == "written"
        self.do("commit")
        self.do("close")


def committed(broker: Serving, topic: str) -> list[bytes]:
    return [value for _, value in read_whole(broker.address, topic, 2, committed=True).values()]


@pytest.mark.parametrize("partition", [0, 1, None])
def test_a_producer_aborts_and_goes_on(broker: Serving, java: Jvm, name: str, partition: int | None) -> None:
    """K4: whether it finds out by writing to the same partition, by writing to another, or only when it aborts."""
    late = Late(java, broker, name)
    if partition is not None:
        assert late.send(b"later", partition) == "InvalidProducerEpochException"
    late.goes_on()
    assert committed(broker, name) == [b"next"]


def test_a_commit_is_refused(broker: Serving, java: Jvm, name: str) -> None:
    """K4: nothing of it is seen; to the producer the error is fatal, and another one with its id goes on."""
    late = Late(java, broker, name)
    with pytest.raises(JavaFailure, match="ProducerFenced"):
        late.do("commit")
    with pytest.raises(JavaFailure):
        late.do("abort")
    late.do("close")
    assert committed(broker, name) == []
    late.do("open", config={"transactional.id": name})
    late.do("begin")
    assert late.send(b"heir") == "written"
    late.do("commit")
    late.do("close")
    assert committed(broker, name) == [b"heir"]
