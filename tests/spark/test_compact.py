"""Compaction on Spark: the same result as the broker's own, beside a broker that goes on, whatever comes between."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from kafka import KafkaConsumer, KafkaProducer
from kafka.admin import KafkaAdminClient, NewTopic
from kafka.structs import TopicPartition as KafkaPartition
from tests.spark.stored import T0, Stored, fill, records, transaction
from tests.support.broker_process import BrokerProcess

from holdfast.broker.topics import Topics
from holdfast.catalog.catalog import open_catalog
from holdfast.catalog.plan import plan
from holdfast.catalog.read import read
from holdfast.catalog.store import find_store
from holdfast.cli.audit.evidence import evidence_of
from holdfast.client import ClientSettings
from holdfast.record.marker import MarkerKind
from holdfast.record.records import Record
from holdfast.spark.jobs.audit.audit import audit
from holdfast.spark.jobs.compact import CompactTask, compact, compact_task, rules_of


def rows(cluster: Stored, topic: str) -> list[tuple[int, int, bytes | None, bytes | None]]:
    """Everything that is readable, in order."""
    catalog = open_catalog(cluster.path, cluster.options, topics=[topic])
    ranges = {where: catalog.readable(where) for where in catalog.manifests}
    found = []
    for task in plan(catalog, ranges):
        for batch in read(task, ["partition", "offset", "key", "value"], catalog.store):
            found += [tuple(row.values()) for row in batch.to_pylist()]
    return sorted(found)


def segments(cluster: Stored, topic: str) -> int:
    catalog = open_catalog(cluster.path, topics=[topic])
    return sum(len(each.segments) for each in catalog.manifests.values())


def run(spark: Any, cluster: Stored, topic: str, **options: Any) -> Any:
    return compact(spark, open_catalog(cluster.path, topics=[topic]), **options)


def test_small_segments_become_large(spark: Any, tmp_path: Path) -> None:
    """P4, K6: many small segments become few; every record stays, aborted ones stay invisible."""
    cluster = Stored(tmp_path / "data")

    async def work(topics: Topics) -> None:
        topic = await topics.create("orders", 2, {})
        for number in range(2):
            log = topic.partition(number)
            await fill(log, [records(10 * n, 10) for n in range(9)], flush_every=1)
            await transaction(log, 5, records(900, 4), MarkerKind.ABORT)
            await log.flush()

    cluster.run(work)
    before = rows(cluster, "orders")
    done = run(spark, cluster, "orders")
    assert [(each.segments_before, each.segments_after) for each in done] == [(10, 1), (10, 1)]
    assert segments(cluster, "orders") == 2
    assert rows(cluster, "orders") == before
    assert all(each.is_sound for each in audit(spark, find_store(cluster.path)))
    assert run(spark, cluster, "orders")[0].segments_before == 0  # Nothing is left to do.


def test_the_last_record_of_each_key(spark: Any, tmp_path: Path) -> None:
    """K6: Spark keeps what the broker's own compaction keeps, tombstones included."""
    batches = [[Record(b"k%d" % (n % 7), b"%d" % n, T0 + n) for n in range(start, start + 20)] for start in (0, 20, 40)]
    batches.append([Record(b"k3", None, T0 + 99), Record(None, b"without a key", T0)])
    left = {}
    for who in ("spark", "broker"):
        cluster = Stored(tmp_path / who)

        async def work(topics: Topics, who: str = who) -> None:
            log = (await topics.create("prices", 1, {"cleanup.policy": "compact"})).partition(0)
            await fill(log, batches, flush_every=1)
            if who == "broker":
                await log.compact()

        cluster.run(work)
        if who == "spark":
            run(spark, cluster, "prices")
        left[who] = rows(cluster, "prices")
    assert left["spark"] == left["broker"]
    assert [row[2] for row in left["spark"]].count(b"k3") == 1
    assert len(left["spark"]) == 8


def test_a_foreign_commit_in_between(tmp_path: Path) -> None:
    """P4: segments that somebody else replaced meanwhile are left to them; nothing is lost or doubled."""
    cluster = Stored(tmp_path / "data")

    async def work(topics: Topics) -> None:
        await fill((await topics.create("t", 1, {})).partition(0), [records(5 * n, 5) for n in range(8)], flush_every=1)

    cluster.run(work)
    before = rows(cluster, "t")
    catalog = open_catalog(cluster.path, topics=["t"])
    [(where, manifest)] = catalog.manifests.items()
    names = tuple(each.name for each in manifest.segments)
    first = CompactTask(catalog.store, where, manifest.home, 64 << 20, None, names[:4])
    second = CompactTask(catalog.store, where, manifest.home, 64 << 20, None, names[2:6])
    assert compact_task(first).segments_before == 4
    assert compact_task(second).segments_before == 0
    assert rows(cluster, "t") == before


