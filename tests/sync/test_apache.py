"""Apache Kafka on one side: as target, as source, both ways, and as one that is shut out of."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.apache import ApacheKafka, missing
from tests.sync.conftest import Pair
from tests.sync.consuming import PARTITIONS, consume
from tests.sync.process import SyncProcess
from tests.sync.rounds import Rounds
from tests.sync.sides import assert_equal, assert_marked, numbered, read_topic, write

from holdfast.client import Client, ProducerIdentity
from holdfast.client.errors import ProducerFenced
from holdfast.record.build import build
from holdfast.record.records import Record
from holdfast.sync.errors import NotFenced
from holdfast.sync.origin.mark import Hop
from holdfast.sync.run import Sync
from holdfast.sync.settings import SyncSettings
from holdfast.sync.state.checkpoint import make_topic
from holdfast.sync.state.fence import CHECKPOINT_PARTITION, fence_by_markers, fence_by_transaction
from holdfast.testing import RunningBroker
from holdfast.types import TopicPartition


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApacheKafka]:
    reason = missing()
    if reason and reason.endswith("is missing"):
        pytest.skip(reason)
    if reason:
        pytest.fail(reason)
    with ApacheKafka(tmp_path_factory.mktemp("kafka")) as running:
        yield running


@pytest.fixture
def mixed(brokers: tuple[RunningBroker, RunningBroker], kafka: ApacheKafka) -> Iterator[Pair]:
    """Holdfast as A, Apache Kafka as B."""
    with Client(brokers[0].bootstrap, "test") as at_a, Client(kafka.bootstrap, "test") as at_b:
        yield Pair(brokers[0], kafka, at_a, at_b)


def once(first: str, second: str, topic: str, **settings: object) -> None:
    Sync(first, second, SyncSettings(patterns=(topic,), once=True, give_up_s=60, **settings)).run()  # type: ignore[arg-type]


def test_everything_arrives_at_apache_kafka(mixed: Pair, topic: str) -> None:
    """S8: records, keys, headers, nulls, timestamps, partitions, configs and offsets of groups, with a kill between."""
    configs = {"retention.ms": "-1", "max.message.bytes": "2000000", "holdfast.durability": "fsync"}
    made = mixed.at_a.create_topics({topic: PARTITIONS}, configs)
    for partition in range(PARTITIONS):
        write(mixed.at_a, topic, partition, numbered(f"p{partition}", 2000))
    group = f"group-of-{topic}"
    before = consume(mixed.a.bootstrap, topic, group, 2345)
    killed = SyncProcess(*mixed.addresses, "--topics", topic, "--save-interval", "600")
    killed.wait_for("records", 6000)
    killed.kill()
    write(mixed.at_a, topic, 1, numbered("more", 500))
    again = SyncProcess(*mixed.addresses, "--topics", topic, "--once")
    assert again.wait() == 0, again.said
    assert again.looks[-1]["records"] == 500
    here, there = read_topic(mixed.at_a, topic), read_topic(mixed.at_b, topic)
    assert_equal(here, there)
    cluster, topic_id = mixed.at_a.metadata([]).cluster_id or "", made[topic].id
    assert topic_id is not None
    for partition in range(PARTITIONS):
        assert_marked(there[partition], here[partition], Hop(cluster, topic_id, partition, 0))
    del configs["holdfast.durability"]
    assert mixed.at_b.own_configs(topic) == configs
    after = consume(mixed.b.bootstrap, topic, group, None)
    assert sorted(before + after) == sorted(each.seen.value or b"" for some in here for each in some)


def test_both_ways_with_apache_kafka_under_kills(kafka: ApacheKafka, tmp_path: Path) -> None:
    """S8: Apache Kafka as target and as source: nothing is lost, doubled or echoed when sync or A are killed."""
    report = Rounds(tmp_path, 3, 6000, 4, b=kafka, victims=("sync", "sync", "a")).run()
    assert sum(report.kills.values()) == 4


def test_a_group_goes_to_apache_kafka_and_back(mixed: Pair, topic: str) -> None:
    """S8: from Holdfast to Apache Kafka and back again, with the writers, a group reads every record once."""
    mixed.at_a.create_topics({topic: PARTITIONS})
    read: list[bytes] = []
    group = f"group-of-{topic}"
    for round_, (here, there) in enumerate((("a", "b"), ("b", "a"), ("a", "b"))):
        client = mixed.at_a if here == "a" else mixed.at_b
        for partition in range(PARTITIONS):
            records = [Record(b"k", f"{round_}-{partition}-{number}".encode(), number) for number in range(40)]
            write(client, topic, partition, records)
        read += consume(getattr(mixed, here).bootstrap, topic, group, 100)
        once(*mixed.addresses, topic, both=True)
        read += consume(getattr(mixed, there).bootstrap, topic, group, None)
        once(*mixed.addresses, topic, both=True)
    assert len(read) == len(set(read)) == 3 * 40 * PARTITIONS


def test_what_an_earlier_writer_has_on_its_way_is_refused(mixed: Pair, topic: str) -> None:
    """S8: at Apache Kafka both ways of fencing hold; where one does not, as at Holdfast, that is an error."""
    pairs = [TopicPartition(topic, 0), TopicPartition(topic, 1), CHECKPOINT_PARTITION]
    for client in (mixed.at_a, mixed.at_b):
        client.create_topics({topic: 2})
        make_topic(client)
    for way in (fence_by_markers, fence_by_transaction, fence_by_transaction):
        dead = mixed.at_b.init_producer_id(topic)
        way(mixed.at_b, topic, pairs)
        check_refused(mixed.at_b, dead, pairs)
    fence_by_markers(mixed.at_a, topic, pairs)
    with pytest.raises(NotFenced, match="transaction markers"):
        fence_by_transaction(mixed.at_a, topic, pairs)


def check_refused(client: Client, producer: ProducerIdentity, pairs: list[TopicPartition]) -> None:
    for where in pairs:
        late = build(
            [Record(b"late", b"late", 1)], producer_id=producer.id, producer_epoch=producer.epoch, base_sequence=0
        )
        with pytest.raises(ProducerFenced):
            client.produce({where: late})
