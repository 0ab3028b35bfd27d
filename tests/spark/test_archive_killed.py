"""Pipelines killed in the middle of their work, and run again: the result is exact."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from tests.spark.stored import Stored, fill, records

from holdfast.broker.topics import Topics
from holdfast.catalog.catalog import open_catalog
from holdfast.catalog.store import find_store
from holdfast.record.layout import Codec
from holdfast.spark.jobs.archive.archive import archive
from holdfast.spark.jobs.archive.parquet import ParquetTarget, parquet_store
from holdfast.spark.jobs.audit.audit import audit
from holdfast.spark.jobs.compact import compact
from holdfast.spark.jobs.merge.merge import merge
from holdfast.spark.jobs.merge.source import open_sources

COMMAND = Path(sys.executable).parent / "holdfast"
COUNT = 15_000
_SECONDS_MAX = 120


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Stored:
    """Two partitions of many segments."""
    cluster = Stored(tmp_path_factory.mktemp("cluster") / "data")

    async def work(topics: Topics) -> None:
        topic = await topics.create("orders", 2, {})
        for number in range(2):
            batches = [records(500 * n, 500) for n in range(COUNT // 500)]
            await fill(topic.partition(number), batches, flush_every=3, codec=Codec.LZ4)

    cluster.run(work)
    return cluster


class Doomed:
    """A command that is killed, with all that it started, as soon as it has written something."""

    def __init__(self, has_begun: Callable[[], bool], *arguments: str) -> None:
        self._has_begun = has_begun
        self.was_killed = False
        self._process = subprocess.Popen(
            [COMMAND, *arguments, "--master", "local[2]"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        pause = threading.Event()
        for _ in range(_SECONDS_MAX * 200):
            if self._has_begun() or self._process.poll() is not None:
                break
            pause.wait(0.005)
        self.was_killed = self._process.poll() is None
        os.killpg(self._process.pid, signal.SIGKILL)

    def join(self) -> str:
        self._thread.join()
        _, said = self._process.communicate()
        return said.decode()


def names(folder: Path, pattern: str) -> list[Path]:
    return list(folder.rglob(pattern)) if folder.is_dir() else []


@pytest.mark.slow
def test_killed_and_run_again(spark: Any, stored: Stored, tmp_path: Path) -> None:
    """P4: archive, merge and compact are killed by SIGKILL after their first write; run again, all is there once."""
    path = stored.path
    archived, merged = tmp_path / "archived", tmp_path / "merged"
    segments = len(names(stored.data / "objects", "*.seg"))
    doomed = [
        Doomed(lambda: bool(names(archived, "*.parquet")), "archive", "orders", str(archived), "--path", path),
        Doomed(lambda: bool(names(merged, "*.parquet")), "merge", "orders", "--to", str(merged), "--path", path),
        Doomed(lambda: len(names(stored.data / "objects", "*.seg")) > segments, "compact", "orders", "--path", path),
    ]
    said = [each.join() for each in doomed]
    assert all(each.was_killed for each in doomed), said

    target = ParquetTarget(spark, parquet_store(str(archived)))
    archive(spark, open_catalog(path, topics=["orders"]), target)
    rows = ds.dataset(archived, partitioning="hive").to_table(["partition", "offset"])
    everything = [(partition, offset) for partition in range(2) for offset in range(COUNT)]
    assert sorted(zip(*(column.to_pylist() for column in rows.columns), strict=True)) == everything

    merge(spark, open_sources(["orders"], path), parquet_store(str(merged)))
    tables = [
        pq.read_table(file, columns=["timestamp", "partition", "offset"]) for file in sorted(merged.glob("*.parquet"))
    ]
    order = [row for table in tables for row in zip(*(column.to_pylist() for column in table.columns), strict=True)]
    assert order == sorted(order)
    assert sorted(row[1:] for row in order) == everything

    compact(spark, open_catalog(path, topics=["orders"]))
    reports = audit(spark, find_store(path))
    assert all(each.is_sound and each.counts.records == COUNT for each in reports), [each.problems for each in reports]
    assert sum(each.segments for each in reports) <= 4
