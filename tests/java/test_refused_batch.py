"""A batch that is refused, and those sent behind it: whatever is acknowledged is there, once, with every client.

The network is slow, so that several batches are on their way when the first is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from tests.java.jvm import Jvm
from tests.java.serving import Serving
from tests.support.reading import read_whole
from tests.support.slow_proxy import SlowProxy

from holdfast.testing import free_port

COUNT = 200
ROUNDS = 2
DELAY_S = 0.02
LARGE_BATCHES = {"batch.size": "20000", "linger.ms": "5"}  # Far above what the topics take: the client splits them.


class Slow(Serving):
    """A broker that clients reach through a slow network only."""

    def __init__(self, data: Path, port: int, proxy: SlowProxy) -> None:
        super().__init__(data, f"serve.advertise={proxy.address}", port=port)
        self.proxy = proxy


@pytest.fixture(scope="module")
def slow(needs_java: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slow]:
    port = free_port()
    with SlowProxy(port, DELAY_S) as proxy, Slow(tmp_path_factory.mktemp("slow"), port, proxy) as serving:
        yield serving


@pytest.fixture(scope="module")
def slow_java(slow: Slow) -> Iterator[Jvm]:
    with Jvm(slow.proxy.address) as jvm:
        yield jvm


def admin(broker: Slow) -> AdminClient:
    return AdminClient({"bootstrap.servers": broker.proxy.address})


def create(client: AdminClient, topic: str, **configs: str) -> None:
    named = {key.replace("_", "."): value for key, value in configs.items()}
    client.create_topics([NewTopic(topic, 1, 1, config=named)])[topic].result()


def value(number: int) -> bytes:
    return b"%04d" % number + bytes(300)


def records(topic: str, start: int = 0, end: int = COUNT) -> list[dict[str, Any]]:
    return [{"topic": topic, "partition": 0, "value": value(number)} for number in range(start, end)]


def there(broker: Slow, topic: str) -> list[int]:
    """The numbers of the records that committed readers see, in order."""
    found = read_whole(broker.proxy.address, topic, 1, committed=True)
    return [int(value[:4]) for _, value in found.values()]


def test_a_first_batch_that_is_too_large(slow: Slow, slow_java: Jvm, name: str) -> None:
    """D6, K4: Java splits it and sends it again. All records are acknowledged, and all of them are there, in order."""
    for number in range(ROUNDS):
        topic = f"{name}-{number}"
        create(admin(slow), topic, max_message_bytes="6000")
        told = slow_java.do("produce", config=LARGE_BATCHES, records=records(topic))
        assert [each for each in told if "error" in each] == []
        assert there(slow, topic) == list(range(COUNT))


def test_a_first_batch_that_is_too_large_in_a_transaction(slow: Slow, slow_java: Jvm, name: str) -> None:
    """D6, K4: what a transaction has committed is all that it was told is written."""
    for number in range(ROUNDS):
        topic = f"{name}-{number}"
        create(admin(slow), topic, max_message_bytes="6000")
        who = {"producer": topic}
        slow_java.do("transactor.open", **who, config={**LARGE_BATCHES, "transactional.id": topic})
        slow_java.do("transactor.begin", **who)
        told = slow_java.do("transactor.send", **who, records=records(topic))
        assert [each for each in told if "error" in each] == []
        slow_java.do("transactor.commit", **who)
        slow_java.do("transactor.close", **who)
        assert there(slow, topic) == list(range(COUNT))


def test_batches_that_are_too_large_from_librdkafka(slow: Slow, name: str) -> None:
    """D6, K4: it does not split. Those that it was told are written are there, once, and it can go on."""
    create(admin(slow), name, max_message_bytes="6000")
    acked: list[int] = []
    producer = Producer({"bootstrap.servers": slow.proxy.address, "enable.idempotence": True, "linger.ms": 5})

    def told(error: Any, message: Any) -> None:
        if error is None:
            acked.append(int(message.value()[:4]))

    for number in range(COUNT):
        producer.produce(name, value(number), partition=0, on_delivery=told)
        if number % 40 == 39:
            producer.poll(0.01)
    producer.flush(30)
    for number in range(COUNT, COUNT + 5):
        producer.produce(name, value(number), partition=0, on_delivery=told)
        assert producer.flush(30) == 0
    assert acked[-5:] == list(range(COUNT, COUNT + 5))
    assert sorted(there(slow, name)) == sorted(acked)


def test_a_topic_made_again_under_its_producers(slow: Slow, slow_java: Jvm, name: str) -> None:
    """D6, K4: they go on with their sequences in the new topic, and nobody is stuck or shut out."""
    create(admin(slow), name)
    producer = Producer({"bootstrap.servers": slow.proxy.address, "enable.idempotence": True, "linger.ms": 0})
    failures: list[Any] = []

    def send(number: int) -> None:
        producer.produce(name, value(number), partition=0, on_delivery=lambda error, _: failures.append(error))
        assert producer.flush(30) == 0

    for number in range(3):
        send(number)
    client = admin(slow)
    client.delete_topics([name])[name].result()
    create(client, name)
    for number in range(3, 6):
        send(number)
    assert failures == [None] * 6
    assert there(slow, name) == [3, 4, 5]
