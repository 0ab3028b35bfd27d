"""Archive: two runs at the same time, whichever of them is quicker, and segments that go while a run reads them."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.spark.archived import (
    EXPECTED,
    MORE,
    Delta,
    Iceberg,
    Kind,
    Parquet,
    Stop,
    after,
    catalog_of,
    check,
    foreign_commit,
    make_orders,
    more,
    run,
    stop_here,
)
from tests.spark.disturbed import DisturbedSession, DisturbedTarget, disturb
from tests.spark.stored import Stored, records, transaction

from holdfast.broker.topics import Topics
from holdfast.io.objects.faulty import Delay, once
from holdfast.record.marker import MarkerKind
from holdfast.spark.jobs.archive.access import catalog_properties
from holdfast.spark.jobs.archive.archive import archive
from holdfast.spark.jobs.archive.iceberg import IcebergTarget
from holdfast.spark.jobs.archive.parquet import ParquetTarget, parquet_store
from holdfast.spark.jobs.archive.rows import record_schema
from holdfast.spark.jobs.archive.state import NewFile
from holdfast.spark.jobs.commit_log import Overtaken
from holdfast.spark.jobs.merge.merge import merge
from holdfast.spark.jobs.run import JobFailed
from holdfast.types import PartitionId, TopicPartition

delta_transaction = pytest.importorskip("deltalake.transaction", reason="the packages of the Spark part are missing")
pyiceberg = pytest.importorskip("pyiceberg.table", reason="the packages of the Spark part are missing")


@pytest.fixture
def stored(tmp_path: Path) -> Stored:
    return make_orders(tmp_path / "data")


@pytest.fixture(params=[Parquet, Delta, Iceberg])
def kind(request: pytest.FixtureRequest, spark: Any, tmp_path: Path) -> Kind:
    made: Kind = request.param(spark, tmp_path)
    return made


def test_two_runs_at_once(spark: Any, stored: Stored, kind: Any) -> None:
    """P4: of two runs that began with the same archive one wins; the other says so and has added nothing."""
    run(spark, stored, kind)
    more(stored)
    catalog = catalog_of(stored)
    slow = kind.target(catalog)
    before = slow.progress()

    def late(*given: Any) -> None:
        assert run(spark, stored, kind).rows() == 15  # The other one was quicker.
        slow.commit(*given)

    with pytest.raises(Overtaken):
        archive(spark, catalog, DisturbedTarget(slow, commit=late))
    assert before != slow.progress()
    check(kind.read(), MORE)


def test_two_first_runs_of_delta(spark: Any, stored: Stored, tmp_path: Path) -> None:
    """P4: also of two runs that both make the table one wins, and Delta itself refuses the other."""
    kind = Delta(spark, tmp_path)
    catalog = catalog_of(stored)
    slow = kind.target(catalog)
    with pytest.MonkeyPatch.context() as patch:
        quick: list[Any] = [lambda: run(spark, stored, kind)]
        name = "create_table_with_add_actions"
        patch.setattr(delta_transaction, name, after(quick, getattr(delta_transaction, name)))
        with pytest.raises(Overtaken):
            archive(spark, catalog, slow)
    check(kind.read(), EXPECTED)


def test_killed_behind_the_back_of_another_run(spark: Any, stored: Stored, tmp_path: Path) -> None:
    """P4: a run that goes on behind a commit whose run was killed publishes that one's files before its own."""
    kind = Parquet(spark, tmp_path)
    first = catalog_of(stored)
    more(stored)

    def another() -> None:
        publishing = DisturbedSession(spark, stop_here)
        with pytest.raises(Stop):
            archive(spark, first, ParquetTarget(publishing, kind.target(first).store))

    catalog = catalog_of(stored)
    target = kind.target(catalog)
    raced = DisturbedTarget(target, progress=after([another], target.progress))
    assert archive(spark, catalog, raced).rows() == 15
    check(kind.read(), MORE)
    assert run(spark, stored, kind).files == []


