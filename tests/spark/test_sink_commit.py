"""The sink's commit without Spark: one transaction, once, and by one driver."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from kafka.partitioner.default import murmur2
from tests.spark.sink_parts import HEADERS, commit, read_committed, rows, stage
from tests.support.broker_process import BrokerProcess

from holdfast.client import LATEST, Client
from holdfast.client.errors import ProducerFenced, TopicNotFound
from holdfast.errors import Rejected
from holdfast.io.clock import ManualClock, SystemClock
from holdfast.io.objects.memory import MemoryBucket, MemoryObjects
from holdfast.record.errors import CorruptBatch
from holdfast.spark.sink.commit_record import BatchKey, BatchMemory, name_of, read_record
from holdfast.spark.sink.errors import (
    BatchGoneBack,
    CommitTooLarge,
    CommitTooSlow,
    HeaderWithoutKey,
    NoSuchPartition,
    NoTopic,
    RowTooLarge,
    SinkTakenOver,
    StagedGone,
)
from holdfast.spark.sink.staging import Job
from holdfast.spark.sink.staging_sweep import sweep_job, sweep_old
from holdfast.types import TopicPartition

_numbers = itertools.count()


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    with BrokerProcess(tmp_path_factory.mktemp("broker")) as process:
        yield process


@pytest.fixture
def client(broker: BrokerProcess) -> Iterator[Client]:
    with Client(broker.address) as client:
        yield client


@pytest.fixture
def topic(client: Client) -> str:
    """A topic of its own for each test, with three partitions."""
    name = f"sink-{next(_numbers)}"
    client.create_topics({name: 3})
    return name


@pytest.fixture
def job(topic: str) -> Job:
    return Job(f"sink of {topic}", "job")


@pytest.fixture
def objects() -> MemoryObjects:
    return MemoryObjects(MemoryBucket(), "staging")


def values(broker: BrokerProcess, topic: str) -> list[bytes]:
    return [message.value() for message in read_committed(broker.address, topic, 3)]


def batch(job: Job, query: str, run: str, number: int) -> BatchMemory:
    return BatchMemory(job.sink, BatchKey(query, run, number))


def expected(start: int, end: int) -> list[bytes]:
    return [b"v%d" % number for number in range(start, end)]


def test_all_that_was_staged_is_written(
    client: Client, broker: BrokerProcess, topic: str, job: Job, objects: MemoryObjects
) -> None:
    """P3: keys, values, headers and times of all tasks arrive, each key where Java's producers would send it."""
    first, second = rows(0, 500), rows(500, 1000)
    headers = pa.array(
        [[{"key": "n", "value": b"%d" % number}] if number % 2 else None for number in range(500)], HEADERS
    )
    times = pa.array([1_700_000_000_000_000 + number * 1000 + 7 for number in range(500)], pa.timestamp("us", "UTC"))
    staged = stage(
        client,
        objects,
        job,
        first.append_column("headers", headers).append_column("timestamp", times),
        topic=topic,
        include_timestamp=True,
    )
    staged += stage(client, objects, job, second, task=1, topic=topic)
    done = commit(client, objects, job.sink).run(staged, batch(job, "q", "r", 0))
    assert (done.is_new, done.record_count) == (True, 1000)
    found = read_committed(broker.address, topic, 3)
    assert sorted(each.value() for each in found) == sorted(expected(0, 1000))
    for each in found:
        number = int(each.value()[1:])
        assert each.key() == b"k%d" % number
        assert each.partition() == (murmur2(each.key()) & 0x7FFFFFFF) % 3
        assert each.headers() == ([("n", b"%d" % number)] if number % 2 and number < 500 else None)
        assert number >= 500 or each.timestamp()[1] == 1_700_000_000_000 + number
    for number in range(3):
        there = [int(each.value()[1:]) for each in found if each.partition() == number]
        assert there == sorted(there)


def test_a_second_commit_of_a_batch_does_nothing(
    client: Client, broker: BrokerProcess, topic: str, job: Job, objects: MemoryObjects
) -> None:
    """P3: a recorded pair of sink and batch is a no-op, in the same run and in the next one; the next batch is not."""
    staged = stage(client, objects, job, rows(0, 50), topic=topic)
    sink = commit(client, objects, job.sink)
    assert sink.run(staged, batch(job, "q", "first", 0)).is_new
    assert not sink.run(staged, batch(job, "q", "first", 0)).is_new
    assert not sink.run(staged, batch(job, "q", "second", 0)).is_new
    assert sink.run(stage(client, objects, job, rows(50, 60), task=1, topic=topic), batch(job, "q", "second", 1)).is_new
    assert sorted(values(broker, topic)) == sorted(expected(0, 60))


