"""One table over all places: archived files, segments and the broker's tail, without a gap and without a double."""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient
from tests.spark.archived import T0
from tests.support.broker_process import BrokerProcess

from holdfast.catalog.catalog import open_catalog
from holdfast.catalog.errors import DataLost
from holdfast.cli.archive.target import open_target
from holdfast.client import Client
from holdfast.cluster.topic_table import TopicTable
from holdfast.errors import Rejected
from holdfast.record.build import build
from holdfast.record.records import Record
from holdfast.spark import table, view
from holdfast.spark.jobs.archive.archive import archive
from holdfast.spark.jobs.archive.values import ValueDecoding
from holdfast.spark.jobs.tables.upkeep import Upkeep, UpkeepSettings
from holdfast.spark.places.source import table_reader
from holdfast.spark.places.split import split
from holdfast.spark.session.small import SmallFirst
from holdfast.spark.source.options import parse
from holdfast.spark.source.schema import full_schema

HERE = SmallFirst(lambda: None, None, lambda _: None)
SCHEMA = {"type": "record", "name": "r", "fields": [{"name": "id", "type": "long"}]}
KINDS = ("parquet", "delta", "iceberg")
_numbers = itertools.count()


class Topic:
    """A topic of two partitions, its archive, and what was produced to it."""

    def __init__(self, data: Path, folder: Path, address: str, kind: str) -> None:
        self.name, self.path, self.address, self.kind = f"t{next(_numbers)}", str(data), address, kind
        self.archive = str(folder / self.name)
        self.client = Client(address)
        self.client.create_topics({self.name: 2}, {"retention.ms": "-1"})  # Its records are years old.
        self.written: dict[tuple[int, int], tuple[bytes, bytes | None]] = {}
        self.ends = [0, 0]

    def produce(self, count: int, value: Any = lambda n: b"value %d" % n) -> None:
        for number in range(2):
            start = self.ends[number]
            rows = [
                Record(b"k%d" % n, value(n), T0 + n, (("h", b"%d" % n),) if n % 3 else ())
                for n in range(start, start + count)
            ]
            self.client.produce({(self.name, number): build(rows)})
            self.ends[number] += count
            more = {(number, start + at): (row.key, row.value) for at, row in enumerate(rows)}
            self.written = self.written | more  # Another one each time: readers in other threads go through theirs.

    def flush(self) -> None:
        with Client(self.address) as client:
            client.flush_topic(self.name)

    def delete_before(self, number: int, offset: int) -> None:
        admin = AdminClient({"bootstrap.servers": self.address})
        for future in admin.delete_records([TopicPartition(self.name, number, offset)]).values():
            future.result()

    def archived(self, decoding: ValueDecoding | None = None) -> Any:
        self.flush()
        catalog = open_catalog(self.path, topics=[self.name])
        target = open_target(self.kind, self.archive, HERE, catalog, {}, {}, "snappy")
        archive(HERE, catalog, target, decoding=decoding)
        return target

    def read(self, spark: Any, **more: Any) -> Any:
        how = {"archive": self.archive, "bootstrap": self.address, **more}
        return table(spark, self.name, self.path, **how)

    def by_source(self, spark: Any, **more: str) -> Any:
        reader = spark.read.format("holdfast").option("subscribe", self.name).option("archive", self.archive)
        return reader.options(**{"kafka.bootstrap.servers": self.address, **more}).load(self.path)


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    with BrokerProcess(tmp_path_factory.mktemp("data")) as process:
        yield process


@pytest.fixture(params=KINDS)
def topic(request: pytest.FixtureRequest, broker: BrokerProcess, tmp_path: Path) -> Iterator[Topic]:
    made = Topic(broker.data, tmp_path, broker.address, request.param)
    yield made
    made.client.close()


def rows(frame: Any) -> list[tuple[Any, ...]]:
    names = ["topic", "partition", "offset", "key", "value", "timestamp", "timestampType", "headers"]
    found = frame.selectExpr(*(f"unix_millis({each})" if each == "timestamp" else each for each in names)).collect()
    return sorted((*tuple(row)[:7], None if row[7] is None else [tuple(each) for each in row[7]]) for row in found)


def expected(topic: Topic) -> list[tuple[Any, ...]]:
    def one(number: int, n: int, key: bytes, value: bytes | None) -> tuple[Any, ...]:
        return topic.name, number, n, key, value, T0 + n, 0, [("h", b"%d" % n)] if n % 3 else None

    return sorted(one(*where, *what) for where, what in topic.written.items())


