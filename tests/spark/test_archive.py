"""Archive: what is in the log is in the table once, whatever the table's format, however often it runs."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.spark.archived import (
    EXPECTED,
    MORE,
    Delta,
    Iceberg,
    Kind,
    Parquet,
    Stop,
    catalog_of,
    check,
    foreign_commit,
    make_orders,
    more,
    run,
    stop_here,
)
from tests.spark.disturbed import DisturbedSession, DisturbedTarget
from tests.spark.stored import T0, Stored, fill

from holdfast.broker.topics import Topics
from holdfast.catalog.plan import plan
from holdfast.record.records import Record
from holdfast.spark.jobs.archive.archive import archive
from holdfast.spark.jobs.archive.errors import ArchiveAhead, ExpiredFirst, OtherLayout
from holdfast.spark.jobs.archive.parquet import ParquetTarget, parquet_store
from holdfast.spark.jobs.archive.state import Placement
from holdfast.spark.jobs.archive.values import ValueDecoding
from holdfast.spark.jobs.archive.write import ArchiveTask, archive_task
from holdfast.spark.jobs.commit_log import CommitLog, publish
from holdfast.spark.jobs.run import Done
from holdfast.spark.sink.errors import StagedGone


@pytest.fixture
def stored(tmp_path: Path) -> Stored:
    return make_orders(tmp_path / "data")


@pytest.fixture(params=[Parquet, Delta, Iceberg])
def kind(request: pytest.FixtureRequest, spark: Any, tmp_path: Path) -> Kind:
    made: Kind = request.param(spark, tmp_path)
    return made


def test_incremental(spark: Any, stored: Stored, kind: Any) -> None:
    """P4: each run adds what is new, and nothing twice; one without news adds nothing."""
    assert run(spark, stored, kind).rows() == 120
    check(kind.read(), EXPECTED)
    assert run(spark, stored, kind).files == []
    more(stored)
    assert run(spark, stored, kind).rows() == 15
    check(kind.read(), MORE)


def test_killed_before_the_commit(spark: Any, stored: Stored, kind: Any) -> None:
    """P4: files without a commit are seen by nobody, and do not disturb the next run."""
    catalog = catalog_of(stored)
    target = kind.target(catalog)
    with pytest.raises(Stop):
        archive(spark, catalog, DisturbedTarget(target, commit=stop_here))
    if isinstance(kind, Parquet):
        assert kind.read().num_rows == 0
    run(spark, stored, kind)
    check(kind.read(), EXPECTED)


@pytest.mark.parametrize("published", [0, 2])
def test_killed_while_publishing(spark: Any, stored: Stored, tmp_path: Path, published: int) -> None:
    """P4: what was committed and not published is published by the next run, once."""
    kind = Parquet(spark, tmp_path)
    catalog = catalog_of(stored)
    store = kind.target(catalog).store

    def publish_some() -> None:
        commit = CommitLog(store).newest()
        assert commit is not None
        for move in commit.moves[:published]:
            publish(store, move)
        raise Stop

    with pytest.raises(Stop):
        archive(spark, catalog, ParquetTarget(DisturbedSession(spark, publish_some), store))
    assert run(spark, stored, kind).files == []
    check(kind.read(), EXPECTED)
    assert not list((kind.folder / "_holdfast" / "staging").rglob("*.parquet"))


def test_files_that_are_gone_are_not_committed(spark: Any, stored: Stored, kind: Any) -> None:
    """P4: what executors wrote where the driver does not see it is an error before the commit, not after it."""
    catalog = catalog_of(stored)
    target = kind.target(catalog)

    def lose(done: Done, total: Done) -> None:
        if done == total:
            written = [each.name for each in target.store.open().list("") if each.name.endswith(".parquet")]
            target.store.open().delete(written[0])

    with pytest.raises(StagedGone, match="driver and executors must share"):
        archive(spark, catalog, target, on_done=lose)
    assert run(spark, stored, kind).rows() == 120
    check(kind.read(), EXPECTED)


def test_two_attempts_of_a_task(stored: Stored, tmp_path: Path) -> None:
    """P4: a task that Spark runs twice at once writes files of its own each time: none changes under its commit."""
    catalog = catalog_of(stored)
    [task] = plan(catalog, {where: catalog.readable(where) for where in catalog.manifests})
    placement = Placement(parquet_store(str(tmp_path / "out")), "files/run/")
    todo = ArchiveTask(0, catalog.store, task, placement)
    once, again = ({each.name for each in archive_task(todo).files} for _ in range(2))
    assert len(once) == len(again) > 1
    assert not once & again


def test_spark_reads_it(spark: Any, stored: Stored, tmp_path: Path) -> None:
    """P4: Spark's own reader finds topic and date as columns, and no file that is not committed."""
    kind = Parquet(spark, tmp_path)
    run(spark, stored, kind)
    (kind.folder / "_holdfast" / "staging" / "x").mkdir(parents=True)
    (kind.folder / "_holdfast" / "staging" / "x" / "half.parquet").write_bytes(b"half a file")
    frame = spark.read.parquet(str(kind.folder))
    found = frame.selectExpr("topic", "cast(date as string) date", "partition", "offset").collect()
    assert {(row.topic, row.partition, row.offset) for row in found} == {("orders", *each) for each in EXPECTED}
    assert {row.date for row in found} == {"2023-11-14", "2023-11-15", "2023-11-16", "2023-11-17"}


