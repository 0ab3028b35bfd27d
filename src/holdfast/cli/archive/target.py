"""From what a person writes to the target of an archive."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holdfast.catalog.catalog import Catalog
from holdfast.errors import Rejected
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


def delta_options(place: str, options: Mapping[str, str]) -> dict[str, str]:
    """Our store's options in the words of Delta's."""
    if not place.startswith("s3://"):
        return {}
    words = {"endpoint": "AWS_ENDPOINT_URL", "allow_http": "AWS_ALLOW_HTTP"}
    made = {words.get(name, f"AWS_{name.upper()}"): value for name, value in options.items()}
    if made.get("AWS_ENDPOINT_URL", "").startswith("http://"):
        made.setdefault("AWS_ALLOW_HTTP", "true")
    return made


def catalog_properties(place: str, url: str, options: Mapping[str, str]) -> dict[str, str]:
    """A catalog in one file beside the data; for a bucket somebody has to say which catalog it is."""
    if "://" not in place:
        return {"type": "sql", "uri": f"sqlite:///{url.removeprefix('file://')}/catalog.db", "warehouse": url}
    words = {"endpoint": "s3.endpoint", "region": "s3.region"}
    words |= {"access_key_id": "s3.access-key-id", "secret_access_key": "s3.secret-access-key"}
    return {"type": "sql", "warehouse": url} | {words.get(name, name): value for name, value in options.items()}
