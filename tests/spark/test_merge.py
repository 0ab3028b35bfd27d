"""Merge: every record once, in strict order across files, at any spread of times, from any number of clusters."""

from __future__ import annotations

import os
import random
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.spark.disturbed import DisturbedSession, disturb
from tests.spark.stored import T0, Stored, fill, transaction
from tests.support.broker_process import COMMAND

from holdfast.broker.topics import Topics
from holdfast.errors import Rejected
from holdfast.io.objects.faulty import Delay, once
from holdfast.record.marker import MarkerKind
from holdfast.record.records import Record
from holdfast.spark.jobs.archive.parquet import parquet_store
from holdfast.spark.jobs.merge.merge import AlreadyThere, Merged, merge
from holdfast.spark.jobs.merge.ranges import KEY, cut_ranges, is_inside, keys
from holdfast.spark.jobs.merge.source import open_sources

Row = tuple[int, int, int, int, bytes]


def make(folder: Path, topics: dict[str, list[list[int]]]) -> tuple[Stored, dict[str, list[Row]]]:
    """A cluster with these times in the partitions of its topics, a few records to a segment; and what it holds."""
    cluster = Stored(folder)

    async def work(found: Topics) -> None:
        for name, partitions in topics.items():
            topic = await found.create(name, len(partitions), {})
            for number, times in enumerate(partitions):
                some = [Record(b"%d" % n, f"{name} {number} {n}".encode(), time) for n, time in enumerate(times)]
                await fill(topic.partition(number), [some[n : n + 7] for n in range(0, len(some), 7)], flush_every=3)

    cluster.run(work)
    held = {
        name: [
            (time, 0, number, offset, f"{name} {number} {offset}".encode())
            for number, times in enumerate(partitions)
            for offset, time in enumerate(times)
        ]
        for name, partitions in topics.items()
    }
    return cluster, held


def times_of(kind: str, count: int, seed: int) -> list[int]:
    chance = random.Random(seed)
    if kind == "ordered":
        return [T0 + 10 * n + chance.randrange(5) for n in range(count)]
    if kind == "same":
        return [T0] * count
    return [T0 + chance.randrange(200) for _ in range(count)]


def result(folder: Path) -> list[Row]:
    """All rows in the order of file names, and of rows in them."""
    rows: list[Row] = []
    for path in sorted(folder.glob("*.parquet")):
        table = pq.read_table(path, partitioning=None)
        values = table.set_column(5, "timestamp", table.column("timestamp").cast(pa.int64())).to_pylist()
        rows += [(row["timestamp"], row["source"], row["partition"], row["offset"], row["value"]) for row in values]
    return rows


def run(spark: Any, sources: list[str], path: str | None, target: Path, **options: Any) -> Merged:
    return merge(spark, open_sources(sources, path), parquet_store(str(target)), **options)


@pytest.mark.parametrize("kind", ["ordered", "same", "random"])
def test_strict_order(spark: Any, tmp_path: Path, kind: str) -> None:
    """P4: many ranges, one order, whatever the times are like: also when all of them are the same."""
    partitions = {name: [times_of(kind, 40, seed) for seed in range(2)] for name in ("a", "b")}
    cluster, held = make(tmp_path / "data", partitions)
    done = run(spark, ["b", "a"], cluster.path, tmp_path / "out", range_size=1_000)
    expected = sorted((time, source, *rest) for source, name in enumerate("ba") for time, _, *rest in held[name])
    assert result(tmp_path / "out") == expected
    assert done.rows == 160
    assert len(done.files) > 3
    assert done.sources == {"b": 80, "a": 80}


