"""What there is to replay: the files of an archive, their row groups, and which offsets those hold."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import unquote

from holdfast.catalog.store import Store, typed
from holdfast.io.objects import Objects
from holdfast.spark.jobs.archive.layout import layout_of
from holdfast.spark.jobs.archive.live import live_files
from holdfast.spark.jobs.archive.parquet import DEAD_LETTER_FOLDER
from holdfast.spark.jobs.archive.parquet_file import open_file
from holdfast.spark.jobs.commit_log import CommitLog
from holdfast.spark.jobs.replay.tables import FilesByTopic, NoArchive, delta_files, iceberg_files

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


def archive_store(path: str, options: Mapping[str, str] | None = None) -> Store:
    """The store of an archive; unlike one to write to, it must be there."""
    if "://" in path:
        return Store(path.rstrip("/"), typed(options or {}))
    if not Path(path).is_dir():
        raise NoArchive(path, "it is not a directory")
    return Store(str(Path(path).absolute()), typed(options or {}))


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
        files = delta_files(store, access.delta)
    elif kind == "iceberg":
        files = iceberg_files(store, access.catalog)
    else:
        files = _parquet_files(store)
    chosen = _choose(store, sorted(files), topic)
    with ThreadPoolExecutor(_THREADS) as pool:
        groups = pool.map(lambda name: list(_groups_of(store, objects, name)), sorted(files[chosen]))
        return chosen, [group for some in groups for group in some]


def _parquet_files(store: Store) -> FilesByTopic:
    """The files of each topic in folders topic=…/date=…, as the newest commit has them."""
    log = CommitLog(store)
    newest = log.newest()
    if newest is None:  # Files that somebody has copied without their commits.
        return by_topic({each.name: each.size for each in store.open().list("") if not _is_hidden(each.name)})
    if log.unpublished(newest):  # Some rows would lack.
        raise NoArchive(store.url, "its last run was killed before all files were in their places: run archive again")
    return by_topic(live_files(log, newest))


def by_topic(files: Mapping[str, int]) -> FilesByTopic:
    """Files of records, by the topic that their folders name."""
    found: dict[str, dict[str, int]] = {}
    for name, size in files.items():
        topic = _TOPIC.search(name)
        if topic and name.endswith(".parquet") and not name.startswith(DEAD_LETTER_FOLDER):
            found.setdefault(unquote(topic[1]), {})[name] = size
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
