"""Small files of a Parquet archive as few large ones, and what they replace let go, under its readers.

    1. merge    small files of one day become one in `_holdfast/merged/<version>/`, which who lists the directory does
                not see; a commit takes it up in their place, for who reads by the commits
    2. swap     when nobody can be reading the small ones any more, a second commit gives the merged file its name in
                the directory, and deletes them
    3. forget   after the same time once more the hidden name of the merged file goes

Each step is one commit, of a number that nobody else can take, and can be done again by anybody: the next run
publishes what a killed one has committed. Offsets and columns stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from holdfast.catalog.store import Store
from holdfast.errors import Corrupt
from holdfast.io.chance import SystemChance
from holdfast.io.objects import ObjectInfo
from holdfast.spark.jobs.archive.live import LIVE, REPLACED, is_full, live_after, live_files
from holdfast.spark.jobs.archive.parquet import ParquetTarget
from holdfast.spark.jobs.archive.parquet_file import open_file
from holdfast.spark.jobs.archive.write import file_options
from holdfast.spark.jobs.commit_log import (
    FOLDER,
    REMOVED,
    STAGING,
    CommitLog,
    LoggedCommit,
    Move,
    Overtaken,
    check_staged,
)
from holdfast.spark.jobs.run import Unit, run_units

MERGED: Final = FOLDER + "merged/"
COUNT_MIN: Final = 8  # Fewer files of a day that is not over are left for later.
ROW_COUNT: Final = 100_000  # Of one row group.
_SWAPPED = "swapped.json"
_DATE = re.compile(r"date=(\d{4}-\d{2}-\d{2})$")
_TRIES = 20  # Whoever adds to the archive meanwhile is quicker, now and then.
_DAY = timedelta(days=1)


class MergeGroup(NamedTuple):
    """Files that become one."""

    folder: str  # In which they are.
    files: Mapping[str, int]


class SmallFile(NamedTuple):
    """One that may be merged with others of its folder."""

    folder: str
    day: str  # Of its records; empty if it has none.
    name: str
    size: int


class Merging(NamedTuple):
    """What becomes one file."""

    store: Store
    files: tuple[str, ...]
    target: str
    compression: str


def merge_small(target: ParquetTarget, file_size: int, now_ms: int) -> int:
    """Merge what is small; how many files were."""
    log = CommitLog(target.store)
    newest = log.newest()
    if newest is None:
        return 0
    target.recover()
    groups = list(groups_of(live_files(log, newest), file_size, now_ms))
    if not groups:
        return 0
    run = f"{SystemChance().bits(64):016x}"
    units = [
        Unit(
            Merging(target.store, tuple(each.files), f"{STAGING}{run}/{number:06}.parquet", target.compression),
            len(each.files),
            sum(each.files.values()),
        )
        for number, each in enumerate(groups)
    ]
    sizes = run_units(target.session, units, merge_files)
    check_staged(target.store, {unit.task.target: size for unit, size in zip(units, sizes, strict=True)})
    replaced = [name for each in groups for name in each.files]

    def change(version: int, live: Mapping[str, int]) -> tuple[list[Move], dict[str, Any]] | None:
        if any(name not in live for name in replaced):
            return None  # Somebody else has merged them.
        moves = [
            Move(unit.task.target, f"{MERGED}{version:020}/{each.folder}/{run}-{number:06}.parquet", size)
            for number, (each, unit, size) in enumerate(zip(groups, units, sizes, strict=True))
        ]
        return moves, {REPLACED: replaced}

    return len(replaced) if _commit(target, run, change) else 0


def groups_of(live: Mapping[str, int], file_size: int, now_ms: int) -> Iterator[MergeGroup]:
    """What is small of the files of an archive."""
    files = []
    for name, size in live.items():
        if not name.startswith(MERGED):
            folder = name.rpartition("/")[0]
            day = _DATE.search(folder)
            files.append(SmallFile(folder, day[1] if day is not None else "", name, size))
    yield from grouped(files, file_size, now_ms)


def grouped(given: Iterable[SmallFile], file_size: int, now_ms: int) -> Iterator[MergeGroup]:
    """Small files of each folder, in their order, up to the size of a large one."""
    folders: dict[tuple[str, str], dict[str, int]] = {}
    for each in given:
        if each.size < file_size // 2:
            folders.setdefault((each.folder, each.day), {})[each.name] = each.size
    yesterday = str((datetime.fromtimestamp(now_ms / 1000, UTC) - _DAY).date())
    for (folder, day), files in folders.items():
        least = 2 if "" < day < yesterday else COUNT_MIN
        group: dict[str, int] = {}
        for name, size in files.items():
            if group and sum(group.values()) + size > file_size:
                if len(group) >= least:
                    yield MergeGroup(folder, group)
                group = {}
            group[name] = size
        if len(group) >= least:
            yield MergeGroup(folder, group)


def merge_files(todo: Merging) -> int:
    """Write one file with the rows of all; its size."""
    objects = todo.store.open()
    files: list[Any] = [open_file(objects, name) for name in todo.files]
    schema = pa.unify_schemas([each.schema_arrow.remove_metadata() for each in files], promote_options="permissive")
    out = pa.BufferOutputStream()
    count = 0
    with pq.ParquetWriter(out, schema, **file_options(schema, todo.compression)) as writer:
        for rows in _filled(files, schema):
            writer.write_table(rows, row_group_size=ROW_COUNT)
            count += rows.num_rows
    expected = sum(each.metadata.num_rows for each in files)
    if count != expected:
        raise Corrupt(f"{todo.store.url}: {expected} rows of {len(files)} files became {count}: nothing is replaced")
    data = out.getvalue()
    objects.put(todo.target, [memoryview(data).cast("B")])
    return len(data)


def _filled(files: Sequence[Any], schema: Any) -> Iterator[Any]:
    """The rows of all files, so many at a time."""
    waiting: list[Any] = []
    count = 0
    for file in files:
        for batch in file.iter_batches(ROW_COUNT):
            arrays = [
                batch.column(each.name).cast(each.type)
                if each.name in batch.schema.names
                else pa.nulls(batch.num_rows, each.type)
                for each in schema
            ]
            waiting.append(pa.RecordBatch.from_arrays(arrays, schema=schema))
            count += batch.num_rows
            if count >= ROW_COUNT:
                yield pa.Table.from_batches(waiting)
                waiting, count = [], 0
    if waiting:
        yield pa.Table.from_batches(waiting)


def let_go(target: ParquetTarget, old_ms: int, now_ms: int) -> None:
    """Swap what was merged so long ago, and forget what was swapped so long ago."""
    found: dict[int, list[ObjectInfo]] = {}
    for each in target.store.open().list(MERGED):
        found.setdefault(int(each.name[len(MERGED) :].partition("/")[0]), []).append(each)
    for version, objects in sorted(found.items()):
        marker = next((each for each in objects if each.name.endswith(_SWAPPED)), None)
        files = [each for each in objects if each is not marker]
        if marker is None:
            if max(each.modified_ms for each in files) <= now_ms - old_ms:
                _swap(target, version)
        elif marker.modified_ms <= now_ms - old_ms:
            for each in [*files, marker]:
                target.store.open().delete(each.name)


def _swap(target: ParquetTarget, version: int) -> None:
    merge = CommitLog(target.store).read(version)
    prefix = f"{MERGED}{version:020}/"

    def change(_: int, live: Mapping[str, int]) -> tuple[list[Move], dict[str, Any]] | None:
        moves = [
            Move(each.target, each.target.removeprefix(prefix), each.size)
            for each in merge.moves
            if each.target in live
        ]
        if not moves:
            return None  # A run that was killed behind its commit has done it.
        return moves, {REPLACED: [each.source for each in moves], REMOVED: merge.memory[REPLACED]}

    _commit(target, f"{SystemChance().bits(64):016x}", change)
    target.store.open().put(f"{prefix}{_SWAPPED}", [b"{}"])  # From now on its readers are counted out.


Change = Callable[[int, Mapping[str, int]], tuple[list[Move], dict[str, Any]] | None]


def _commit(target: ParquetTarget, run: str, change: Change) -> bool:
    """Take the next number for a change that moves no offset; False if there is nothing to change any more."""
    log = CommitLog(target.store)
    for _ in range(_TRIES):
        target.recover()
        newest = log.newest()
        assert newest is not None
        version = newest.version + 1
        wanted = change(version, live_files(log, newest))
        if wanted is None:
            return False
        moves, memory = wanted
        kept = {name: each for name, each in newest.memory.items() if name not in (LIVE, REPLACED, REMOVED)}
        memory = {**kept, "run": run, **memory}
        commit = LoggedCommit(version, tuple(moves), memory)
        if is_full(version):
            memory[LIVE] = live_after(log, newest, commit)
        try:
            target.publish(log, log.commit(version, moves, memory))
        except Overtaken:
            continue
        return True
    return False
