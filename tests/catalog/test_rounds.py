"""Acknowledged records that are only in rounds, read from the store alone: with no broker and no disk left."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from confluent_kafka import Producer
from tests.catalog.left import HELD, PARTITIONS, TOPIC, Left, Record, all_lost, fresh_url
from tests.support.broker_process import COMMAND, BrokerProcess
from tests.support.s3_server import S3Server, missing
from tests.support.spark_driven import Driven

from holdfast.catalog import open_catalog, read_topic
from holdfast.catalog.catalog import Catalog
from holdfast.catalog.plan import RoundPart, plan
from holdfast.catalog.read import read
from holdfast.client import Client
from holdfast.io.clock import ManualClock
from holdfast.spark.source.looks import Looks
from holdfast.spark.source.options import parse
from holdfast.spark.source.schema import full_schema
from holdfast.spark.source.source import BatchReader
from holdfast.types import TopicPartition

Rows = dict[int, list[Record]]


@pytest.fixture(scope="module", params=["a directory", pytest.param("S3", marks=pytest.mark.s3)])
def left(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Left]:
    folder = tmp_path_factory.mktemp("left")
    if request.param == "a directory":
        with all_lost(folder, str(folder / "store")) as found:
            yield found
        return
    if reason := missing():
        pytest.skip(reason)
    with S3Server() as server, pytest.MonkeyPatch.context() as patch:
        server.tell(patch)
        with all_lost(folder, fresh_url(server)) as found:
            yield found


def by_partition(batches: Any) -> Rows:
    found: Rows = {number: [] for number in range(PARTITIONS)}
    for batch in batches:
        for row in batch.to_pylist():
            found[row["partition"]].append((row["offset"], row["value"]))
    return found


def test_a_catalog_reads_what_no_broker_has_flushed(left: Left) -> None:
    """C4, P1: every acknowledged record, once, in order; what is open is held back, and what was aborted left out, also
    where its records are in segments and its marker is not."""
    catalog = open_catalog(left.store)
    assert by_partition(read_topic(catalog, TOPIC)) == left.committed
    assert by_partition(read_topic(catalog, TOPIC, committed=False)) == left.everything
    flushed = open_catalog(left.store, rounds=False)
    for number in range(PARTITIONS):
        where = TopicPartition(TOPIC, number)
        assert 0 < flushed.readable(where, committed=False).end < catalog.readable(where).end
    assert catalog.readable(TopicPartition(TOPIC, HELD)).end == left.held_from


@pytest.mark.parametrize("level", ["read_committed", "read_uncommitted"])
def test_spark_reads_what_no_broker_has_flushed(left: Left, level: str) -> None:
    """C4, P1, P2: a batch and a stream, in small tasks, and from a time that only rounds have."""
    wanted = left.committed if level == "read_committed" else left.everything
    options = {"path": left.store, "subscribe": TOPIC, "kafka.isolation.level": level, "maxRecordsPerPartition": "7"}
    assert by_partition(batches_of(options)) == wanted
    offsets = sorted(
        offset for _, offset in Driven(left.store, subscribe=TOPIC, **{"kafka.isolation.level": level}).run()
    )
    assert offsets == sorted(offset for each in wanted.values() for offset, _ in each)
    times = {
        row["offset"]: row["timestamp"]
        for batch in batches_of(options)
        for row in batch.to_pylist()
        if row["partition"] == 0
    }
    last = max(times)
    since = {
        **options,
        "assign": json.dumps({TOPIC: [0]}),
        "startingTimestamp": str(round(times[last].timestamp() * 1000)),
    }
    del since["subscribe"]
    found = [row["offset"] for batch in batches_of(since) for row in batch.to_pylist()]
    assert found == [each for each in sorted(times) if each >= found[0]]
    assert times[found[0]] >= times[last] > times[max(each for each in times if each < found[0])]


def batches_of(options: dict[str, str]) -> Iterator[Any]:
    reader = BatchReader(parse(options, stream=False), full_schema(include_headers=False))
    return (batch for part in reader.partitions() for batch in reader.read(part))


def test_an_archive_has_what_no_broker_has_flushed(left: Left, tmp_path: Path) -> None:
    """C4, P4: all that is decided, once."""
    command = [COMMAND, "archive", TOPIC, str(tmp_path / "lake"), "--path", left.store]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert f"{sum(map(len, left.committed.values()))} rows added" in done.stdout
    assert "in no segment" not in done.stderr
    rows = pq.read_table(tmp_path / "lake").to_pylist()
    found: Rows = {number: [] for number in range(PARTITIONS)}
    for row in rows:
        found[row["partition"]].append((row["offset"], row["value"]))
    assert {number: sorted(each) for number, each in found.items()} == left.committed


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[BrokerProcess]:
    settings = (f"serve.store={tmp_path / 'store'}", "log.flush_age_ms_max=3600000", "subscribe.listen=none")
    with BrokerProcess(tmp_path / "b", settings=("wal.place=store", "wal.interval_ms=5", *settings)) as found:
        yield found


def produce(broker: BrokerProcess, count: int) -> None:
    producer = Producer({"bootstrap.servers": broker.address, "linger.ms": 0, "enable.idempotence": True})
    for number in range(count):
        producer.produce(TOPIC, f"v{number}", partition=0)
    assert producer.flush(60) == 0


def test_a_stream_without_a_broker_goes_on_over_flushes_and_kills(broker: BrokerProcess, tmp_path: Path) -> None:
    """C4, P2: each record comes once, whatever was flushed, killed or started again meanwhile; rounds are seen at the
    next trigger, and a log that begins another epoch in its tail has lost nothing."""
    with Client(broker.address, patience_s=60) as client:
        client.create_topics({TOPIC: 1})
    stream = Driven(str(tmp_path / "store"), subscribe=TOPIC, maxOffsetsPerTrigger="30")
    found, made = [], 0
    for turn in range(4):
        produce(broker, 25)
        made += 25
        if turn % 2:
            with Client(broker.address, patience_s=60) as client:
                client.flush_topic(TOPIC)
            produce(broker, 10)
            made += 10
        found += stream.run()
        assert [offset for _, offset in found] == list(range(made))
        broker.kill()
        broker.start()
    assert open_catalog(str(tmp_path / "store")).tails


def test_an_idle_stream_sees_a_round_at_its_next_trigger(broker: BrokerProcess, tmp_path: Path) -> None:
    """C4, P2: no partition's turn is waited for."""
    with Client(broker.address, patience_s=60) as client:
        client.create_topics({TOPIC: 1})
    produce(broker, 5)
    looks = Looks(parse({"path": str(tmp_path / "store"), "subscribe": TOPIC}, stream=True), ManualClock())
    for made in (5, 12, 19):
        for view in (looks.for_trigger(), looks.anew(), looks.anew(), looks.for_trigger()):
            assert view.marks[TopicPartition(TOPIC, 0)].end == made
        produce(broker, 7)


