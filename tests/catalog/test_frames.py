"""A topic in a bucket as frames of Polars and pandas and as a relation of DuckDB: all rows, and no more bytes than the
plain reader fetches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import polars as pl
import pytest
from tests.spark.disturbed import disturb
from tests.support.spark_store import T0, StoredCluster

from holdfast.catalog import Times, duckdb_scan, to_pandas, to_polars, topic_reader
from holdfast.catalog.catalog import Catalog, catalog_in
from holdfast.catalog.store import Store, find_store
from holdfast.io.objects.faulty import Call
from holdfast.io.objects.open import open_objects

COUNT = 2000
COLUMNS = ["partition", "offset", "timestamp", "key", "value"]
LATE = Times(T0 + 1000 * (COUNT - 10))  # The last ten records of each partition.


def rows_of_duckdb(catalog: Catalog, topic: str, **wanted: Any) -> list[dict[str, Any]]:
    found = duckdb_scan(catalog, topic, **wanted)
    return [dict(zip(found.columns, row, strict=True)) for row in found.fetchall()]


WAYS: dict[str, Callable[..., list[dict[str, Any]]]] = {
    "polars": lambda *what, **wanted: to_polars(*what, **wanted).to_dicts(),
    "pandas": lambda *what, **wanted: to_pandas(*what, **wanted).to_dict("records"),
    "duckdb": rows_of_duckdb,
}


@pytest.fixture
def store(s3_store: tuple[str, dict[str, Any]]) -> Store:
    """A bucket with a topic of three partitions, each of two segments, which know the times of their records."""
    cluster = StoredCluster(open_objects(*s3_store))
    for partition in cluster.topic("t", 3):
        for _ in range(2):
            partition.count(COUNT // 2, size=500)
            partition.flush()
    return find_store(*s3_store)


def plain(row: dict[str, Any]) -> tuple[Any, ...]:
    """A row in Python's own types, whatever the library makes of them."""
    return row["partition"], row["offset"], round(row["timestamp"].timestamp() * 1000), bytes(row["key"])


@pytest.mark.s3
@pytest.mark.parametrize("way", WAYS)
def test_all_rows_of_a_bucket(store: Store, way: str) -> None:
    """P1: every record once, with its own key, value and time; columns and rows as asked for."""
    catalog = catalog_in(store)
    found = WAYS[way](catalog, "t", columns=COLUMNS)
    expected = [(number, n, T0 + 1000 * n, b"k%d" % n) for number in range(3) for n in range(COUNT)]
    assert sorted(map(plain, found)) == expected
    assert all(bytes(row["value"]) == b"v%d" % row["offset"] + bytes(500) for row in found)
    some = WAYS[way](catalog, "t", columns=["offset"], partitions=[1], start=5, end=100, limit=7)
    assert some == [{"offset": offset} for offset in range(5, 12)]


@pytest.mark.s3
@pytest.mark.parametrize("way", WAYS)
def test_what_is_not_wanted_is_not_fetched(store: Store, way: str) -> None:
    """P1: of a time in the second segments the first ones are not asked for, by any of the libraries."""

    def segments_of(read: Callable[..., Any]) -> tuple[set[str], Any]:
        calls: list[Call] = []
        found = read(catalog_in(disturb(store, calls.append)), "t", columns=["offset"], times=LATE)
        return {each.name for each in calls if each.name.endswith(".seg")}, found

    read, found = segments_of(WAYS[way])
    assert [row["offset"] for row in found] == 3 * list(range(COUNT - 10, COUNT))
    plainly, _ = segments_of(lambda *what, **wanted: topic_reader(*what, **wanted).read_all())
    assert read == plainly
    assert len(read) == 3


@pytest.mark.s3
def test_frames_are_the_libraries_own(store: Store) -> None:
    """P1: what a notebook goes on with: group and sum in each of them over the same topic."""
    catalog = catalog_in(store)
    by_partition = dict.fromkeys(range(3), sum(range(COUNT)))
    polars = to_polars(catalog, "t", columns=["partition", "offset"])
    assert isinstance(polars, pl.DataFrame)
    assert dict(polars.group_by("partition").agg(pl.col("offset").sum()).iter_rows()) == by_partition
    pandas = to_pandas(catalog, "t", columns=["partition", "offset"])
    assert isinstance(pandas, pd.DataFrame)
    assert pandas.groupby("partition")["offset"].sum().to_dict() == by_partition
    duck = duckdb_scan(catalog, "t", columns=["partition", "offset"])
    assert dict(duck.aggregate('partition, sum("offset")').fetchall()) == by_partition
