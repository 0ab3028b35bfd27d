"""Rows from Spark to topics, read back by another client."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.spark.sink_parts import read_committed
from tests.support.broker_process import BrokerProcess

from holdfast.client import LATEST, Client

PARTITIONS = 2
_numbers = itertools.count()


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("data")


@pytest.fixture(scope="module")
def broker(spark: Any, data: Path) -> Iterator[BrokerProcess]:  # Without Spark it is not needed.
    with BrokerProcess(data) as process:
        yield process


@pytest.fixture
def topic(broker: BrokerProcess) -> str:
    name = f"written-{next(_numbers)}"
    with Client(broker.address) as client:
        client.create_topics({name: PARTITIONS})
    return name


@pytest.fixture
def options(broker: BrokerProcess, topic: str, data: Path) -> dict[str, str]:
    return {"kafka.bootstrap.servers": broker.address, "topic": topic, "path": str(data)}


def staged(data: Path) -> list[Path]:
    return list((data / "objects" / "staging").glob("*.batches"))


def write(frame: Any, options: dict[str, str], **more: str) -> None:
    frame.write.format("holdfast").mode("append").options(**options, **more).save()


def test_a_batch_job(spark: Any, broker: BrokerProcess, topic: str, options: dict[str, str], data: Path) -> None:
    """P3: all columns arrive: keys, values, tombstones, headers, partitions and times; nothing stays staged."""
    frame = spark.range(100, numPartitions=3).selectExpr(
        "concat('k', id) key",
        "if(id = 7, null, cast(concat('v', id) as binary)) value",
        "array(named_struct('key', 'n', 'value', cast(cast(id as string) as binary))) headers",
        "cast(if(id < 50, id % 2, null) as int) partition",
        "timestamp_millis(1700000000000 + id) timestamp",
        "'left out' other",
    )
    write(frame, options, includeTimestamp="true", **{"kafka.compression.type": "zstd"})
    found = {message.key(): message for message in read_committed(broker.address, topic, PARTITIONS)}
    assert len(found) == 100
    for number in range(100):
        message = found[b"k%d" % number]
        assert message.value() == (None if number == 7 else b"v%d" % number)
        assert message.headers() == [("n", b"%d" % number)]
        assert message.timestamp()[1] == 1_700_000_000_000 + number
        assert number >= 50 or message.partition() == number % 2
    assert staged(data) == []


def test_a_job_that_fails_writes_nothing(
    spark: Any, broker: BrokerProcess, topic: str, options: dict[str, str], data: Path
) -> None:
    """P3: one bad row in one task, and nothing of any task is visible or stays staged; the error says which row."""
    frame = spark.range(100, numPartitions=4).selectExpr("'v' value", "cast(if(id = 99, 9, 0) as int) partition")
    with pytest.raises(Exception, match=f"partition 9 of topic {topic}, which has 2"):
        write(frame, options)
    with Client(broker.address) as client:
        ends = client.list_offsets({(topic, number): LATEST for number in range(PARTITIONS)})
    assert {each.offset for each in ends.values()} == {0}
    assert staged(data) == []


def test_a_job_with_a_name_is_written_once(
    spark: Any, broker: BrokerProcess, topic: str, options: dict[str, str]
) -> None:
    """P3: a batch job that is run again with its sink and job id does nothing."""
    for _ in range(2):
        write(spark.range(10).selectExpr("string(id) value"), options, sinkId="nightly", jobId="2026-11-15")
    assert len(read_committed(broker.address, topic, PARTITIONS)) == 10


@pytest.mark.parametrize(
    ("columns", "changes", "sentence"),
    [
        ("'v' value", {"topic": "absent"}, "there is no topic absent"),
        ("'v' value", {"topicc": "x"}, "did you mean topic"),
        ("'v' wrong", {}, "no column value"),
        ("1.5 value", {}, "column value is of type decimal"),
        ("'v' value", {"path": None}, "executors stage what they write"),
        ("'v' value", {"kafka.bootstrap.servers": None}, "name its address"),
        ("'v' value", {"maxCommitBytes": "10"}, "one transaction takes 10"),
    ],
)
def test_what_cannot_be_written_is_told(
    spark: Any, options: dict[str, str], columns: str, changes: dict[str, str | None], sentence: str
) -> None:
    """P3: wrong options, columns and sizes are clear errors."""
    changed = {name: value for name, value in {**options, **changes}.items() if value is not None}
    with pytest.raises(Exception, match=sentence):
        write(spark.range(5).selectExpr(columns), changed)


def test_a_topic_cannot_be_overwritten(spark: Any, options: dict[str, str]) -> None:
    """P3: overwrite is refused, not taken for append."""
    with pytest.raises(Exception, match="cannot be overwritten"):
        spark.range(5).selectExpr("'v' value").write.format("holdfast").mode("overwrite").options(**options).save()


def test_a_stream_from_topic_to_topic(
    spark: Any, broker: BrokerProcess, topic: str, options: dict[str, str], data: Path, tmp_path: Path
) -> None:
    """P3: what the source reads the sink writes, over stops and starts, each row once; nothing stays staged."""
    source = f"{topic}-source"
    with Client(broker.address) as client:
        client.create_topics({source: PARTITIONS})
    read = {"path": str(data), "subscribe": source, "kafka.bootstrap.servers": broker.address}
    read["startingOffsets"] = "earliest"
    for start in (0, 30):
        rows = spark.range(start, start + 30).selectExpr("concat('k', id) key", "concat('v', id) value")
        write(rows, {**options, "topic": source})
        frame = spark.readStream.format("holdfast").options(**read, maxOffsetsPerTrigger="20")
        writer = frame.load().select("key", "value").writeStream.format("holdfast").options(**options)
        query = writer.option("checkpointLocation", str(tmp_path)).trigger(availableNow=True).start()
        assert query.awaitTermination(120)
        assert query.exception() is None
    found = read_committed(broker.address, topic, PARTITIONS)
    assert sorted((each.key(), each.value()) for each in found) == sorted((b"k%d" % n, b"v%d" % n) for n in range(60))
    assert staged(data) == []
