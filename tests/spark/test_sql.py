"""Holdfast in Spark's SQL, as Spark's own sources are used: found by itself, views, inserts, sentences."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.spark.sink_parts import read_committed
from tests.support.broker_process import BrokerProcess

from holdfast.client import Client
from holdfast.client.errors import TopicNotFound
from holdfast.record.build import build
from holdfast.record.records import Record

_numbers = itertools.count()


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("data")


@pytest.fixture(scope="module")
def broker(spark: Any, data: Path) -> Iterator[BrokerProcess]:
    with BrokerProcess(data) as process:
        yield process


@pytest.fixture
def topic(broker: BrokerProcess) -> str:
    name = f"sql-{next(_numbers)}"
    with Client(broker.address) as client:
        client.create_topics({name: 2})
        client.produce({(name, 0): build([Record(b"k", f"v{number}".encode(), number) for number in range(10)])})
    return name


def view(spark: Any, broker: BrokerProcess, data: Path, topic: str) -> str:
    """A view that is read and written by one set of options."""
    name = f"view_{next(_numbers)}"
    options = f"path '{data}', topic '{topic}', `kafka.bootstrap.servers` '{broker.address}'"
    spark.sql(f"CREATE TEMPORARY VIEW {name} USING holdfast OPTIONS ({options})")
    return name


def test_a_view_is_read_described_and_written(spark: Any, broker: BrokerProcess, data: Path, topic: str) -> None:
    """P1, P3: without `register`; SELECT sees what is in the broker's tail, INSERT INTO writes, DESCRIBE tells."""
    name = view(spark, broker, data, topic)
    assert spark.sql(f"SELECT count(*), max(offset) FROM {name}").first()[:] == (10, 9)
    described = {row["col_name"]: row["data_type"] for row in spark.sql(f"DESCRIBE {name}").collect()}
    assert list(described) == ["key", "value", "topic", "partition", "offset", "timestamp", "timestampType"]
    spark.sql(f"INSERT INTO {name} (key, value) SELECT CAST('new' AS BINARY), CAST('row' AS BINARY)")
    found = [(each.key(), each.value()) for each in read_committed(broker.address, topic, 2) if each.key() == b"new"]
    assert found == [(b"new", b"row")]
    again = view(spark, broker, data, topic)  # What a view has planned once, Spark plans no more.
    assert spark.sql(f"SELECT count(*) FROM {again}").first()[0] == 11


def test_errors_begin_with_their_sentence(spark: Any, broker: BrokerProcess, data: Path, topic: str) -> None:
    """P1: what is wrong comes first, where it came from after it; a table without its options says what to do."""
    with pytest.raises(Exception, match="SQLSTATE") as caught:
        spark.read.format("holdfast").options(path=str(data), subscribe="absent").load().count()
    first, *rest = str(caught.value).splitlines()
    assert first.endswith("there is no topic absent")
    assert rest[0].startswith("Traceback")
    spark.sql(f"CREATE TABLE kept USING holdfast OPTIONS (path '{data}', subscribe '{topic}')")
    try:
        with pytest.raises(Exception, match="SQLSTATE") as caught:
            spark.sql("SELECT * FROM kept").collect()
    finally:
        spark.sql("DROP TABLE kept")
    assert "CREATE TEMPORARY VIEW" in str(caught.value).splitlines()[0]


def test_a_struct_is_written_as_json_and_a_topic_is_made_when_asked(
    spark: Any, broker: BrokerProcess, data: Path
) -> None:
    """P3: both only when asked; without it the errors say so."""
    name = f"made-{next(_numbers)}"
    frame = spark.range(3).selectExpr(
        "CAST(id AS STRING) key",
        "named_struct('id', id, 'none', CAST(NULL AS INT), 'at', timestamp_millis(1700000000000), "
        "'price', CAST(1.5 AS DECIMAL(9,2)), 'tags', array('a', 'b'), 'map', map('x', 1)) value",
    )
    options = {"kafka.bootstrap.servers": broker.address, "topic": name, "path": str(data)}

    def write(**more: str) -> None:
        frame.coalesce(1).write.format("holdfast").mode("append").options(**options, **more).save()

    with pytest.raises(Exception, match="valueFormat=json writes it as JSON"):
        write()
    with pytest.raises(Exception, match=name):
        write(valueFormat="json")
    with pytest.raises(TopicNotFound), Client(broker.address) as client:
        client.topic(name)
    write(valueFormat="json", createTopics="3")
    with Client(broker.address) as client:
        assert len(client.topic(name).partitions) == 3
    found = {each.key(): each.value() for each in read_committed(broker.address, name, 3)}
    assert sorted(json.loads(each)["id"] for each in found.values()) == [0, 1, 2]
    expected = '{"id":0,"at":"2023-11-14T22:13:20.000Z","price":1.5,"tags":["a","b"],"map":{"x":1}}'
    assert found[b"0"] == expected.encode()
