"""The rules of the stream source, without Spark: what it reads, what it refuses, what it says."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest
from tests.support.spark_driven import Driven, Row
from tests.support.spark_store import T0, StoredCluster, StoredPartition

from holdfast.catalog.errors import DataLost
from holdfast.cluster.errors import TopicUnknown
from holdfast.cluster.metadata import delete_topic
from holdfast.errors import Rejected
from holdfast.io.objects.local.objects import LocalObjects
from holdfast.record.marker import MarkerKind
from holdfast.record.records import Record
from holdfast.spark.source.limits import limited, limited_by_size
from holdfast.spark.source.ranges import NoRecordSoLate
from holdfast.types import OffsetRange, TopicPartition


@pytest.fixture
def cluster(tmp_path: Path) -> StoredCluster:
    return StoredCluster(LocalObjects(tmp_path))


@pytest.fixture
def partition(cluster: StoredCluster) -> StoredPartition:
    return cluster.topic("t")[0]


def fill(partition: StoredPartition, count: int) -> None:
    partition.count(count)
    partition.flush()


def rows(start: int, end: int, topic: str = "t") -> list[Row]:
    return [(topic, offset) for offset in range(start, end)]


def test_a_batch_that_was_begun_is_read_again_as_it_was(
    cluster: StoredCluster, partition: StoredPartition, tmp_path: Path
) -> None:
    """P2: a micro-batch is decided by its offsets: after a crash it is the same, though more was written meanwhile."""
    fill(partition, 10)
    stream = Driven(tmp_path, subscribe="t", maxOffsetsPerTrigger="6")
    assert stream.run() == rows(0, 10)
    stream.done = 1  # The second batch was begun, but not committed.
    fill(partition, 10)
    assert stream.run() == rows(6, 20)


def test_open_and_aborted_transactions(partition: StoredPartition, tmp_path: Path) -> None:
    """P2: a stream ends at the last stable offset, and goes on when the transaction has ended."""
    partition.count(2)
    partition.add([Record(b"open")] * 3, producer=5)
    fill(partition, 2)
    stream = Driven(tmp_path, subscribe="t")
    assert stream.run() == rows(0, 2)
    partition.end(5, MarkerKind.ABORT)
    fill(partition, 1)
    assert stream.run() == rows(5, 7) + rows(8, 9)
    uncommitted = Driven(tmp_path, subscribe="t", **{"kafka.isolation.level": "read_uncommitted"})
    assert uncommitted.run() == rows(0, 7) + rows(8, 9)


def test_retention_overtakes_a_slow_reader(partition: StoredPartition, tmp_path: Path) -> None:
    """P2: offsets that expired before they were read are told, or left out by choice; never passed over in silence."""
    fill(partition, 10)
    stream = Driven(tmp_path, subscribe="t")
    assert stream.run() == rows(0, 10)
    fill(partition, 10)
    fill(partition, 10)
    partition.expire(20)
    with pytest.raises(DataLost, match=r"t-0: offsets \[10, 20\) are gone: the log starts at 20 now"):
        stream.run()
    assert stream.run(failOnDataLoss="false") == rows(20, 30)
    assert stream.run() == []


def test_a_topic_that_goes_and_one_that_was_made_again(
    cluster: StoredCluster, partition: StoredPartition, tmp_path: Path
) -> None:
    """P2: a deleted topic is told; another topic of the same name is not taken for the old one."""
    fill(partition, 10)
    named, matching = Driven(tmp_path, subscribe="t"), Driven(tmp_path, subscribePattern="t+")
    assert named.run() == matching.run() == rows(0, 10)
    cluster.metadata.commit(delete_topic(partition.home.topic_id))
    with pytest.raises(TopicUnknown):
        named.run()
    with pytest.raises(DataLost, match="the topic is not there"):
        matching.run()
    fill(cluster.topic("t")[0], 20)
    for stream in (named, matching):
        with pytest.raises(DataLost, match="the topic was deleted, and another one of that name was made"):
            stream.run()
        assert stream.run(failOnDataLoss="false") == rows(0, 20)


def test_a_log_that_was_cut_below_the_reader(partition: StoredPartition, tmp_path: Path) -> None:
    """P2: what was read from a tail that is lost since is told by its leader epoch, though the offsets are taken."""
    fill(partition, 10)
    stream = Driven(tmp_path, subscribe="t")
    assert stream.run() == rows(0, 10)
    read_the_tail = json.loads(stream.offsets[-1])
    read_the_tail["t"]["partitions"]["0"]["offset"] = 14  # In epoch 1, as far as the reader knows.
    stream.offsets[-1] = json.dumps(read_the_tail)
    partition.raise_epoch()  # From offset 10 on.
    fill(partition, 10)
    with pytest.raises(
        DataLost, match=r"offsets \[10, 14\) are gone: they were read in leader epoch 1, which ended at"
    ):
        stream.run()
    assert stream.run(failOnDataLoss="false") == rows(10, 20)
    assert json.loads(stream.offsets[-1])["t"]["partitions"]["0"] == {"offset": 20, "epoch": 2}


def test_available_now_ends_where_it_began(cluster: StoredCluster, partition: StoredPartition, tmp_path: Path) -> None:
    """P2: what comes after the start of such a run waits for the next one, also new partitions."""
    fill(partition, 10)
    stream = Driven(tmp_path, subscribe="t")
    reader = stream.reader()
    reader.prepareForTriggerAvailableNow()
    fill(partition, 10)
    fill(cluster.grow("t", 2)[0], 5)
    begun = reader.initialOffset()
    latest = reader.latestOffset(begun, reader.getDefaultReadLimit())
    assert latest["t"]["partitions"] == {"0": {"offset": 10, "epoch": 1}, "1": {"offset": 0, "epoch": 1}}
    assert reader.latestOffset(latest, reader.getDefaultReadLimit()) == latest
    assert stream.run() == rows(0, 20) + rows(0, 5)


def test_starts(partition: StoredPartition, tmp_path: Path) -> None:
    """P2: a stream starts at the end, unless it is told an offset, a time, or so many back; it has no end."""
    fill(partition, 10)
    fill(partition, 10)
    starts = {
        "startingOffsets": {"latest": 20, "-3": 17, "earliest": 0, '{"t":{"0":12}}': 12, '{"t":{"0":-1}}': 20},
        "startingTimestamp": {str(T0 + 14_001): 15, "-1 day": 20, "2023-11-14T22:13:25Z": 5, "-9000 weeks": 0},
        "startingOffsetsByTimestamp": {json.dumps({"t": {"0": T0 + 9000}}): 9},
    }
    for name, expected in starts.items():
        for text, offset in expected.items():
            found = Driven(tmp_path, subscribe="t", **{name: text}).reader().initialOffset()
            assert found["t"]["partitions"]["0"]["offset"] == offset, text
    with pytest.raises(NoRecordSoLate):
        Driven(tmp_path, subscribe="t", startingTimestamp=str(T0 + 10**9)).reader().initialOffset()
    late = {"startingTimestamp": str(T0 + 10**9), "startingOffsetsByTimestampStrategy": "latest"}
    assert Driven(tmp_path, subscribe="t", **late).run() == []
    with pytest.raises(Rejected, match="a stream has no end: leave out endingOffsets"):
        Driven(tmp_path, subscribe="t", endingOffsets="latest").reader()


def test_partitions_one_by_one(cluster: StoredCluster, tmp_path: Path) -> None:
    """P2: only the partitions that were assigned are read; one that is not there is an error."""
    for number, each in enumerate(cluster.topic("t", 3)):
        fill(each, number + 1)
    assert Driven(tmp_path, assign='{"t":[0,2]}').run() == rows(0, 1) + rows(0, 3)
    with pytest.raises(Rejected, match="there is no partition t-7"):
        Driven(tmp_path, assign='{"t":[7]}').run()


def test_a_limit_of_bytes(cluster: StoredCluster, tmp_path: Path) -> None:
    """P2: micro-batches of about so many stored bytes, shared by what waits; together every record, once. With both
    limits given, both are kept."""
    one, other = cluster.topic("t", 2)
    for _ in range(4):
        one.count(100, size=1000)
        one.flush()
    other.count(100, size=10_000)
    other.flush()
    stream = Driven(tmp_path, subscribe="t", maxBytesPerTrigger="200000")
    assert sorted(stream.run()) == sorted(rows(0, 400) + rows(0, 100))
    steps = [json.loads(each)["t"]["partitions"] for each in stream.offsets]
    sizes = [
        1000 * (end["0"]["offset"] - start["0"]["offset"]) + 10_000 * (end["1"]["offset"] - start["1"]["offset"])
        for start, end in itertools.pairwise(steps)
    ]
    assert len(sizes) in (7, 8)
    assert max(sizes) < 230_000
    both = Driven(tmp_path, subscribe="t", maxBytesPerTrigger="200000", maxOffsetsPerTrigger="10")
    both.run()
    ends = [sum(each["offset"] for each in json.loads(text)["t"]["partitions"].values()) for text in both.offsets]
    assert max(after - before for before, after in itertools.pairwise(ends)) == 10
    smallest = Driven(tmp_path, subscribe="t", maxBytesPerTrigger="1")
    reader = smallest.reader()
    start = reader.initialOffset()
    assert reader.latestOffset(start, reader.getDefaultReadLimit())["t"]["partitions"]["1"]["offset"] == 1


def test_bytes_that_only_the_broker_has(cluster: StoredCluster) -> None:
    """P2: a tail is taken to be as large as what was stored last, and one of a partition without segments as 1 KiB."""
    one, other = cluster.topic("t", 2)
    one.count(100, size=1000)
    one.flush()
    where = TopicPartition("t", 0), TopicPartition("t", 1)
    manifests = {where[0]: one.log.manifest, where[1]: other.log.manifest}
    new = {each: OffsetRange(50, 250) if number == 0 else OffsetRange(0, 100) for number, each in enumerate(where)}
    ends = limited_by_size(new, manifests, 160_000)
    assert 140 < ends[where[0]] < 160
    assert 45 < ends[where[1]] < 60
    assert limited_by_size(new, manifests, 10**9) == {each: new[each].end for each in where}


def test_shares_of_a_limit() -> None:
    """P2: a limit is kept exactly, and every partition moves in the end."""
    new = {TopicPartition("t", n): OffsetRange(100, 100 + size) for n, size in enumerate([1000, 10, 1, 0])}
    for count_max in (1, 2, 7, 100, 1010, 1011, 5000):
        ends = limited(new, count_max)
        assert sum(end - 100 for end in ends.values()) == min(count_max, 1011)
        assert all(new[where].start <= end <= new[where].end for where, end in ends.items())
    left, steps = dict(new), 0
    while any(each.start < each.end for each in left.values()):
        ends = limited(left, 3)
        left = {where: OffsetRange(ends[where], each.end) for where, each in left.items()}
        steps += 1
    assert steps == 337
