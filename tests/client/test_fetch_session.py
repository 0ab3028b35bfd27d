"""Fetch sessions: what does not move is not told again, and what is told is of the topic that was meant."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

import pytest

from holdfast.client import Client
from holdfast.client.errors import Refused
from holdfast.client.fetch_session import FetchSession
from holdfast.client.fetching import FetchLimits
from holdfast.errors import Unavailable
from holdfast.protocol.codes import Code
from holdfast.record.batch import split
from holdfast.record.build import build
from holdfast.record.records import Record
from holdfast.testing import RunningBroker, running_broker
from holdfast.types import TopicPartition

LIMITS = FetchLimits(max_wait_ms=50)


@pytest.fixture(scope="module")
def broker() -> Iterator[RunningBroker]:
    with running_broker() as running:
        yield running


def write(client: Client, topic: str, partition: int, value: bytes) -> None:
    client.produce({(topic, partition): build([Record(None, value, 1)])})


def session_of(client: Client, *topics: str) -> FetchSession:
    ids = {name: client.topic(name).id or UUID(int=0) for name in topics}
    return client.fetch_session(ids, LIMITS)


def test_only_what_moves_is_told(broker: RunningBroker) -> None:
    """S8: the first answer has all, later ones what has changed; offsets that have moved are told, and a partition
    that is asked for no more is not told of."""
    with Client(broker.bootstrap) as client:
        client.create_topics({"one": 3, "two": 1})
        write(client, "one", 1, b"first")
        session = session_of(client, "one", "two")
        wanted = {("one", 0): 0, ("one", 1): 0, ("one", 2): 0, ("two", 0): 0}
        found = session.fetch(wanted)
        assert session.by_id
        assert set(found) == set(wanted)
        assert [header.record_count for header, _ in split(found["one", 1].records)] == [1]
        wanted["one", 1] = 1
        assert not any(len(each.records) for each in session.fetch(wanted).values())
        assert session.fetch(wanted) == {}
        write(client, "two", 0, b"second")
        found = session.fetch(wanted)
        assert set(found) == {("two", 0)}
        assert found["two", 0].high_watermark == 1
        assert set(session.fetch(wanted)) == {("two", 0)}  # It was not read on.
        wanted["two", 0] = 1
        session.fetch(wanted)
        del wanted["two", 0]
        write(client, "two", 0, b"third")
        assert session.fetch(wanted) == {}


def test_a_session_that_the_broker_has_lost(broker: RunningBroker) -> None:
    """S8: one that the broker does not know, and one of a broker that was killed: all is asked for anew."""
    wanted = {("kept", 0): 0, ("kept", 1): 0}
    with Client(broker.bootstrap) as client:
        client.create_topics({"kept": 2})
        session = session_of(client, "kept")
        session.fetch(wanted)
        [known] = session._sessions.values()
        known.id += 1
        assert set(session.fetch(wanted)) == set(wanted)
        broker.kill()
        broker.start()
        with Client(broker.bootstrap) as other:
            write(other, "kept", 1, b"since")
        with pytest.raises(Unavailable):
            session.fetch(wanted)
        assert session.fetch(wanted)["kept", 1].high_watermark == 1


def test_a_topic_that_was_made_again(broker: RunningBroker) -> None:
    """S8: another topic of the same name is not read instead."""
    with Client(broker.bootstrap) as client:
        client.create_topics({"again": 1})
        session = session_of(client, "again")
        session.fetch({("again", 0): 0})
        client.delete_topic("again")
        client.create_topics({"again": 1})
        write(client, "again", 0, b"another")
        found = session.fetch({("again", 0): 0})[TopicPartition("again", 0)]
        assert isinstance(found.error, Refused)
        assert found.error.code == Code.UNKNOWN_TOPIC_ID
        assert not len(found.records)
