"""The options of the source, without Spark: what they mean, and what is said about wrong ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.support.spark_store import T0, StoredCluster

from holdfast.catalog.errors import DataLost, NotMadeYet, OutOfRange
from holdfast.errors import Rejected
from holdfast.io.objects.local.objects import LocalObjects
from holdfast.spark.source.bounds import Ago, BadSourceOption, Earliest, Last, Latest, Since
from holdfast.spark.source.options import parse
from holdfast.spark.source.schema import full_schema
from holdfast.spark.source.source import BatchReader
from holdfast.types import PartitionId


def read(path: Path, **options: str) -> list[int]:
    """The offsets that a batch read hands out."""
    given = {"path": str(path), **({} if "assign" in options else {"subscribe": "t"}), **options}
    reader = BatchReader(parse(given, stream=False), full_schema(include_headers=False))
    parts: list[Any] = reader.partitions()
    return [offset for part in parts for rows in reader.read(part) for offset in rows.column("offset").to_pylist()]


@pytest.fixture
def cluster(tmp_path: Path) -> StoredCluster:
    cluster = StoredCluster(LocalObjects(tmp_path))
    [partition] = cluster.topic("t")
    for _ in range(3):
        partition.count(10)
        partition.flush()
    return cluster


WRONG = {
    "there is no option startingoffset, did you mean startingOffsets": {"startingOffset": "earliest"},
    "there is no option colour": {"colour": "red"},
    "startingOffsets is 'first', but it must be earliest": {"startingOffsets": "first"},
    "startingTimestamp is 'yesterday', but it must be milliseconds": {"startingTimestamp": "yesterday"},
    "minPartitions is '0', but it must be a whole number above 0": {"minPartitions": "0"},
    "includeHeaders is 'yes', but it must be true or false": {"includeHeaders": "yes"},
    "kafka.isolation.level is 'dirty'": {"kafka.isolation.level": "dirty"},
    "give one of subscribe, subscribePattern and assign; there is subscribe and assign": {
        "assign": '{"t":[0]}',
        "subscribe": "t",
    },
    "subscribePattern is '.', but it must be a regular expression": {"subscribePattern": "("},
    "startingOffsets latest reads nothing in a batch": {"startingOffsets": "latest"},
    "a batch ends at latest, at offsets, or at a time": {"endingOffsets": "-3"},
    "t-1 not read": {"endingOffsets": '{"t":{"0":0,"1":5}}'},
    "there is no topic absent": {"subscribe": "absent"},
    "there is no partition t-3": {"assign": '{"t":[3]}'},
    "store.retries is 'many', but it must be a whole number": {"store.retries": "many"},
    "takes no options": {"store.region": "somewhere"},
}


@pytest.mark.parametrize("said", WRONG)
def test_wrong_options_are_told(cluster: StoredCluster, tmp_path: Path, said: str) -> None:
    """P1: an option that nobody knows, or a value it cannot have, is an error that says what to write."""
    options = WRONG[said]
    if "subscribePattern" in options:
        with pytest.raises(Rejected, match="a regular expression"):
            parse({"path": str(tmp_path), **options}, stream=False)
        return
    with pytest.raises(Rejected) as caught:
        read(tmp_path, **options)
    assert said in str(caught.value)


def test_options_of_sparks_own_source_are_taken_with_one_warning(
    cluster: StoredCluster, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """P1: who moves over leaves a job's options as they are: those that do nothing here are told in one line; a slip in
    what protects stays an error, with the nearest name."""
    options = {"kafkaConsumer.pollTimeoutMs": "512", "fetchOffset.numRetries": "3", "kafka.max.poll.records": "500"}
    assert read(tmp_path, **options) == list(range(30))
    [line] = [each.getMessage() for each in caplog.records if each.levelname == "WARNING"]
    assert line.endswith("fetchoffset.numretries, kafka.max.poll.records, kafkaconsumer.polltimeoutms")
    with pytest.raises(
        Rejected, match=r"there is no option kafka.security.protocl, did you mean kafka.security.protocol"
    ):
        read(tmp_path, **{"kafka.security.protocl": "SSL"})


def test_tasks_of_so_many_records(cluster: StoredCluster, tmp_path: Path) -> None:
    """P1: with maxRecordsPerPartition no task reads more offsets than that, over the borders of segments, and together
    they read each once."""
    given = {"path": str(tmp_path), "subscribe": "t", "maxRecordsPerPartition": "7"}
    reader = BatchReader(parse(given, stream=False), full_schema(include_headers=False))
    parts: list[Any] = reader.partitions()
    offsets = [[each for rows in reader.read(part) for each in rows.column("offset").to_pylist()] for part in parts]
    assert [len(each) for each in offsets] == [7, 7, 7, 7, 2]
    assert [each for some in offsets for each in some] == list(range(30))


def test_a_table_that_lost_its_options() -> None:
    """P1: Spark keeps no options for tables of Python sources: it is said what to write instead."""
    with pytest.raises(Rejected, match="CREATE TEMPORARY VIEW"):
        parse({}, stream=False)


def test_a_wrong_value_is_told_with_its_option() -> None:
    """P1: the error's fields are the option, its value, and what it must be."""
    with pytest.raises(BadSourceOption) as caught:
        parse({"path": "x", "subscribe": "t", "minPartitions": "0"}, stream=False)
    assert (caught.value.name, caught.value.value) == ("minPartitions", "0")
    assert caught.value.expected == "a whole number above 0"