def test_rounds_that_go_while_they_are_read_are_read_from_segments(broker: BrokerProcess, tmp_path: Path) -> None:
    """C4, P1: a plan outlives what it was made of; what was aborted in rounds is left out of the segments, too."""
    with Client(broker.address, patience_s=60) as client:
        client.create_topics({TOPIC: 1})
    produce(broker, 10)
    failing = Producer({"bootstrap.servers": broker.address, "transactional.id": "x"})
    failing.init_transactions(60)
    failing.begin_transaction()
    failing.produce(TOPIC, "undone", partition=0)
    assert failing.flush(60) == 0
    failing.abort_transaction(60)
    produce(broker, 10)
    catalog = open_catalog(str(tmp_path / "store"))
    where = TopicPartition(TOPIC, 0)
    tasks = plan(catalog, {where: catalog.readable(where)}, count_max=7)
    assert all(isinstance(piece, RoundPart) for task in tasks for piece in task.pieces)
    before = offsets(catalog, tasks)
    assert before == [*range(10), *range(12, 22)]
    with Client(broker.address, patience_s=60) as client:
        client.flush_topic(TOPIC)
    objects = catalog.store.open()
    for each in list(objects.list("wal/")):
        objects.delete(each.name)
    assert offsets(catalog, tasks) == before


def offsets(catalog: Catalog, tasks: Any) -> list[int]:
    return [
        row["offset"] for task in tasks for batch in read(task, ["offset"], catalog.store) for row in batch.to_pylist()
    ]
