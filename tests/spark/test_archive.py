"""Archive: what is in the log is in the table once, whatever the table's format, however often it runs."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet
import pytest
from tests.spark.stored import T0, Stored, fill, records, transaction

from holdfast.broker.topics import Topics
from holdfast.record.layout import Codec
from holdfast.record.marker import MarkerKind
from holdfast.record.records import Record
from holdfast.spark.catalog import Catalog, open_catalog
from holdfast.spark.jobs import archive_delta
from holdfast.spark.jobs.archive import ArchiveAhead, Archived, ExpiredFirst, archive
from holdfast.spark.jobs.archive_delta import DeltaTarget
from holdfast.spark.jobs.archive_iceberg import IcebergTarget
from holdfast.spark.jobs.archive_parquet import ParquetTarget, parquet_store
from holdfast.spark.jobs.archive_state import RECORDS, Placement
from holdfast.spark.jobs.archive_values import ValueDecoding
from holdfast.spark.jobs.archive_write import ArchiveTask, archive_task
from holdfast.spark.jobs.commit_log import Overtaken, publish
from holdfast.spark.jobs.run import run_units
from holdfast.spark.plan import plan
from holdfast.spark.sink_errors import StagedGone

DAY = 24 * 60 * 60 * 1000


@pytest.fixture
def stored(tmp_path: Path) -> Stored:
    """Two partitions over three days, with an aborted transaction in one."""
    cluster = Stored(tmp_path / "data")

    async def work(topics: Topics) -> None:
        topic = await topics.create("orders", 2, {})
        days = [records(20 * n, 20, time=lambda n: T0 + n * DAY // 25) for n in range(3)]
        await fill(topic.partition(0), days, flush_every=1, codec=Codec.LZ4)
        await transaction(topic.partition(1), 7, records(500, 5), MarkerKind.ABORT)
        await fill(topic.partition(1), days)

    cluster.run(work)
    return cluster


def more(cluster: Stored) -> None:
    async def work(topics: Topics) -> None:
        await fill(topics.get("orders").partition(0), [records(60, 15)])

    cluster.run(work)


EXPECTED = {(0, n): n for n in range(60)} | {(1, n + 6): n for n in range(60)}
MORE = EXPECTED | {(0, n): n for n in range(60, 75)}


def catalog_of(cluster: Stored) -> Catalog:
    return open_catalog(cluster.path, cluster.options, topics=["orders"])


def check(table: pa.Table, expected: dict[tuple[int, int], int]) -> None:
    """Every record once, with all that belongs to it."""
    rows = table.to_pylist()
    assert len(rows) == len(expected)
    assert {(row["partition"], row["offset"]) for row in rows} == set(expected)
    for row in rows:
        n = expected[row["partition"], row["offset"]]
        assert row["topic"] == "orders"
        assert row["key"] == b"k%d" % n
        assert row["value"] == (None if n % 11 == 10 else b"value %d" % n)
        assert [dict(each) for each in row["headers"]] == [{"key": "n", "value": b"%d" % n}]
        assert row["timestamp_type"] == 0
        time = T0 + (n * DAY // 25 if n < 60 else n)
        assert int(row["timestamp"].timestamp() * 1000) == time


class Kind:
    """One format: its target, and a reader that is not ours."""

    def __init__(self, spark: Any, folder: Path) -> None:
        self.spark = spark
        self.folder = folder / "archive"


class Parquet(Kind):
    def target(self, catalog: Catalog) -> Any:
        return ParquetTarget(self.spark, parquet_store(str(self.folder)))

    def read(self) -> pa.Table:
        return ds.dataset(self.folder, partitioning="hive").to_table()

    def read_letters(self) -> pa.Table:
        return ds.dataset(self.folder / "_dead_letters", partitioning="hive").to_table()


class Delta(Kind):
    def target(self, catalog: Catalog) -> Any:
        homes = tuple(each.home for each in catalog.manifests.values())
        return DeltaTarget(parquet_store(str(self.folder)), homes)

    def read(self) -> pa.Table:
        from deltalake import DeltaTable

        return DeltaTable(str(self.folder)).to_pyarrow_table()

    def read_letters(self) -> pa.Table:
        from deltalake import DeltaTable

        return DeltaTable(str(self.folder / "_dead_letters")).to_pyarrow_table()


class Iceberg(Kind):
    def target(self, catalog: Catalog) -> Any:
        store = parquet_store(str(self.folder))
        return IcebergTarget(store, {"type": "sql", "uri": f"sqlite:///{self.folder}/c.db", "warehouse": store.url})

    def read(self, table: str = "records") -> pa.Table:
        from pyiceberg.catalog import load_catalog

        properties = {"type": "sql", "uri": f"sqlite:///{self.folder}/c.db", "warehouse": f"file://{self.folder}"}
        return load_catalog("holdfast", **properties).load_table(f"holdfast.{table}").scan().to_arrow()

    def read_letters(self) -> pa.Table:
        return self.read("dead_letters")


@pytest.fixture(params=[Parquet, Delta, Iceberg])
def kind(request: pytest.FixtureRequest, spark: Any, tmp_path: Path) -> Kind:
    made: Kind = request.param(spark, tmp_path)
    return made


def run(spark: Any, cluster: Stored, kind: Any, **options: Any) -> Archived:
    catalog = catalog_of(cluster)
    return archive(spark, catalog, kind.target(catalog), **options)


def test_incremental(spark: Any, stored: Stored, kind: Any) -> None:
    """P4: each run adds what is new, and nothing twice; one without news adds nothing."""
    assert run(spark, stored, kind).rows() == 120
    check(kind.read(), EXPECTED)
    assert run(spark, stored, kind).files == []
    more(stored)
    assert run(spark, stored, kind).rows() == 15
    check(kind.read(), MORE)


def test_killed_before_the_commit(spark: Any, stored: Stored, kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """P4: files without a commit are seen by nobody, and do not disturb the next run."""
    catalog = catalog_of(stored)
    target = kind.target(catalog)
    monkeypatch.setattr(type(target), "commit", stop_here)
    with pytest.raises(Stop):
        archive(spark, catalog, target)
    monkeypatch.undo()
    if isinstance(kind, Parquet):
        assert kind.read().num_rows == 0
    run(spark, stored, kind)
    check(kind.read(), EXPECTED)


class Stop(BaseException):
    """The driver is gone at this moment."""


def stop_here(*_: object, **__: object) -> None:
    raise Stop


def test_two_runs_at_once(spark: Any, stored: Stored, kind: Any) -> None:
    """P4: of two runs that began with the same archive one wins; the other says so and has added nothing."""
    run(spark, stored, kind)
    more(stored)
    catalog = catalog_of(stored)
    slow = kind.target(catalog)
    before, commit = slow.progress(), type(slow).commit

    def late(self: Any, *given: Any) -> None:
        assert run(spark, stored, kind).rows() == 15  # The other one was quicker.
        commit(self, *given)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(slow), "commit", once(late, commit))
        with pytest.raises(Overtaken):
            archive(spark, catalog, slow)
    assert before != slow.progress()
    check(kind.read(), MORE)


def test_two_first_runs_of_delta(spark: Any, stored: Stored, tmp_path: Path) -> None:
    """P4: also of two runs that both make the table one wins, and Delta itself refuses the other."""
    kind = Delta(spark, tmp_path)
    catalog = catalog_of(stored)
    slow = kind.target(catalog)
    with pytest.MonkeyPatch.context() as patch:
        quick: list[Any] = [lambda: run(spark, stored, kind)]
        patch.setattr("holdfast.spark.jobs.archive_delta._delta_schema", after(quick, archive_delta._delta_schema))
        with pytest.raises(Overtaken):
            archive(spark, catalog, slow)
    check(kind.read(), EXPECTED)


def after(first: list[Any], then: Any) -> Any:
    """A function that lets something else happen before its first call."""

    def call(*given: Any) -> Any:
        while first:
            first.pop()()
        return then(*given)

    return call


def once(first: Any, then: Any) -> Any:
    """A method that is another one from the second call on."""
    calls = iter([first])
    return lambda self, *given: next(calls, then)(self, *given)


@pytest.mark.parametrize("published", [0, 2])
def test_killed_while_publishing(spark: Any, stored: Stored, tmp_path: Path, published: int) -> None:
    """P4: what was committed and not published is published by the next run, once."""
    kind = Parquet(spark, tmp_path)
    catalog = catalog_of(stored)
    left = iter(range(published))

    def publish_some(self: Any, log: Any, commit: Any) -> None:
        for _, move in zip(left, commit.moves, strict=False):
            publish(self.store, move)
        raise Stop

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ParquetTarget, "_publish", publish_some)
        with pytest.raises(Stop):
            archive(spark, catalog, kind.target(catalog))
    assert run(spark, stored, kind).files == []
    check(kind.read(), EXPECTED)
    assert not list((kind.folder / "_holdfast" / "staging").rglob("*.parquet"))


def test_killed_behind_the_back_of_another_run(spark: Any, stored: Stored, tmp_path: Path) -> None:
    """P4: a run that goes on behind a commit whose run was killed publishes that one's files before its own."""
    kind = Parquet(spark, tmp_path)
    first = catalog_of(stored)
    more(stored)

    def another() -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(ParquetTarget, "_publish", stop_here)
            with pytest.raises(Stop):
                archive(spark, first, kind.target(first))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ParquetTarget, "progress", after([another], ParquetTarget.progress))
        assert run(spark, stored, kind).rows() == 15
    check(kind.read(), MORE)
    assert run(spark, stored, kind).files == []


