"""Spark Connect: a client that knows a server's address, and nothing of Holdfast, reads, streams and writes topics. The
errors that reach it, and those of a session of its own, begin with their sentence."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.spark.sink_parts import read_committed
from tests.support.broker_process import BrokerProcess
from tests.support.spark_session import no_spark
from tests.support.spark_store import StoredCluster

from holdfast.client import Client
from holdfast.io.objects.local.objects import LocalObjects

COUNT = 50
_numbers = itertools.count()


@pytest.fixture(scope="module")
def connect(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    if reason := no_spark():
        pytest.skip(reason)
    from tests.support.spark_processes import ConnectServer

    with ConnectServer(tmp_path_factory.mktemp("connect")) as server:
        session = server.session()
        yield session
        session.stop()


@pytest.fixture(params=["classic", "connect"])
def session(request: pytest.FixtureRequest) -> Any:
    """A session of each kind."""
    return request.getfixturevalue("spark" if request.param == "classic" else "connect")


@pytest.fixture
def store(tmp_path: Path) -> Path:
    for partition in StoredCluster(LocalObjects(tmp_path / "store")).topic("t", 2):
        partition.count(COUNT)
        partition.flush()
    return tmp_path / "store"


def test_a_client_reads_and_follows_a_topic(connect: Any, store: Path, tmp_path: Path) -> None:
    """P1, P2: a frame, a view and a stream; the client registers nothing."""
    frame = connect.read.format("holdfast").option("subscribe", "t").load(str(store))
    found = frame.selectExpr("partition", "offset", "cast(key as string) key").collect()
    assert sorted(tuple(row) for row in found) == [(number, n, f"k{n}") for number in range(2) for n in range(COUNT)]
    connect.sql(f"CREATE TEMPORARY VIEW v USING holdfast OPTIONS (path '{store}', subscribe 't')")
    assert connect.sql("SELECT count(*) FROM v WHERE offset >= 40").first()[0] == 20
    stream = connect.readStream.format("holdfast").option("subscribe", "t").option("startingOffsets", "earliest")
    writer = stream.load(str(store)).writeStream.format("parquet").option("path", str(tmp_path / "out"))
    query = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True).start()
    query.awaitTermination()
    assert connect.read.parquet(str(tmp_path / "out")).count() == 2 * COUNT


def test_a_client_writes_a_topic(connect: Any, tmp_path: Path) -> None:
    """P3: all rows, in one transaction, and a job with an id once."""
    with BrokerProcess(tmp_path / "data") as broker:
        options = {"kafka.bootstrap.servers": broker.address, "path": str(tmp_path / "data"), "topic": "written"}
        rows = connect.range(30).selectExpr("cast(id as string) key", "named_struct('id', id) value")
        for _ in range(2):
            writer = rows.write.format("holdfast").mode("append").options(**options, createTopics="2")
            writer.options(valueFormat="json", sinkId="s", jobId="first").save()
        found = sorted((int(each.key()), each.value()) for each in read_committed(broker.address, "written", 2))
        assert found == [(number, b'{"id":%d}' % number) for number in range(30)]


def told(failing: Any) -> list[str]:
    """The lines of the error that comes."""
    with pytest.raises(Exception, match=r"holdfast\.") as caught:
        failing()
    return str(caught.value).splitlines()


def check(lines: list[str], sentence: str) -> None:
    """The sentence comes before every traceback, and one follows it."""
    first = next(number for number, line in enumerate(lines) if sentence in line)
    trace = next(number for number, line in enumerate(lines) if line.lstrip().startswith("Traceback"))
    assert first < trace, lines[:20]
    assert any("source.py" in line or "sink" in line or "stream.py" in line for line in lines[trace:])


def test_an_error_of_the_plan(session: Any, store: Path) -> None:
    """P1: its first line is the sentence."""
    frame = session.read.format("holdfast").option("subscribe", "absent")
    lines = told(lambda: frame.load(str(store)).count())
    assert lines[0].endswith("there is no topic absent")
    check(lines, "there is no topic absent")
    unknown = session.read.format("holdfast").option("subscribe", "t").option("startingOfsets", "earliest")
    lines = told(lambda: unknown.load(str(store)).count())
    assert lines[0].endswith("there is no option startingofsets, did you mean startingOffsets?")


def test_an_error_of_a_task(session: Any, store: Path) -> None:
    """P1, D9: a segment whose bytes are not what was written, found by an executor."""
    segment = max((store / "segments").rglob("*.seg"), key=lambda each: each.stat().st_size)
    content = bytearray(segment.read_bytes())
    content[len(content) // 3] ^= 1
    segment.write_bytes(content)
    frame = session.read.format("holdfast").option("subscribe", "t").load(str(store))
    check(told(frame.collect), "crc")


def test_an_error_of_a_stream(session: Any, store: Path, tmp_path: Path) -> None:
    """P2: a topic that is not there."""
    stream = session.readStream.format("holdfast").option("subscribe", "absent").load(str(store))
    writer = stream.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "checkpoint"))
    check(told(lambda: writer.trigger(availableNow=True).start().awaitTermination()), "there is no topic absent")


def test_an_error_of_a_write(session: Any, tmp_path: Path) -> None:
    """P3: of a row, which an executor finds."""
    with BrokerProcess(tmp_path / "data") as broker, Client(broker.address) as client:
        name = f"small-{next(_numbers)}"
        client.create_topics({name: 1})
        rows = session.range(2).selectExpr("cast(id as string) value", "7 partition")
        options = {"kafka.bootstrap.servers": broker.address, "path": str(tmp_path / "data"), "topic": name}
        write = rows.write.format("holdfast").mode("append").options(**options).save
        check(told(write), f"a row is for partition 7 of topic {name}, which has 1, from 0 on")