SCHEMA = {"type": "record", "name": "v", "fields": [{"name": "n", "type": "long"}]}


def test_dead_letters(spark: Any, tmp_path: Path, kind: Any) -> None:
    """P4: a run that is killed between dead letters and records repeats neither; both are complete after the next."""
    cluster = Stored(tmp_path / "letters")
    decoding = ValueDecoding("json", json.dumps(SCHEMA))

    def add(start: int) -> None:
        async def work(topics: Topics) -> None:
            topic = topics.find("orders") or await topics.create("orders", 1, {})
            values = [b"bad" if n % 5 == 4 else b'{"n": %d}' % n for n in range(start, start + 10)]
            await fill(topic.partition(0), [[Record(None, value, T0) for value in values]])

        cluster.run(work)

    add(0)
    run(spark, cluster, kind, decoding=decoding)
    add(10)
    catalog = catalog_of(cluster)
    target = kind.target(catalog)
    if not isinstance(kind, Parquet):  # One commit holds both.
        where, name = foreign_commit(kind)
        letters_only = iter([getattr(where, name)])
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(where, name, lambda *given, **named: next(letters_only, stop_here)(*given, **named))
            with pytest.raises(Stop):
                archive(spark, catalog, target, decoding=decoding)
    add(20)
    run(spark, cluster, kind, decoding=decoding)
    good = [n for n in range(30) if n % 5 != 4]
    assert sorted(row["n"] for row in kind.read().to_pylist()) == good
    letters = kind.read_letters().to_pylist()
    assert sorted(row["offset"] for row in letters) == [n for n in range(30) if n % 5 == 4]
    assert {(row["value"], row["reason"][:8]) for row in letters} == {(b"bad", "not JSON")}


def test_other_columns(spark: Any, stored: Stored, kind: Any) -> None:
    """P4: a run that would write other columns than the table has is refused before it does anything."""
    run(spark, stored, kind)
    more(stored)
    with pytest.raises(OtherLayout, match=r"has the column value .binary.*--value-schema"):
        run(spark, stored, kind, decoding=ValueDecoding("json", json.dumps(SCHEMA)))
    check(kind.read(), EXPECTED)


def test_expired_before_it_was_archived(spark: Any, stored: Stored, tmp_path: Path) -> None:
    """P4: offsets that are gone are an error that names them, and are left out only on demand."""
    kind = Parquet(spark, tmp_path)
    run(spark, stored, kind)
    more(stored)

    async def work(topics: Topics) -> None:
        await topics.get("orders").partition(0).delete_records(70)

    stored.run(work)
    with pytest.raises(ExpiredFirst, match=r"orders-0: offsets \[60, 70\) are gone before they were archived"):
        run(spark, stored, kind)
    assert run(spark, stored, kind, skip_expired=True).rows() == 5
    assert kind.read().num_rows == 125


def test_a_log_that_was_put_back(spark: Any, stored: Stored, tmp_path: Path) -> None:
    """P4: a log that ends before its archive does is not the one that was archived, and its records are not skipped."""
    shutil.copytree(stored.data, tmp_path / "backup")
    kind = Parquet(spark, tmp_path)
    more(stored)
    run(spark, stored, kind)
    with pytest.raises(ArchiveAhead, match="orders-0: the archive ends at offset 75, but the log at 60"):
        run(spark, Stored(tmp_path / "backup"), kind)
