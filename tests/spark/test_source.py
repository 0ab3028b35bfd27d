"""The source in a real Spark, row by row beside Spark's own Kafka connector on the same broker."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from tests.java.serving import Serving
from tests.support.spark_store import T0, StoredCluster

from holdfast.catalog.plan import OPEN_SIZE
from holdfast.io.objects.local.objects import LocalObjects
from holdfast.io.objects.open import open_objects

PARTITIONS = 2
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")

pytestmark = pytest.mark.usefixtures("connector")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("broker")


@pytest.fixture(scope="module")
def broker(data: Path) -> Iterator[Serving]:
    """A broker with some topics that are half in segments, half in the tail."""
    keep = "log.retention.ms=-1"  # The records are of 2023.
    with Serving(data, f"num.partitions={PARTITIONS}", keep) as serving:
        fill(serving, "plain", 0, 300, "none")
        for codec in CODECS:
            fill(serving, f"codec-{codec}", 0, 200, codec)
        transact(serving, "transactions", "first", ["commit", "abort", "commit"])
        assert serving.stop() == 0
        serving.start()
        fill(serving, "plain", 300, 400, "lz4")
        transact(serving, "transactions", "second", ["abort", "commit", "open"])
        yield serving
        _OPEN.clear()


def fill(broker: Serving, topic: str, start: int, end: int, codec: str) -> None:
    """Every kind of record: null and empty keys and values, no headers, headers without a value, times that go back."""
    producer = Producer({"bootstrap.servers": broker.address, "compression.type": codec, "linger.ms": 20})
    for number in range(start, end):
        key = (b"k%d" % number, None, b"")[number % 3]
        value = (b"v%d" % number * 20, b"", None, b"x")[number % 4]
        headers = [("n", b"%d" % number), ("empty", b""), ("none", None), ("n", b"twice")][: number % 5]
        when = T0 + 1000 * (number - 40 * (number % 7 == 0))
        producer.produce(topic, value, key, partition=number % PARTITIONS, timestamp=when, headers=headers)
    assert producer.flush(30) == 0


_OPEN: list[Producer] = []  # A transaction is open as long as its producer is there.


def transact(broker: Serving, topic: str, name: str, endings: list[str]) -> None:
    """Transactions that end this way or that, beside records outside of any."""
    settings = {"bootstrap.servers": broker.address, "linger.ms": 5}
    producer = Producer({**settings, "transactional.id": name})
    producer.init_transactions(30)
    for ending in endings:
        producer.begin_transaction()
        for number in range(20):
            producer.produce(topic, f"{name} {ending} {number}", partition=number % PARTITIONS)
        assert producer.flush(30) == 0
        plain = Producer(settings)
        for number in range(4):
            plain.produce(topic, f"plain {number}", partition=number % PARTITIONS)
        assert plain.flush(30) == 0
        if ending == "open":
            _OPEN.append(producer)
        else:
            (producer.commit_transaction if ending == "commit" else producer.abort_transaction)(30)


def kafka(spark: Any, broker: Serving, topic: str, **options: str) -> Any:
    given = {"kafka.bootstrap.servers": broker.address, "includeHeaders": "true", "subscribe": topic}
    return spark.read.format("kafka").options(**{**given, **options}).load()


def ours(spark: Any, path: Any, topic: str, **options: str) -> Any:
    given = {"includeHeaders": "true", "subscribe": topic}
    return spark.read.format("holdfast").options(**{**given, **options}).load(str(path))


def rows(frame: Any) -> list[Any]:
    return sorted(frame.collect(), key=lambda row: (row.topic, row.partition, row.offset))


@pytest.mark.parametrize("codec", CODECS)
def test_rows_are_those_of_sparks_own_connector(spark: Any, broker: Serving, data: Path, codec: str) -> None:
    """P1: the same rows and the same schema as Spark's Kafka source gives, whatever the codec."""
    mine, theirs = ours(spark, data, f"codec-{codec}"), kafka(spark, broker, f"codec-{codec}")
    assert mine.schema == theirs.schema
    found = rows(mine)
    assert len(found) == 200
    assert found == rows(theirs)


def test_the_tail_is_read_from_the_broker(spark: Any, broker: Serving, data: Path) -> None:
    """P1: with a broker's address what is not flushed yet is there too, without a gap and without a double."""
    assert ours(spark, data, "plain").count() == 300
    mine = ours(spark, data, "plain", **{"kafka.bootstrap.servers": broker.address})
    found = rows(mine)
    assert len(found) == 400
    assert found == rows(kafka(spark, broker, "plain"))


@pytest.mark.parametrize("level", ["read_committed", "read_uncommitted"])
def test_transactions(spark: Any, broker: Serving, data: Path, level: str) -> None:
    """P1: aborted and open transactions are read as Spark's own source reads them, from segments and from the tail."""
    options = {"kafka.isolation.level": level}
    mine = ours(spark, data, "transactions", **options, **{"kafka.bootstrap.servers": broker.address})
    found = rows(mine)
    assert found == rows(kafka(spark, broker, "transactions", **options))
    values = {bytes(row.value).decode().rsplit(" ", 1)[0] for row in found}
    kinds = {"first commit", "second commit", "plain"}
    assert values == (kinds if level == "read_committed" else kinds | {"first abort", "second abort", "second open"})