def test_another_query_begins_anew(
    client: Client, broker: BrokerProcess, topic: str, job: Job, objects: MemoryObjects
) -> None:
    """P3: batch 0 of a new checkpoint is written, though batch 0 of the old one was: never a silent loss."""
    sink = commit(client, objects, job.sink)
    sink.run(stage(client, objects, job, rows(0, 5), topic=topic), batch(job, "old", "a", 0))
    sink.run(stage(client, objects, job, rows(5, 9), task=1, topic=topic), batch(job, "new", "b", 0))
    assert sorted(values(broker, topic)) == sorted(expected(0, 9))


def test_an_older_batch_is_refused(client: Client, topic: str, job: Job, objects: MemoryObjects) -> None:
    """P3: a checkpoint that was put back is told, not skipped."""
    sink = commit(client, objects, job.sink)
    staged = stage(client, objects, job, rows(0, 5), topic=topic)
    sink.run(staged, batch(job, "q", "a", 7))
    with pytest.raises(BatchGoneBack) as refused:
        sink.run(staged, batch(job, "q", "a", 6))
    assert (refused.value.batch, refused.value.recorded) == (6, 7)


def test_the_older_of_two_drivers_is_fenced(
    client: Client, broker: BrokerProcess, topic: str, job: Job, objects: MemoryObjects
) -> None:
    """P3: a driver in the middle of its commit is fenced by the next one, and stays so."""
    older = client.init_producer_id(name_of(job.sink))
    client.add_partitions(name_of(job.sink), older, [(topic, 0)])
    staged = stage(client, objects, job, rows(0, 5), topic=topic)
    with Client(broker.address) as other:
        sink = commit(other, objects, job.sink)
        assert sink.run(staged, batch(job, "q", "older run", 0)).is_new
        assert sink.run(staged, batch(job, "other", "newer run", 0)).is_new
    with pytest.raises(ProducerFenced):
        client.end_txn(name_of(job.sink), older, commit=True)
    with pytest.raises(SinkTakenOver):
        commit(client, objects, job.sink).run(staged, batch(job, "q", "older run", 1))
    assert sorted(values(broker, topic)) == sorted(2 * expected(0, 5))


def test_a_transaction_left_open_is_ended(
    client: Client, broker: BrokerProcess, topic: str, job: Job, objects: MemoryObjects
) -> None:
    """P3: what a killed driver has sent and not committed is never seen, and does not hold up the next one."""
    staged = stage(client, objects, job, rows(0, 50), topic=topic)
    sink = commit(client, objects, job.sink)
    producer = client.init_producer_id(name_of(job.sink))
    client.add_partitions(name_of(job.sink), producer, [(topic, number) for number in range(3)])
    sink._send(staged, producer, SystemClock().monotonic(), 1)
    ends = client.list_offsets({(topic, number): LATEST for number in range(3)})
    assert sum(each.offset for each in ends.values()) == 50
    assert sink.run(staged, batch(job, "q", "r", 0)).is_new
    assert sorted(values(broker, topic)) == sorted(expected(0, 50))


def test_records_of_several_topics(
    client: Client, broker: BrokerProcess, topic: str, job: Job, objects: MemoryObjects
) -> None:
    """P3: one transaction over topics; the record is found whichever topic the last batch went to."""
    other = f"{topic}-other"
    client.create_topics({other: 1})
    sink = commit(client, objects, job.sink)
    both = rows(0, 10, topic=[topic, other] * 5)
    sink.run(stage(client, objects, job, both), batch(job, "q", "r", 0))
    sink.run(stage(client, objects, job, rows(10, 12, topic=[other] * 2), task=1), batch(job, "q", "r", 1))
    recorded = read_record(client, job.sink)
    assert recorded is not None
    assert (recorded.serial, recorded.batch) == (2, 1)
    found = read_committed(broker.address, other, 1)
    assert [each.value() for each in found] == [b"v1", b"v3", b"v5", b"v7", b"v9", b"v10", b"v11"]