def test_a_path_that_is_no_cluster(tmp_path: Path) -> None:
    """P1: a wrong path never passes for a cluster without data."""
    with pytest.raises(Rejected, match="is not a directory"):
        read(tmp_path / "absent")
    with pytest.raises(Rejected, match="holds no cluster"):
        read(tmp_path)
    with pytest.raises(Rejected, match="the option path is missing"):
        parse({"subscribe": "t"}, stream=False)


def test_bounds() -> None:
    """P1: starts and ends as people write them."""
    meant = {
        ("startingOffsets", "Earliest"): Earliest(),
        ("startingOffsets", " latest "): Latest(),
        ("startingOffsets", "-1000"): Last(1000),
        ("startingTimestamp", "1700000000000"): Since(1_700_000_000_000),
        ("startingTimestamp", "2023-11-14T22:13:20Z"): Since(T0),
        ("startingTimestamp", "2023-11-14 23:13:20.5+01:00"): Since(T0 + 500),
        ("startingTimestamp", "-10 minutes"): Ago(600_000),
        ("startingTimestamp", "-1 hour"): Ago(3_600_000),
        ("startingTimestamp", "-2d"): Ago(172_800_000),
        ("startingTimestamp", "-250 ms"): Ago(250),
    }
    for (name, text), bound in meant.items():
        assert parse({"path": "p", "subscribe": "t", name: text}, stream=False).starting == bound, text


def test_ranges_of_a_batch(cluster: StoredCluster, tmp_path: Path) -> None:
    """P1: what is asked for is read, or it is said why it cannot be."""
    assert read(tmp_path, startingOffsets="-3") == [27, 28, 29]
    assert read(tmp_path, startingOffsets='{"t":{"0":5}}', endingOffsets='{"t":{"0":8}}') == [5, 6, 7]
    assert read(tmp_path, startingTimestamp=str(T0 + 28_000), endingTimestamp="2026-01-01") == [28, 29]
    assert read(tmp_path, startingTimestamp="-1 minute") == []
    with pytest.raises(OutOfRange, match=r"offsets \[0, 31\) were asked for, but \[0, 30\) can be read"):
        read(tmp_path, endingOffsets='{"t":{"0":31}}')
    with pytest.raises(OutOfRange):
        read(tmp_path, startingOffsets='{"t":{"0":9}}', endingOffsets='{"t":{"0":8}}')


def test_a_start_that_expired(tmp_path: Path) -> None:
    """P1: offsets that were asked for and are gone are data loss: told, or left out by choice."""
    [partition] = StoredCluster(LocalObjects(tmp_path)).topic("t")
    for _ in range(2):
        partition.count(10)
        partition.flush()
    partition.expire(10)
    assert read(tmp_path) == list(range(10, 20))
    with pytest.raises(DataLost, match=r"t-0: offsets \[5, 10\) are gone: the log starts at 10"):
        read(tmp_path, startingOffsets='{"t":{"0":5}}')
    assert read(tmp_path, startingOffsets='{"t":{"0":5}}', failOnDataLoss="false") == list(range(10, 20))


def test_a_partition_without_a_manifest(cluster: StoredCluster, tmp_path: Path) -> None:
    """P1: a partition whose manifest is gone is never read as an empty one."""
    home = PartitionId(cluster.metadata.metadata.topic("t").topic_id, 0)
    for each in list(cluster.objects.list(home.manifests)):
        cluster.objects.delete(each.name)
    with pytest.raises(NotMadeYet, match="t-0 has no manifest in the store"):
        read(tmp_path)