@pytest.mark.s3
def test_a_bucket(spark: Any, broker: Serving, data: Path, s3_store: tuple[str, dict[str, str]]) -> None:
    """P1: the same rows come from a real S3 server; how to reach it is said by options."""
    url, reaching = s3_store
    stored, bucket = LocalObjects(data / "objects"), open_objects(url, reaching)
    for each in stored.list(""):
        bucket.put(each.name, [stored.get(each.name)])
    options = {f"store.{name}": value for name, value in reaching.items()}
    for topic in ("codec-zstd", "transactions"):
        found = rows(ours(spark, url, topic, **options))
        assert len(found) == {"codec-zstd": 200, "transactions": 52}[topic]
        assert found == rows(ours(spark, data, topic))
    with pytest.raises(Exception, match="the store failed to get"):
        ours(spark, url, "plain", **{**options, "store.secret_access_key": "wrong"}).count()


def test_ranges_are_those_of_sparks_own_connector(spark: Any, broker: Serving, data: Path) -> None:
    """P1: starts and ends by offset and by time, for all partitions or each, mean the same as in Spark's own source."""
    topic = "codec-lz4"
    given = [
        {"startingOffsets": {topic: {"0": 20, "1": -2}}, "endingOffsets": {topic: {"0": -1, "1": 30}}},
        {"startingTimestamp": T0 + 50_000, "endingTimestamp": T0 + 90_500},
        {
            "startingOffsetsByTimestamp": {topic: {"0": T0 + 10_000, "1": T0 + 60_000}},
            "endingOffsetsByTimestamp": {topic: {"0": T0 + 20_000, "1": T0 + 999_000_000}},
        },
    ]
    for each in given:
        options = {name: json.dumps(value) for name, value in each.items()}
        found = rows(ours(spark, data, topic, **options))
        assert found
        assert found == rows(kafka(spark, broker, topic, **options))


def test_last_so_many(spark: Any, broker: Serving, data: Path) -> None:
    """P1: a start may be so many offsets before the end, or so long before now."""
    found = rows(ours(spark, data, "codec-gzip", startingOffsets="-3"))
    assert [(row.partition, row.offset) for row in found] == [(p, o) for p in (0, 1) for o in (97, 98, 99)]
    assert ours(spark, data, "codec-gzip", startingTimestamp="-10 minutes").count() == 0
    assert ours(spark, data, "codec-gzip", startingTimestamp="-5200 weeks").count() == 200


def test_narrow_schemas(spark: Any, broker: Serving, data: Path) -> None:
    """P1: a schema of some columns, in any order, reads those."""
    reader = spark.read.format("holdfast").option("subscribe", "codec-zstd")
    frame = reader.schema("timestamp timestamp, value binary").load(str(data))
    whole = ours(spark, data, "codec-zstd").select("timestamp", "value")
    assert sorted(frame.collect(), key=str) == sorted(whole.collect(), key=str)
    with pytest.raises(Exception, match="there is no column valeu, did you mean value"):
        reader.schema("valeu binary").load(str(data)).count()
    with pytest.raises(Exception, match="column value is binary, not string"):
        reader.schema("value string").load(str(data)).count()


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three partitions of two topics with two segments of 100 records each."""
    path = tmp_path_factory.mktemp("counted")
    cluster = StoredCluster(LocalObjects(path))
    for partition in cluster.topic("a", 2) + cluster.topic("b", 1):
        for _ in range(2):
            partition.count(100)
            partition.flush()
    return path


def counted_frame(spark: Any, path: Path, **options: str) -> Any:
    given = {"subscribePattern": "[ab]", "splitSize": str(OPEN_SIZE + 1000), **options}  # A task for each segment.
    return spark.read.format("holdfast").options(**given).load(str(path)).drop("key", "value")


def test_filters_leave_out_segments_and_rows(spark: Any, counted: Path) -> None:
    """P1: filters on topic, partition, offset and time change what is read, and never what is found. The test of P1."""
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    conditions = {
        "topic like 'b%' and offset >= 149": 1,
        "offset = 120 or partition = 1": 6,
        f"partition = 0 and timestamp < timestamp_millis({T0 + 50_000})": 2,
    }
    for condition, tasks in conditions.items():
        kept = counted_frame(spark, counted, pushFilters="true").where(condition)
        assert kept.rdd.getNumPartitions() == tasks, condition
        assert rows(kept) == rows(counted_frame(spark, counted).where(condition)), condition


@pytest.mark.parametrize("enabled", ["true", "false"])
def test_one_frame_serves_many_queries(spark: Any, counted: Path, enabled: str) -> None:
    """P1: a frame that was filtered one way has all its rows for the next query, also when Spark pushes filters."""
    spark.conf.set("spark.sql.python.filterPushdown.enabled", enabled)
    frame = counted_frame(spark, counted).where("topic = 'a'")
    assert frame.where("partition = 1 and offset < 10").count() == 10
    assert frame.count() == 400
    early, late = frame.where("offset < 20"), frame.where("offset >= 190")
    assert early.union(late).count() == 60


def test_what_is_wrong_is_told(spark: Any, counted: Path) -> None:
    """P1: what the source says reaches whoever asked."""
    with pytest.raises(Exception, match="there is no option startingoffset, did you mean startingOffsets"):
        counted_frame(spark, counted, startingOffset="earliest").count()