def test_files_that_are_gone_are_not_committed(spark: Any, stored: Stored, kind: Any) -> None:
    """P4: what executors wrote where the driver does not see it is an error before the commit, not after it."""
    catalog = catalog_of(stored)
    target = kind.target(catalog)

    def lose(*given: Any) -> list[Any]:
        made = run_units(*given)
        target.store.open().delete(made[0][0].name)
        return made

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("holdfast.spark.jobs.archive.run_units", lose)
        with pytest.raises(StagedGone, match="driver and executors must share"):
            archive(spark, catalog, target)
    assert run(spark, stored, kind).rows() == 120
    check(kind.read(), EXPECTED)


def test_two_attempts_of_a_task(stored: Stored, tmp_path: Path) -> None:
    """P4: a task that Spark runs twice at once writes files of its own each time: none changes under its commit."""
    catalog = catalog_of(stored)
    [task] = plan(catalog, {where: catalog.readable(where) for where in catalog.manifests})
    placement = Placement(parquet_store(str(tmp_path / "out")), "files/run/")
    todo = ArchiveTask(0, catalog.store, task, placement)
    once, again = ({each.name for each in archive_task(todo)} for _ in range(2))
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
        commit = type(target)._commit

        def only_letters(self: Any, table: str, *given: Any) -> None:
            stop_here() if table == RECORDS else commit(self, table, *given)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(type(target), "_commit", only_letters)
            with pytest.raises(Stop):
                archive(spark, catalog, target, decoding=decoding)
    add(20)
    run(spark, cluster, kind, decoding=decoding)
    good = [n for n in range(30) if n % 5 != 4]
    assert sorted(row["n"] for row in kind.read().to_pylist()) == good
    letters = kind.read_letters().to_pylist()
    assert sorted(row["offset"] for row in letters) == [n for n in range(30) if n % 5 == 4]
    assert {(row["value"], row["reason"][:8]) for row in letters} == {(b"bad", "not JSON")}


