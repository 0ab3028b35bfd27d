"""Archives in tests: a small topic, and for each format its target and a reader that is not ours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
from tests.spark.stored import T0, Stored, fill, records, transaction

from holdfast.broker.topics import Topics
from holdfast.catalog.catalog import Catalog, open_catalog
from holdfast.record.layout import Codec
from holdfast.record.marker import MarkerKind
from holdfast.spark.jobs.archive.archive import Archived, archive
from holdfast.spark.jobs.archive.delta import DeltaTarget
from holdfast.spark.jobs.archive.iceberg import IcebergTarget
from holdfast.spark.jobs.archive.parquet import ParquetTarget, parquet_store

DAY = 24 * 60 * 60 * 1000


def make_orders(folder: Path) -> Stored:
    """Two partitions over three days, with an aborted transaction in one."""
    cluster = Stored(folder)

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


def run(spark: Any, cluster: Stored, kind: Any, **options: Any) -> Archived:
    catalog = catalog_of(cluster)
    return archive(spark, catalog, kind.target(catalog), **options)


def foreign_commit(kind: Kind) -> tuple[Any, str]:
    """The call of Delta's or Iceberg's own library that makes a run visible, at the very last moment."""
    if isinstance(kind, Delta):
        import deltalake

        return deltalake.DeltaTable, "create_write_transaction"
    import pyiceberg.table

    return pyiceberg.table.Table, "_do_commit"


class Stop(BaseException):
    """The driver is gone at this moment."""


def stop_here(*_: object, **__: object) -> None:
    raise Stop


def after(first: list[Any], then: Any) -> Any:
    """A function that lets something else happen before its first call."""

    def call(*given: Any, **named: Any) -> Any:
        while first:
            first.pop()()
        return then(*given, **named)

    return call
