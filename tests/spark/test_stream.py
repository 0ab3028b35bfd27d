"""The stream source in a real Spark: restarts, limits, new partitions, offsets in the checkpoint."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.spark_store import StoredCluster

from holdfast.io.objects.local.objects import LocalObjects


@pytest.fixture
def cluster(tmp_path: Path) -> StoredCluster:
    return StoredCluster(LocalObjects(tmp_path / "store"))


class Streamed:
    """A stream into memory, run as often as a test likes: each run reads what is there and ends."""

    def __init__(self, spark: Any, path: Path, **options: str) -> None:
        self._spark = spark
        self._path = path
        self._options = {"startingOffsets": "earliest", **options}
        self.batches: list[list[tuple[str, int, int]]] = []  # One list for each micro-batch.

    def run(self, **options: str) -> list[tuple[str, int, int]]:
        """What a run reads: topic, partition and offset, in order."""
        before = len(self.batches)
        source = self._spark.readStream.format("holdfast").options(**{**self._options, **options})
        frame = source.schema("topic string, partition int, offset long").load(str(self._path / "store"))
        writer = frame.writeStream.option("checkpointLocation", str(self._path / "checkpoint"))
        query = writer.foreachBatch(self._take).trigger(availableNow=True).start()
        try:
            query.awaitTermination()
        finally:
            query.stop()
        return [row for rows in self.batches[before:] for row in rows]

    def _take(self, frame: Any, number: int) -> None:
        self.batches.append(sorted(map(tuple, frame.collect())))

    def offsets(self) -> dict[str, Any]:
        """The newest offsets in Spark's checkpoint."""
        logs = [each for each in (self._path / "checkpoint" / "offsets").iterdir() if each.name.isdecimal()]
        return json.loads(max(logs, key=lambda each: int(each.name)).read_text().splitlines()[-1])


def rows(topic: str, partition: int, start: int, end: int) -> list[tuple[str, int, int]]:
    return [(topic, partition, offset) for offset in range(start, end)]


def test_goes_on_where_it_stopped_with_new_partitions_and_topics(
    spark: Any, cluster: StoredCluster, tmp_path: Path
) -> None:
    """P2: every record once over restarts; new partitions and topics from their start; offsets with epochs are kept."""
    [first] = cluster.topic("t1")
    first.count(10)
    first.flush()
    stream = Streamed(spark, tmp_path, subscribePattern="t.*")
    assert stream.run() == rows("t1", 0, 0, 10)
    first.raise_epoch()
    first.count(5)
    first.flush()
    [second] = cluster.grow("t1", 2)
    second.count(3)
    second.flush()
    [other] = cluster.topic("t2")
    other.count(4)
    other.flush()
    assert stream.run() == rows("t1", 0, 10, 15) + rows("t1", 1, 0, 3) + rows("t2", 0, 0, 4)
    assert stream.run() == []
    found = stream.offsets()
    assert found["t1"]["id"] == first.home.topic_id.hex
    assert found["t1"]["partitions"] == {"0": {"offset": 15, "epoch": 2}, "1": {"offset": 3, "epoch": 1}}


def test_limits(spark: Any, cluster: StoredCluster, tmp_path: Path) -> None:
    """P2: a micro-batch takes at most so many offsets, shared by what waits, and available-now ends where it began."""
    big, small = cluster.topic("t", 2)
    big.count(90)
    big.flush()
    small.count(10)
    small.flush()
    stream = Streamed(spark, tmp_path, subscribe="t", maxOffsetsPerTrigger="40")
    assert sorted(stream.run()) == rows("t", 0, 0, 90) + rows("t", 1, 0, 10)
    assert [len(each) for each in stream.batches] == [40, 40, 20]
    assert sum(partition for _, partition, _ in stream.batches[0]) == 4
