"""What there is to replay: the files of an archive, their row groups, and which offsets those hold."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

from holdfast.catalog.store import Store, typed
from holdfast.io.objects import Objects
from holdfast.spark.jobs.archive.layout import layout_of
from holdfast.spark.jobs.commit_log import CommitLog
from holdfast.spark.jobs.replay.tables import NoArchive, delta_files, iceberg_files

COLUMNS: Final = ("partition", "offset", "timestamp", "key", "value", "headers")

_THREADS = 16
_TOPIC = re.compile(r"(?:^|/)topic=([^/]+)/")


class RowGroup(NamedTuple):
    """A row group of a file; all bounds are inclusive."""

    file: str
    number: int
    partition_min: int
    partition_max: int
    offset_min: int
    offset_max: int
    rows: int
    size: int  # Bytes, before compression.


class ObjectFile(io.RawIOBase):
    """An object as a file that Parquet's reader can move about in: every read is one ranged read."""

    def __init__(self, objects: Objects, name: str) -> None:
        self._objects = objects
        self._name = name
        self._size = objects.size(name)
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        return self._at

    def read(self, size: int | None = -1) -> bytes:
        end = self._size if size is None or size < 0 else min(self._at + size, self._size)
        data = self._objects.get(self._name, self._at, end) if end > self._at else b""
        self._at += len(data)
        return data


def archive_store(path: str, options: Mapping[str, str] | None = None) -> Store:
    """The store of an archive; unlike one to write to, it must be there."""
    if "://" in path:
        return Store(path.rstrip("/"), typed(options or {}))
    if not Path(path).is_dir():
        raise NoArchive(path, "it is not a directory")
    return Store(str(Path(path).absolute()), typed(options or {}))


def open_file(objects: Objects, name: str) -> pq.ParquetFile:
    """One Parquet file of the archive."""
    return pq.ParquetFile(pa.PythonFile(ObjectFile(objects, name), mode="r"))


class Access(NamedTuple):
    """What Delta's and Iceberg's own libraries must be told to find an archive, in their words."""

    delta: Mapping[str, str] = {}
    catalog: Mapping[str, str] = {}


LOCAL: Final = Access()


def row_groups(store: Store, topic: str | None, access: Access = LOCAL) -> tuple[str, list[RowGroup]]:
    """The archived topic (the only one, if none is named) and its row groups."""
    objects = store.open()
    kind = layout_of(objects)
    if kind == "delta":
        by_topic = delta_files(store, access.delta)
    elif kind == "iceberg":
        by_topic = iceberg_files(store, access.catalog)
    else:
        by_topic = _parquet_files(store)
    chosen = _choose(store, sorted(by_topic), topic)
    with ThreadPoolExecutor(_THREADS) as pool:
        groups = pool.map(lambda name: list(_groups_of(store, objects, name)), sorted(by_topic[chosen]))
        return chosen, [group for some in groups for group in some]


def _parquet_files(store: Store) -> dict[str, list[str]]:
    """The files of each topic in folders topic=…/date=…"""
    version = _published(store)
    found: dict[str, list[str]] = {}
    for each in list(store.open().list("")):
        topic = _TOPIC.search(each.name)
        if topic and each.name.endswith(".parquet") and not _is_hidden(each.name):
            found.setdefault(unquote(topic[1]), []).append(each.name)
    if _published(store) != version:  # Some of its files may be in the list, others not: offsets would be skipped.
        raise NoArchive(store.url, "archive has added to it at this moment: run this again")
    return found


def _is_hidden(name: str) -> bool:
    return any(part.startswith(("_", ".")) for part in name.split("/"))


def _choose(store: Store, there: Sequence[str], topic: str | None) -> str:
    if not there:
        raise NoArchive(store.url, "it has no Parquet files in folders topic=…/date=…: name what `archive` has written")
    if topic is None and len(there) > 1:
        raise NoArchive(store.url, f"it holds the topics {', '.join(there)}: say with --from which")
    if topic is not None and topic not in there:
        raise NoArchive(store.url, f"it holds no topic {topic}, but {', '.join(there)}")
    return topic or there[0]


def _published(store: Store) -> int | None:
    """The newest commit. One that was killed before all files were in their places is refused: some rows would lack."""
    log = CommitLog(store)
    newest = log.newest()
    if newest is not None and log.unpublished(newest):
        raise NoArchive(store.url, "its last run was killed before all files were in their places: run archive again")
    return None if newest is None else newest.version


def _groups_of(store: Store, objects: Objects, name: str) -> Iterator[RowGroup]:
    footer: Any = open_file(objects, name).metadata
    columns = {footer.schema.column(index).path: index for index in range(footer.num_columns)}
    for needed in ("partition", "offset", "timestamp", "key", "value"):
        if needed not in columns:
            raise NoArchive(
                store.url, f"{name} has no column {needed}; a decoded archive has it if it was made with --keep-value"
            )
    for number in range(footer.num_row_groups):
        group = footer.row_group(number)
        if not group.num_rows:
            continue
        partition, offset = (group.column(columns[each]).statistics for each in ("partition", "offset"))
        if not (partition and partition.has_min_max and offset and offset.has_min_max):
            raise NoArchive(store.url, f"{name} does not say which partitions and offsets it holds")
        bounds = (partition.min, partition.max, offset.min, offset.max)
        yield RowGroup(name, number, *bounds, group.num_rows, group.total_byte_size)
