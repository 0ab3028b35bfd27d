"""An archive as its readers see it: files and ends that belong together, of one commit.

Whatever writes to the archive meanwhile, adds to it, merges its files or is killed: files and ends are those of one
version of a Delta table, one snapshot of an Iceberg table, one commit of a Parquet archive, whose files are all in
their places.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from holdfast.catalog.store import Store, typed
from holdfast.errors import Rejected
from holdfast.io.objects import NotFound
from holdfast.spark.jobs.archive.access import catalog_properties, delta_options
from holdfast.spark.jobs.archive.delta import DeltaTarget
from holdfast.spark.jobs.archive.iceberg import OFFSETS
from holdfast.spark.jobs.archive.layout import layout_of
from holdfast.spark.jobs.archive.live import live_files, published
from holdfast.spark.jobs.archive.parquet import SCHEMA_FILE
from holdfast.spark.jobs.archive.parquet_file import open_file
from holdfast.spark.jobs.archive.state import RECORDS, Offsets, offsets_from_json
from holdfast.spark.jobs.commit_log import CommitLog
from holdfast.spark.jobs.replay.archive import by_topic
from holdfast.spark.jobs.replay.tables import FilesByTopic, delta_listed, iceberg_listed, iceberg_table
from holdfast.types import PartitionId

PLACE_COLUMNS = ("topic", "date")  # Of folders and partitions; the topic is known, the day is in the timestamp.


class ArchivedFile(NamedTuple):
    """One Parquet file."""

    topic: str
    name: str  # In the archive's store.
    size: int


@dataclass(frozen=True)
class Archive:
    """Where an archive is."""

    place: str
    store: Store
    options: Mapping[str, str] = field(default_factory=dict, repr=False)  # Of its store; may hold credentials.
    catalog: Mapping[str, str] = field(default_factory=dict, repr=False)  # Of Iceberg, in the words of pyiceberg.

    def url(self, name: str) -> str:
        """A file as Spark calls it."""
        root = self.store.url.rstrip("/").removeprefix("file://")
        return f"file://{root}/{name}" if "://" not in root else f"{root.replace('s3://', 's3a://', 1)}/{name}"


@dataclass(frozen=True)
class ArchivedState:
    """What an archive holds of some topics."""

    files: tuple[ArchivedFile, ...] = ()
    ends: Offsets = field(default_factory=dict)  # Everything below is in the files, and nothing from there on.
    schema: Any = None  # The Arrow schema of the rows, without topic and date; None where there is no table yet.


def find_archive(place: str, options: Mapping[str, str], catalog: Mapping[str, str], *, must_be: bool) -> Archive:
    """The archive at a place. One that was named must be there; one that is still to be made may be missing."""
    if "://" not in place or place.startswith("file://"):
        folder = Path(place.removeprefix("file://"))
        if must_be and not folder.is_dir():
            raise Rejected(f"there is no archive at {place}: it is not a directory")
        return Archive(str(folder.absolute()), Store(str(folder.absolute()), typed(options)), options, catalog)
    return Archive(place, Store(place.rstrip("/"), typed(options)), options, catalog)


def look(archive: Archive, topics: Iterable[str], homes: Iterable[PartitionId]) -> ArchivedState:
    """What the archive holds of these topics, by its newest state."""
    wanted = set(topics)
    if "://" not in archive.store.url and not Path(archive.store.url).is_dir():
        return ArchivedState()  # Looking makes nothing.
    kind = layout_of(archive.store.open())
    if kind is None:
        return ArchivedState()
    files, ends, schema = {"parquet": _parquet, "delta": _delta, "iceberg": _iceberg}[kind](archive, tuple(homes))
    listed = [
        ArchivedFile(topic, name, size)
        for topic, some in sorted(files.items())
        for name, size in some.items()
        if topic in wanted
    ]
    if schema is None and listed:
        schema = open_file(archive.store.open(), listed[0].name).schema_arrow
    return ArchivedState(tuple(listed), ends, None if schema is None else _rows_of(schema))


def _rows_of(schema: Any) -> Any:
    return pa.schema([pa.field(each.name, each.type) for each in schema if each.name not in PLACE_COLUMNS])


def _parquet(archive: Archive, homes: tuple[PartitionId, ...]) -> tuple[FilesByTopic, Offsets, Any]:  # noqa: ARG001
    log = CommitLog(archive.store)
    commit = published(log)
    if commit is None:
        return {}, {}, None
    if "offsets" not in commit.memory:
        raise Rejected(f"{archive.place} holds a merge, and no archive")
    try:
        footer: Any = archive.store.open().get(SCHEMA_FILE)
        schema = pq.read_schema(io.BytesIO(footer))
    except NotFound:  # Of an earlier release, whose files all have the same columns.
        schema = None
    return by_topic(live_files(log, commit)), offsets_from_json(commit.memory["offsets"]), schema


def _delta(archive: Archive, homes: tuple[PartitionId, ...]) -> tuple[FilesByTopic, Offsets, Any]:
    target = DeltaTarget(archive.store, homes, delta_options=delta_options(archive.place, archive.options))
    table = target.open_table(RECORDS)
    if table is None:
        return {}, {}, None
    return delta_listed(archive.store, table), target.offsets_of(table), pa.schema(table.schema().to_arrow())


def _iceberg(archive: Archive, homes: tuple[PartitionId, ...]) -> tuple[FilesByTopic, Offsets, Any]:  # noqa: ARG001
    properties = catalog_properties(archive.place, archive.store.url, archive.options) | dict(archive.catalog)
    table = iceberg_table(archive.store, properties)
    ends = offsets_from_json(json.loads(table.properties.get(OFFSETS, "{}")))
    return iceberg_listed(archive.store, table), ends, table.schema().as_arrow()
