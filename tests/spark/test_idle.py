"""What a stream asks for while nothing comes, counted: few requests, small ones, and nothing is seen late for it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.spark.disturbed import disturb
from tests.support.spark_store import StoredCluster

from holdfast.catalog.catalog import catalog_in
from holdfast.catalog.store import find_store
from holdfast.client import Client
from holdfast.io.clock import ManualClock
from holdfast.io.objects.faulty import Call
from holdfast.io.objects.local.objects import LocalObjects
from holdfast.record.build import build
from holdfast.record.records import Record
from holdfast.spark.source.looks import ROUND_S, TOPICS_S, WHOLE_S, Looks
from holdfast.spark.source.options import ReadOptions, parse
from holdfast.spark.source.subscription import is_chosen
from holdfast.spark.source.view import View, look
from holdfast.testing import running_broker
from holdfast.types import TopicPartition

TRIGGERS = 50
STEP_S = 0.125  # Between two triggers; exact in binary.


class Watched:
    """A stream's looks by a clock that the test moves, with every request to the store."""

    def __init__(self, path: Path, **options: str) -> None:
        self.calls: list[Call] = []
        self.clock = ManualClock()
        self._path = path
        given = parse({"subscribe": "t", **options, "path": str(path)}, stream=True)
        self.looks = Looks(given, self.clock, self._begin)
        self.looks.anew()
        self.looks.anew()
        self.calls.clear()

    def _begin(self, options: ReadOptions) -> View:
        store = disturb(find_store(str(self._path)), self.calls.append)
        return look(catalog_in(store, topics=lambda topic: is_chosen(options.subscription, topic)), options)

    def end(self, partition: int = 0) -> int:
        return self.looks.for_trigger().marks[TopicPartition("t", partition)].end


@pytest.fixture
def cluster(tmp_path: Path) -> StoredCluster:
    return StoredCluster(LocalObjects(tmp_path))


def test_an_idle_stream_asks_little_of_the_store(cluster: StoredCluster, tmp_path: Path) -> None:
    """P2: of two topics a trigger asks for one small read each at most, and no listing: every partition has its turn in
    ten seconds, and so have the topics. What is new is seen within that time, and from then on at every trigger until
    it ends."""
    partitions = cluster.topic("t", 4)
    cluster.topic("u", 3)
    for each in partitions:
        each.count(10)
        each.flush()
    watched = Watched(tmp_path, subscribe="t,u")
    triggers = int(ROUND_S / STEP_S)
    for _ in range(triggers):
        watched.clock.advance(STEP_S)
        before = len(watched.calls)
        assert watched.end() == 10
        asked = [each.name.split("/")[:2] for each in watched.calls[before:]]
        assert len({tuple(each) for each in asked}) == len(asked), asked  # Not two of one topic, or of the metadata.
    assert {each.kind for each in watched.calls} == {"get"}
    assert len(watched.calls) == len({each.name for each in watched.calls}) == 4 + 3 + 1
    partitions[2].count(5)
    partitions[2].flush()
    seen = []
    for _ in range(triggers):
        watched.clock.advance(STEP_S)
        seen.append(watched.end(2))
    assert seen[-1] == 15
    partitions[2].count(5)
    partitions[2].flush()
    partitions[1].count(5)
    partitions[1].flush()
    for _ in range(triggers):
        watched.clock.advance(STEP_S)
        if watched.end(2) == 20:
            break
    assert watched.looks.view is not None
    assert watched.looks.view.marks[TopicPartition("t", 1)].end == 15  # One has moved, so all were looked at.
    partitions[3].count(5)
    partitions[3].flush()
    assert watched.end(3) == 15


def test_a_rare_trigger_misses_nothing(cluster: StoredCluster, tmp_path: Path) -> None:
    """P2: where a round would take longer than ten seconds, a trigger looks at all partitions; none is seen later than
    by the first trigger behind its turn. Topics that come are seen, and everything now and then."""
    partitions = cluster.topic("t", 4)
    for each in partitions:
        each.count(10)
        each.flush()
    watched = Watched(tmp_path)
    watched.clock.advance(6 * ROUND_S)
    assert watched.end() == 10
    assert [each.kind for each in watched.calls] == ["get"] * 5
    partitions[3].count(1)
    partitions[3].flush()
    watched.clock.advance(6 * ROUND_S)
    assert watched.end(3) == 11
    [fifth] = cluster.grow("t", 5)
    fifth.count(1)
    fifth.flush()
    watched.clock.advance(TOPICS_S)
    assert watched.end(4) == 1
    watched.end()
    partitions[0].expire(10)
    watched.clock.advance(WHOLE_S)
    assert watched.looks.for_trigger().marks[TopicPartition("t", 0)].log_start == 10


def test_a_stream_with_a_broker_asks_it_alone(tmp_path: Path) -> None:
    """P2: while nothing comes a trigger is one question to the broker, and none to the store; what comes is seen by the
    next trigger, and a broker that is away is no answer that nothing has come."""
    with running_broker(data=tmp_path / "data") as broker, Client(broker.bootstrap) as client:
        client.create_topics({"t": 4})
        client.produce({("t", 0): build([Record(b"k", b"v", 1)] * 3)})
        watched = Watched(tmp_path / "data", **{"kafka.bootstrap.servers": broker.bootstrap})
        assert [watched.end() for _ in range(TRIGGERS)] == [3] * TRIGGERS
        assert watched.calls == []
        client.produce({("t", 0): build([Record(b"k", b"v", 1)] * 2)})
        assert watched.end() == 5
        broker.kill()
        broker.start()
        with Client(broker.bootstrap) as other:
            other.produce({("t", 0): build([Record(b"k", b"v", 1)])})
            assert watched.end() == 6
            other.create_partitions("t", 5)
        watched.clock.advance(TOPICS_S)
        assert TopicPartition("t", 4) in watched.looks.for_trigger().marks
        watched.calls.clear()
        watched.clock.advance(TOPICS_S)
        assert watched.end() == 6
        assert [each.kind for each in watched.calls] == ["get"]  # For topics; one small read, however many partitions.
        watched.looks.close()