def test_partitions_that_rows_name(
    client: Client, broker: BrokerProcess, topic: str, job: Job, objects: MemoryObjects
) -> None:
    """P3: a named partition goes before the key; rows with neither take turns, in runs of a batch's size."""
    named = rows(0, 9, partition=np.array([2, 0, 1] * 3, np.int32))
    large = [b"v%d" % number + bytes(400_000) for number in range(9, 20)]
    without = pa.RecordBatch.from_pydict({"value": large})
    staged = stage(client, objects, job, named, topic=topic)
    staged += stage(client, objects, job, without, task=1, topic=topic)
    commit(client, objects, job.sink).run(staged, None)
    found = {each.value(): each.partition() for each in read_committed(broker.address, topic, 3)}
    assert [found[b"v%d" % number] for number in range(9)] == [2, 0, 1] * 3
    assert len(found) == 20
    turns = Counter(found[value] for value in large)
    assert len(turns) == 3
    assert max(turns.values()) <= 5


@pytest.mark.parametrize(
    ("bad", "failure"),
    [
        ({"partition": np.array([0, 3], np.int32)}, NoSuchPartition),
        ({"partition": np.array([0, -1], np.int32)}, NoSuchPartition),
        ({"value": [b"ok", b"x" * 1_100_000]}, RowTooLarge),
        ({"topic": ["sink-0", None]}, NoTopic),
        ({"topic": ["sink-0", "absent"]}, TopicNotFound),
        ({"headers": pa.array([[], [{"key": None, "value": b"x"}]], HEADERS)}, HeaderWithoutKey),
    ],
)
def test_a_bad_row_is_told_and_nothing_is_staged(
    client: Client, topic: str, job: Job, objects: MemoryObjects, bad: dict[str, Any], failure: type[Rejected]
) -> None:
    """P3: rows that cannot be written fail their task with a clear error."""
    rows = pa.RecordBatch.from_pydict({"value": [b"a", b"b"], **bad})
    options = {} if "topic" in bad else {"topic": topic}
    with pytest.raises(failure) as told:
        stage(client, objects, job, rows, codec=0, **options)
    assert not isinstance(told.value, NoSuchPartition) or f"of topic {topic}, which has 3" in str(told.value)
    assert list(objects.list("staging/")) == []


def test_limits_of_a_commit(
    client: Client, broker: BrokerProcess, topic: str, job: Job, objects: MemoryObjects
) -> None:
    """P3: too many bytes and too much time are clear errors, and nothing is visible."""
    staged = stage(client, objects, job, rows(0, 50), topic=topic)
    with pytest.raises(CommitTooLarge):
        commit(client, objects, job.sink, size_max=10).run(staged, None)

    class Slow(ManualClock):
        def monotonic(self) -> float:
            self.advance(30)
            return super().monotonic()

    with pytest.raises(CommitTooSlow):
        commit(client, objects, job.sink, Slow(), timeout_ms=30_000).run(staged, batch(job, "q", "r", 0))
    assert values(broker, topic) == []
    assert read_record(client, job.sink) is None


def test_staged_bytes_that_are_gone_or_wrong(
    client: Client, broker: BrokerProcess, topic: str, job: Job, objects: MemoryObjects
) -> None:
    """P3: what was staged is checked before it is sent, and a commit that fails shows nothing."""
    staged = stage(client, objects, job, rows(0, 50), topic=topic)
    sink = commit(client, objects, job.sink)
    data = bytearray(objects.get(staged[0].name))
    data[-3] ^= 1
    objects.put(staged[0].name, [data])
    with pytest.raises(CorruptBatch):
        sink.run(staged, None)
    assert sweep_job(objects, job) == 1
    with pytest.raises(StagedGone, match="must share"):
        sink.run(staged, None)
    assert values(broker, topic) == []


def test_what_killed_jobs_have_left_is_swept_after_the_grace(
    client: Client, topic: str, job: Job, objects: MemoryObjects
) -> None:
    """P3: old staged objects go, young ones stay."""
    stage(client, objects, job, rows(0, 5), topic=topic)
    assert sweep_old(objects, SystemClock(), 1) == 0
    later = ManualClock(SystemClock().now_ms())
    assert sweep_old(objects, later, 0) + sweep_old(objects, later, -1) >= 1


def test_marks_after_a_commit(client: Client, topic: str, job: Job, objects: MemoryObjects) -> None:
    """P3: a commit leaves nothing open: the last stable offset is the end."""
    staged = stage(client, objects, job, rows(0, 50), topic=topic)
    commit(client, objects, job.sink).run(staged, batch(job, "q", "r", 0))
    pairs = {(topic, number): LATEST for number in range(3)}
    assert client.list_offsets(pairs, committed=True) == client.list_offsets(pairs)
    assert set(client.fetch_offsets(name_of(job.sink))) == {TopicPartition(topic, 0)}