def test_expired_before_it_was_archived(spark: Any, stored: Stored, tmp_path: Path) -> None:
    """P4: offsets that are gone are an error that names them, and are left out only on demand."""
    kind = Parquet(spark, tmp_path)
    run(spark, stored, kind)
    more(stored)

    async def work(topics: Topics) -> None:
        await topics.get("orders").partition(0).delete_records(70)

    stored.run(work)
    with pytest.raises(ExpiredFirst, match=r"orders-0: offsets \[60, 70\) are gone"):
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


def test_on_a_real_s3_server(
    spark: Any, s3_store: tuple[str, dict[str, Any]], stored: Stored, s3_bucket: str, tmp_path: Path
) -> None:
    """P4: from a bucket into a bucket, and again."""
    url, options = s3_store
    cluster = Stored(tmp_path / "remote", url, options)

    async def work(topics: Topics) -> None:
        await fill(
            (await topics.create("orders", 1, {})).partition(0), [records(0, 20), records(20, 20)], flush_every=1
        )

    cluster.run(work)
    target = ParquetTarget(spark, parquet_store(f"s3://{s3_bucket}/archive", options))
    assert archive(spark, catalog_of(cluster), target).rows() == 40
    assert archive(spark, catalog_of(cluster), target).rows() == 0
    objects = target.store.open()
    names = [each.name for each in objects.list("")]
    tables = [pa.parquet.read_table(pa.BufferReader(objects.get(name))) for name in names if name.startswith("topic=")]
    assert sorted(pa.concat_tables(tables).column("offset").to_pylist()) == list(range(40))
    assert not [name for name in names if "staging" in name]