def test_every_acknowledged_record_is_there_once(spark: Any, topic: Topic) -> None:
    """P4: some archived, some more archived, some in segments, the newest in the broker's tail: row by row all of them,
    by Spark's own reader and by the source itself, and in SQL; without a broker all that is stored."""
    everything = {"options": {"includeHeaders": "true"}}
    assert rows(topic.read(spark, archive="auto", **everything)) == []
    topic.produce(30)
    topic.archived()
    topic.produce(20)
    topic.archived()
    assert rows(topic.read(spark, bootstrap=None, **everything)) == expected(topic)
    topic.produce(10)
    topic.flush()
    stored = expected(topic)
    topic.produce(7)
    whole = topic.read(spark, **everything)
    assert rows(whole) == expected(topic)
    assert rows(topic.by_source(spark, includeHeaders="true")) == expected(topic)
    assert rows(topic.read(spark, bootstrap=None, **everything)) == stored
    view(spark, "one", topic.name, topic.path, archive=topic.archive, bootstrap=topic.address)
    assert spark.sql("SELECT count(*), sum(offset), max(partition) FROM one").first()[:] == (134, 67 * 66, 1)
    before = expected(topic)
    topic.produce(3)
    topic.archived()
    assert rows(whole) == before  # A frame sees what was there when it was made, wherever that is now.


def test_a_part_of_it_by_offsets(spark: Any, topic: Topic) -> None:
    """P4: a range that begins in the archive and ends behind it; what is asked for by name is what is read."""
    topic.produce(30)
    topic.archived()
    topic.produce(10)
    bounds = {"startingOffsets": {"0": 25, "1": -2}, "endingOffsets": {"0": 33, "1": 7}}
    given = {name: json.dumps({topic.name: numbers}) for name, numbers in bounds.items()}
    wanted = [(0, n) for n in range(25, 33)] + [(1, n) for n in range(7)]
    for frame in (topic.read(spark, options=given), topic.by_source(spark, **given)):
        assert sorted(tuple(row) for row in frame.select("partition", "offset").collect()) == wanted
    narrow = topic.read(spark, columns=["offset", "timestampType"])
    assert narrow.columns == ["offset", "timestampType"]
    assert narrow.count() == 80


def test_values_as_columns(spark: Any, topic: Topic) -> None:
    """P4: newer records are decoded as the archive was, by what it keeps, or by the topic's configs; what does not fit
    is no row of the table; the value as it came is read from the log, where the archive has lost it; a new field is
    null in what was archived before."""
    decoding = ValueDecoding("json", json.dumps(SCHEMA))
    topic.produce(10, lambda n: b'{"id": %d}' % n)
    topic.archived(decoding)
    topic.produce(5, lambda n: b'{"id": %d}' % n if n != 12 else b"bad")
    good = sorted((number, n, n) for number in range(2) for n in range(15) if n != 12)
    for frame in (topic.read(spark), topic.by_source(spark)):
        assert "value" not in frame.columns
        assert sorted(tuple(row) for row in frame.select("partition", "offset", "id").collect()) == good
    values = topic.read(spark, columns=["partition", "offset", "value", "id"]).collect()
    assert sorted((row[0], row[1], row[3]) for row in values) == good
    assert {row[2] for row in values} == {b'{"id": %d}' % n for n in range(15) if n != 12}
    fields = [*SCHEMA["fields"], {"name": "note", "type": ["null", "string"]}]  # type: ignore[misc]
    configs = {"format": topic.kind, "location": topic.archive, "value.format": "json"}
    configs["value.schema"] = json.dumps({**SCHEMA, "fields": fields})
    topic.client.alter_configs(topic.name, [(f"holdfast.table.{name}", text) for name, text in configs.items()])
    topic.produce(1, lambda n: b'{"id": %d, "note": "n"}' % n)
    topic.flush()
    found = topic.read(spark, archive="auto").select("offset", "note").collect()
    assert len(found) == 30
    assert {(row[0], row[1]) for row in found if row[0] > 13 or row[0] < 2} == {
        (0, None),
        (1, None),
        (14, None),
        (15, "n"),
    }


class Reading:
    """The source without Spark: what it plans, and what it reads."""

    def __init__(self, topic: Topic, **more: str) -> None:
        given = {"path": topic.path, "subscribe": topic.name, "archive": topic.archive, **more}
        given["kafka.bootstrap.servers"] = topic.address
        schema = full_schema(include_headers=False)
        self.reader = table_reader(parse(given, stream=False), schema)

    def values(self) -> dict[tuple[int, int], bytes | None]:
        found: dict[tuple[int, int], bytes | None] = {}
        for part in self.reader.partitions():
            for batch in self.reader.read(part):
                for row in batch.to_pylist():
                    where = row["partition"], row["offset"]
                    assert where not in found, f"{where} is there twice"
                    found[where] = row["value"]
        return found