def test_two_clusters_and_single_partitions(spark: Any, tmp_path: Path) -> None:
    """P4: partitions of several clusters; what was taken back by its producer is left out."""
    first, held = make(tmp_path / "one", {"t": [times_of("random", 20, 1), times_of("random", 20, 2)]})
    second, more = make(tmp_path / "two", {"t": [times_of("random", 20, 3)]})

    async def abort(topics: Topics) -> None:
        log = topics.get("t").partition(0)
        await transaction(log, 3, [Record(b"", b"aborted", T0)], MarkerKind.ABORT)
        await log.flush()

    second.run(abort)
    run(spark, [f"{second.path}::t", "t:1"], first.path, tmp_path / "out")
    mine = [(time, 1, *rest) for time, _, *rest in held["t"] if rest[0] == 1]
    assert result(tmp_path / "out") == sorted([*more["t"], *mine])


def test_killed_and_run_again(spark: Any, tmp_path: Path) -> None:
    """P4: before the commit nothing is visible; behind it the next run publishes what is left; none adds twice."""
    cluster, held = make(tmp_path / "data", {"t": [times_of("random", 60, 5)]})
    out = tmp_path / "out"

    class Stop(BaseException):
        pass

    def stop() -> None:
        raise Stop

    committing = disturb(parquet_store(str(out)), once("put_if_absent", "_holdfast/0", Delay(stop)))
    with pytest.raises(Stop):
        merge(spark, open_sources(["t"], cluster.path), committing, range_size=500)
    assert list((out / "_holdfast" / "staging").rglob("*.parquet"))
    assert result(out) == []
    with pytest.raises(Stop):  # Behind the survey and the files it publishes.
        run(DisturbedSession(spark, stop, at=2), ["t"], cluster.path, out, range_size=500)
    for each in (out / "_holdfast" / "staging").rglob("*.parquet"):
        os.utime(each, (0, 0))  # The next run may be days later.
    assert run(spark, ["t"], cluster.path, out).was_there
    assert result(out) == sorted(held["t"])
    with pytest.raises(AlreadyThere):
        run(spark, ["t"], cluster.path, out)


def test_an_occupied_place_is_refused_without_a_jvm(tmp_path: Path) -> None:
    """P4: whoever merges to a wrong place hears it at once, and not when Spark has started."""
    cluster, _ = make(tmp_path / "data", {"t": [[T0]]})
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "notes.txt").write_text("mine")
    without = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"}
    command = [COMMAND, "merge", "t", "--path", cluster.path, "--to", str(tmp_path / "out")]
    done = subprocess.run(command, env=without | {"PATH": ""}, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "holds something already: name an empty place" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("wrong", ["t:7", "nobody", "t::", "/nowhere::t"])
def test_sources_that_are_not_there(tmp_path: Path, wrong: str) -> None:
    """P4: a source that is not there is named before anything runs."""
    cluster, _ = make(tmp_path / "data", {"t": [[T0]]})
    with pytest.raises(Exception, match=wrong.split(":")[0]) as caught:
        open_sources([wrong], cluster.path)
    assert "Traceback" not in str(caught.value)


def test_a_source_named_twice(tmp_path: Path) -> None:
    """P4: the same partition in two sources would be in the result twice."""
    cluster, _ = make(tmp_path / "data", {"t": [[T0]]})
    with pytest.raises(Rejected, match="both hold t-0"):
        open_sources(["t", "t:0"], cluster.path)


@settings(max_examples=60, deadline=None)
@given(
    times=st.lists(st.lists(st.integers(-3, 3), min_size=0, max_size=12), min_size=1, max_size=4),
    count=st.integers(1, 8),
)
def test_every_key_is_in_one_range(times: list[list[int]], count: int) -> None:
    """P4: ranges cut from a sample hold every key once, also where many keys share a time."""
    columns = [(np.array(each, np.int64), number, np.arange(len(each))) for number, each in enumerate(times)]
    sample = np.concatenate([np.empty(0, KEY), *(keys(time, 0, number, offset) for time, number, offset in columns)])
    ranges = cut_ranges(sample, np.ones(len(sample)), count)
    for time, number, offset in columns:
        hits = sum((is_inside(time, 0, number, offset, each).astype(int) for each in ranges), np.zeros(len(time), int))
        assert (hits == 1).all()
    assert 1 <= len(ranges) <= count
