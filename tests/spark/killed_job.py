"""The pipelines that are killed, with all that they import and compile, so that forked processes need not."""

from __future__ import annotations

import time
from pathlib import Path

import deltalake
import pyiceberg.catalog.sql
import pyiceberg.io.pyarrow
from tests.spark.archived import Delta, Iceberg, Parquet, catalog_of
from tests.spark.killing import Here
from tests.spark.stored import Stored, records

from holdfast.catalog.catalog import open_catalog
from holdfast.record.build import build
from holdfast.record.columnar import decode as columnar
from holdfast.spark.jobs.archive.archive import archive
from holdfast.spark.jobs.archive.follow import Follower
from holdfast.spark.jobs.archive.merged import let_go, merge_small
from holdfast.spark.jobs.archive.parquet import parquet_store
from holdfast.spark.jobs.archive.values import ValueDecoding
from holdfast.spark.jobs.compact import compact
from holdfast.spark.jobs.merge.merge import merge
from holdfast.spark.jobs.merge.source import open_sources

LOADED = (deltalake, pyiceberg.catalog.sql, pyiceberg.io.pyarrow, columnar.decode([build(records(0, 2))]))
KINDS = {"parquet": Parquet, "delta": Delta, "iceberg": Iceberg}


def run(what: str, data: Path, out: Path) -> None:
    """One pipeline over the cluster at `data`; archives and merges go to `out`."""
    cluster = Stored(data)
    if what in KINDS:
        catalog = catalog_of(cluster)
        archive(Here(), catalog, KINDS[what](Here(), out).target(catalog))
    elif what == "merge":
        merge(Here(), open_sources(["orders"], cluster.path), parquet_store(str(out)), range_size=2000)
    else:
        compact(Here(), open_catalog(cluster.path, topics=["orders"]))


def decode(what: str, data: Path, out: Path, decoding: ValueDecoding) -> None:
    """An archive of decoded values."""
    catalog = catalog_of(Stored(data))
    archive(Here(), catalog, KINDS[what](Here(), out).target(catalog), decoding=decoding)


def follow(what: str, data: Path, out: Path) -> None:
    """A follower until nothing is new."""
    catalog = catalog_of(Stored(data))
    follower = Follower(Here(), catalog, KINDS[what](Here(), out).target)
    while follower.round() is not None:
        pass


def look_after(step: str, folder: Path) -> None:
    """One step of the upkeep of a Parquet archive, at the time that it is due."""
    target = Parquet(Here(), folder).target(catalog_of(Stored(folder / "data")))
    now_ms = time.time_ns() // 1_000_000
    if step == "merge":
        merge_small(target, 1 << 20, now_ms)
    else:
        let_go(target, 7 * 86_400_000, now_ms + 8 * 86_400_000)