def raced(spark: Any, stored: Stored, kind: Kind, catalog: Any) -> None:
    """A run that another one overtakes just before its commit: it says so."""
    if isinstance(kind, Parquet):
        plan = once("put_if_absent", "_holdfast/0", Delay(lambda: run(spark, stored, kind)))
        with pytest.raises(Overtaken):
            archive(spark, catalog, ParquetTarget(spark, disturb(kind.target(catalog).store, plan)))
        return
    where, name = foreign_commit(kind)
    quick: list[Any] = [lambda: run(spark, stored, kind)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(where, name, after(quick, getattr(where, name)))
        with pytest.raises(Overtaken):
            archive(spark, catalog, kind.target(catalog))


def test_overtaken_at_the_last_moment(spark: Any, stored: Stored, kind: Any) -> None:
    """P4: a run whose check found nobody, and whose commit then comes second, adds nothing."""
    run(spark, stored, kind)
    more(stored)
    raced(spark, stored, kind, catalog_of(stored))
    assert run(spark, stored, kind).files == []
    check(kind.read(), MORE)


def test_a_run_without_rows_is_overtaken(spark: Any, stored: Stored, kind: Any) -> None:
    """P4: a run that has only offsets to move does not move them back behind another one's rows."""
    run(spark, stored, kind)

    async def abort(topics: Topics) -> None:
        await transaction(topics.get("orders").partition(1), 8, records(900, 5), MarkerKind.ABORT)
        await topics.get("orders").partition(1).flush()

    stored.run(abort)
    without_rows = catalog_of(stored)
    more(stored)
    raced(spark, stored, kind, without_rows)
    assert run(spark, stored, kind).files == []
    check(kind.read(), MORE)
    assert run(spark, stored, kind, skip_expired=True).files == []


def test_two_first_runs_of_iceberg(spark: Any, stored: Stored, tmp_path: Path) -> None:
    """P4: of two runs that both make the table one wins; the table has its partitions from its first moment on."""
    kind = Iceberg(spark, tmp_path)
    catalog = catalog_of(stored)
    raced(spark, stored, kind, catalog)
    check(kind.read(), EXPECTED)
    target = kind.target(catalog)
    assert [each.name for each in target.open_table("records").spec().fields] == ["topic", "date"]


@pytest.mark.parametrize("commits_done", [0, 1])
def test_a_run_killed_while_it_makes_the_table(spark: Any, stored: Stored, tmp_path: Path, commits_done: int) -> None:
    """P4: an Iceberg table has its partitions, whenever the run that makes it is killed."""
    kind = Iceberg(spark, tmp_path)
    catalog = catalog_of(stored)
    real = pyiceberg.Table._do_commit
    commits = iter([real] * commits_done)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pyiceberg.Table, "_do_commit", lambda *given, **more: next(commits, stop_here)(*given, **more))
        with pytest.raises(Stop):
            archive(spark, catalog, kind.target(catalog))
    run(spark, stored, kind)
    check(kind.read(), EXPECTED)
    assert [each.name for each in kind.target(catalog).open_table("records").spec().fields] == ["topic", "date"]


def test_a_commit_that_landed_though_its_catalog_said_no(tmp_path: Path) -> None:
    """P4: a catalog that is asked twice for the same commit, by what lies between, refuses it the second time."""
    from pyiceberg.catalog.sql import SqlCatalog
    from pyiceberg.exceptions import CommitFailedException

    place = str(tmp_path / "lake")
    store = parquet_store(place)
    target = IcebergTarget(store, catalog_properties(place, store.url, {}))
    home = PartitionId(UUID(int=1), 0)
    schemas = {"records": record_schema(target.placement("made"))}
    target.commit("made", [], target.progress(), {home: 1}, schemas)
    row: dict[str, Any] = {"topic": "t", "partition": 0, "offset": 1, "timestamp": 0, "timestamp_type": 0}
    out = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist([row], schemas["records"]), out)
    name = target.placement("run").name("records", "1.parquet")
    store.open().put(name, [bytes(out.getvalue())])
    real = SqlCatalog.commit_table

    def lost(*given: Any) -> None:
        real(*given)
        raise CommitFailedException("the table has changed")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SqlCatalog, "commit_table", lost)
        file = NewFile("records", name, "t", "1970-01-01", 1, out.getvalue().size)
        target.commit("run", [file], target.progress(), {home: 2}, schemas)
    assert target.progress().records == {home: 2}
    assert target.open_table("records").scan().to_arrow().column("offset").to_pylist() == [1]


def expired(spark: Any, stored: Stored) -> DisturbedSession:
    """A session whose tasks begin when two of the three segments of a partition are gone."""

    async def delete(topics: Topics) -> None:
        await topics.get("orders").partition(0).delete_records(40)

    def work() -> None:
        manifest = catalog_of(stored).manifests[TopicPartition("orders", 0)]
        stored.run(delete)
        for info in [each for each in manifest.segments if each.end <= 40]:
            stored.objects.delete(info.name)

    return DisturbedSession(spark, work)


def test_segments_that_expire_during_a_run(spark: Any, stored: Stored, tmp_path: Path) -> None:
    """P4: they are an error that names the command's own flag; with the flag they are counted."""
    kind = Parquet(spark, tmp_path)
    with pytest.raises(JobFailed, match=r"orders-0: offsets \[0, 20\) are gone.*--skip-expired") as told:
        run(expired(spark, stored), stored, kind)
    assert "failOnDataLoss" not in str(told.value)


def test_segments_that_expire_during_a_run_are_counted(spark: Any, stored: Stored, tmp_path: Path) -> None:
    """P4: with --skip-expired the sum says how many offsets no archive will ever have."""
    kind = Parquet(spark, tmp_path)
    done = run(expired(spark, stored), stored, kind, skip_expired=True)
    assert done.skipped == {TopicPartition("orders", 0): 40}
    assert done.rows() == 80
    check(kind.read(), {place: n for place, n in EXPECTED.items() if place[0] == 1 or place[1] >= 40})


def test_segments_that_expire_during_a_merge(spark: Any, stored: Stored, tmp_path: Path) -> None:
    """P4: a merge has everything that was there when it began, or says what went."""
    from holdfast.spark.jobs.archive.parquet import parquet_store
    from holdfast.spark.jobs.merge.source import open_sources

    sources = open_sources(["orders"], stored.path)
    with pytest.raises(JobFailed, match=r"orders-0: offsets \[0, 20\) went while they were merged.*Run it again"):
        merge(expired(spark, stored), sources, parquet_store(str(tmp_path / "merged")))
