"""From what a person writes to the target of an archive."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holdfast.catalog.catalog import Catalog
from holdfast.errors import Rejected
from holdfast.spark.jobs.archive.access import catalog_properties, delta_options
from holdfast.spark.jobs.archive.delta import DeltaTarget
from holdfast.spark.jobs.archive.iceberg import IcebergTarget
from holdfast.spark.jobs.archive.layout import check_layout
from holdfast.spark.jobs.archive.parquet import ParquetTarget, parquet_store
from holdfast.spark.jobs.archive.state import ArchiveTarget

COMPRESSIONS = ("snappy", "zstd", "lz4", "gzip", "none")


def open_target(
    kind: str,
    place: str,
    session: Any,
    catalog: Catalog | None,
    options: Mapping[str, str],
    properties: Mapping[str, str],
    compression: str,
) -> ArchiveTarget:
    """A target of this kind; its directory is made when it is not there. Without a catalog it is only looked at."""
    if compression not in COMPRESSIONS:
        raise Rejected(f"--compression {compression} is none of {', '.join(COMPRESSIONS)}")
    if properties and kind != "iceberg":
        raise Rejected(f"--catalog is for Iceberg, and the target is {kind}")
    store = parquet_store(place, options)
    check_layout(store, kind)
    if kind == "parquet":
        return ParquetTarget(session, store, compression)
    if kind == "delta":
        homes = () if catalog is None else tuple(each.home for each in catalog.manifests.values())
        return DeltaTarget(store, homes, compression, delta_options(place, options))
    return IcebergTarget(store, catalog_properties(place, store.url, options) | dict(properties), compression)