def test_which_topics_are_compacted_by_key(tmp_path: Path) -> None:
    """K6: the topic's own config decides, unless the command says otherwise."""
    from uuid import UUID

    from holdfast.cluster.metadata import Topic

    plain = Topic("t", UUID(int=1), 1)
    keyed = Topic("t", UUID(int=1), 1, {"cleanup.policy": "delete, compact", "delete.retention.ms": "5"})
    assert rules_of(plain, None) is None
    assert rules_of(plain, "compact") is not None
    rules = rules_of(keyed, None)
    assert rules is not None
    assert rules.tombstone_retention_ms == 5
    assert rules_of(keyed, "delete") is None


@pytest.mark.slow
def test_beside_a_broker_under_load(spark: Any, tmp_path: Path) -> None:
    """P4, K6: producers and consumers run while Spark compacts again and again: nothing lost, nothing doubled."""
    data = tmp_path / "data"
    small = ("log.segment_size_max=20000", "log.compaction_check_ms=3600000")
    with BrokerProcess(data, settings=small) as broker:
        admin = KafkaAdminClient(bootstrap_servers=broker.address)
        admin.create_topics([NewTopic("orders", 2, 1)])
        admin.close()
        acked: list[tuple[int, int, bytes]] = []
        stop = threading.Event()
        producing = threading.Thread(target=produce, args=(broker.address, acked, stop))
        producing.start()
        consumed: list[tuple[int, int, bytes]] = []
        consuming = threading.Thread(target=follow, args=(broker.address, consumed, acked, producing))
        consuming.start()
        rounds = 0
        try:
            while rounds < 4 or len(acked) < 20_000:
                assert producing.is_alive()
                done = compact(spark, open_catalog(str(data), topics=["orders"]), segment_size=1 << 20)
                rounds += any(each.segments_after for each in done)
        finally:
            stop.set()
            producing.join()
            consuming.join()
        for place in (data, data / "objects"):  # With the write-ahead log, and with the broker's tail instead.
            store = find_store(str(place))
            evidence = evidence_of(str(place), store, ClientSettings.at(broker.address), None)
            live = audit(spark, store, ["orders"], evidence)
            assert all(each.is_sound for each in live), [each.problems for each in live]
            assert sum(each.counts.records for each in live) == len(acked)
            assert sum(each.tail for each in live) > 0
        assert sorted(consumed) == sorted(acked)  # Read while segments were swapped.
        again: list[tuple[int, int, bytes]] = []
        follow(broker.address, again, acked, producing)
        assert sorted(again) == sorted(acked)
        assert broker.stop() == 0
    reports = audit(spark, find_store(str(data)), ["orders"])
    assert all(each.is_sound for each in reports), [each.problems for each in reports]
    assert sum(each.counts.records for each in reports) == len(acked)


def produce(address: str, acked: list[tuple[int, int, bytes]], stop: threading.Event) -> None:
    producer = KafkaProducer(bootstrap_servers=address, acks="all", linger_ms=2)
    number = 0
    while not stop.is_set():
        sent = []
        for _ in range(500):
            value = b"%d-" % number + b"x" * 80
            sent.append((value, producer.send("orders", value, partition=number % 2)))
            number += 1
        for value, future in sent:
            found = future.get(60)
            acked.append((found.partition, found.offset, value))
    producer.close()


def follow(address: str, found: list[Any], acked: list[Any], producing: threading.Thread) -> None:
    """Read both partitions from the start until everything that was acknowledged has come, and nothing else."""
    consumer = KafkaConsumer(bootstrap_servers=address, auto_offset_reset="earliest", fetch_max_wait_ms=50)
    partitions = [KafkaPartition("orders", number) for number in range(2)]
    consumer.assign(partitions)
    consumer.seek_to_beginning()
    while producing.is_alive() or len(found) < len(acked):
        for some in consumer.poll(200).values():
            found += [(record.partition, record.offset, record.value) for record in some]
    assert sum(consumer.end_offsets(partitions).values()) == len(acked)
    consumer.close()