def values_of(topic: Topic) -> dict[tuple[int, int], bytes | None]:
    return {where: value for where, (_, value) in topic.written.items()}


def test_what_retention_took_is_read_from_the_archive(topic: Topic) -> None:
    """P4: the log starts behind the archive's beginning: nothing lacks. It starts behind its end: an error that says
    which offsets are gone, or a read without them."""
    topic.produce(30)
    topic.archived()
    topic.produce(20)
    topic.flush()
    topic.delete_before(0, 25)
    assert Reading(topic).values() == values_of(topic)
    topic.delete_before(0, 37)
    with pytest.raises(DataLost, match=r"-0: offsets \[30, 37\) are gone: the archive ends at 30"):
        Reading(topic).values()
    left = {where: each for where, each in values_of(topic).items() if not (where[0] == 0 and 30 <= where[1] < 37)}
    assert Reading(topic, failOnDataLoss="false").values() == left


def test_a_log_that_was_looked_at_before_the_archive(topic: Topic) -> None:
    """P4: what was produced, stored and archived between two looks is neither missing nor an error."""
    topic.produce(5)
    topic.archived()
    catalog = open_catalog(topic.path, topics=[topic.name])
    topic.produce(5)
    topic.archived()
    topic.produce(2)
    topic.flush()
    given = {"path": topic.path, "subscribe": topic.name, "archive": topic.archive}
    found = split(parse(given, stream=False), catalog=catalog)
    assert sorted(found.archived.values()) == [(0, 10), (0, 10)]
    assert sorted(found.live.values()) == [(10, 12), (10, 12)]


def test_beside_an_archive_that_grows_and_is_looked_after(topic: Topic) -> None:
    """P4: producers, an archive that follows, and the upkeep of its files, all at the same time: every read has each
    record that was acknowledged before it began, once, and no hole before the last that it has."""
    stop, failures = threading.Event(), []

    def guarded(work: Callable[[], None]) -> None:
        try:
            while not stop.is_set():
                work()
        except BaseException as failure:
            failures.append(failure)

    def keep() -> None:
        topic.archived()
        target = open_target(
            topic.kind, topic.archive, HERE, open_catalog(topic.path, topics=[topic.name]), {}, {}, "snappy"
        )
        upkeep(TopicTable(topic.name, topic.kind, topic.archive), target)

    upkeep = Upkeep(UpkeepSettings())
    topic.produce(5)
    topic.archived()
    threads = [threading.Thread(target=guarded, args=(work,)) for work in (lambda: topic.produce(5), keep)]
    for each in threads:
        each.start()
    try:
        for _ in range(12):
            before = values_of(topic)
            found = Reading(topic).values()
            assert before.items() <= found.items()
            for number in range(2):
                offsets = sorted(offset for at, offset in found if at == number)
                assert offsets == list(range(len(offsets)))
    finally:
        stop.set()
        for each in threads:
            each.join()
    assert not failures
    assert Reading(topic).values() == values_of(topic)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"archive": "/nowhere/at/all"}, "there is no archive at /nowhere/at/all"),
        ({"archive": "auto", "startingTimestamp": "0"}, "filter by timestamp instead"),
        ({"archive": "auto", "kafka.isolation.level": "read_uncommitted"}, "committed records only"),
        ({"archive.store.region": "x"}, "say where it is"),
        ({"decode": "json"}, "decode and decodeSchema belong together"),
        ({"decode": "xml", "decodeSchema": "{}"}, "it must be one of json, avro"),
        ({"decode": "registry", "decodeSchema": "{}"}, "needs decodeRegistry"),
    ],
)
def test_what_cannot_be_is_said(broker: BrokerProcess, given: dict[str, str], said: str) -> None:
    """P4: in one sentence, before anything is read."""
    with Client(broker.address) as client:
        client.create_topics({f"said-{next(_numbers)}": 1})
    with pytest.raises(Rejected, match=said):
        split(parse({"path": str(broker.data), "subscribe": f"said-{next(_numbers) - 1}", **given}, stream=False))


def test_a_stream_reads_the_log(tmp_path: Path) -> None:
    """P4: an archive is for batches."""
    with pytest.raises(Rejected, match="a stream reads the log"):
        parse({"path": str(tmp_path), "subscribe": "t", "archive": "auto"}, stream=True)
