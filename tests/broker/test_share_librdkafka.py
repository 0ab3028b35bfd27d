"""Share groups of librdkafka's share consumer: verdicts, deliveries, two members, and the end of one of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka import AcknowledgeType, ShareConsumer
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource
from tests.broker.librdkafka import PATIENCE_S, create, produce_all
from tests.support.broker_process import BrokerProcess

FAST = (
    "group.share.min.heartbeat.interval.ms=100",
    "group.share.heartbeat.interval.ms=100",
    "group.share.min.session.timeout.ms=6000",
    "group.share.session.timeout.ms=6000",
)
COUNT = 20


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    with BrokerProcess(tmp_path_factory.mktemp("shares"), settings=FAST) as process:
        yield process


class Jobs:
    """A share group that begins at the earliest record of its topic."""

    def __init__(self, serving: BrokerProcess, topic: str) -> None:
        self._where = {"bootstrap.servers": serving.address, "log_level": 2}
        self.topic = topic
        admin = AdminClient(self._where)
        create(admin, topic, 1)
        entry = ConfigEntry("share.auto.offset.reset", "earliest", incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(ConfigResource.Type.GROUP, topic, incremental_configs=[entry])
        for done in admin.incremental_alter_configs([resource]).values():
            done.result(PATIENCE_S)
        produce_all(serving, topic, [{"value": b"%d" % number} for number in range(COUNT)])

    def member(self, **settings: str) -> ShareConsumer:
        consumer = ShareConsumer({**self._where, "group.id": self.topic, **settings})
        consumer.subscribe([self.topic])
        return consumer


@pytest.fixture
def jobs(serving: BrokerProcess, request: pytest.FixtureRequest) -> Jobs:
    return Jobs(serving, request.node.name.removeprefix("test_"))


def poll(consumer: ShareConsumer, count: int, verdict: Callable[[Any], AcknowledgeType] | None = None) -> list[int]:
    """Offsets of so many records; each is judged, if it is asked for."""
    found: list[int] = []
    deadline = time.monotonic() + PATIENCE_S
    while len(found) < count:
        assert time.monotonic() < deadline, found
        for message in consumer.poll(0.2):
            assert message.error() is None, message.error()
            found.append(message.offset())
            if verdict is not None:
                consumer.acknowledge(message, verdict(message))
    return found


def test_librdkafka_accepts_by_the_next_poll(jobs: Jobs) -> None:
    """K8: every record once, in order; the next member of the group gets none of them."""
    with jobs.member() as consumer:
        assert poll(consumer, COUNT) == list(range(COUNT))
        assert list(consumer.commit_sync(10.0).values()) == [None]
    with jobs.member() as consumer:
        assert len(consumer.poll(1.0)) == 0


def test_librdkafka_judges_each_record(jobs: Jobs) -> None:
    """K8: what is released comes again, what is accepted or rejected does not."""
    with jobs.member(**{"share.acknowledgement.mode": "explicit"}) as consumer:

        def verdict(message: Any) -> AcknowledgeType:
            return (AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE, AcknowledgeType.REJECT)[message.offset() % 3]

        assert poll(consumer, COUNT, verdict) == list(range(COUNT))
        assert list(consumer.commit_sync(10.0).values()) == [None]
        again = poll(consumer, len(range(1, COUNT, 3)), lambda _: AcknowledgeType.ACCEPT)
        assert again == list(range(1, COUNT, 3))
        consumer.commit_sync(10.0)
    with jobs.member() as consumer:
        assert len(consumer.poll(1.0)) == 0


def test_librdkafka_gives_back_when_it_closes(jobs: Jobs) -> None:
    """K8: what it was given and has not judged goes to the next member at once."""
    with jobs.member(**{"share.acknowledgement.mode": "explicit"}) as consumer:
        assert poll(consumer, COUNT) == list(range(COUNT))
    with jobs.member() as consumer:
        assert poll(consumer, COUNT) == list(range(COUNT))
