"""An archive as plain Parquet files in folders by topic and date, with a commit log beside them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from holdfast.catalog.store import Store, typed
from holdfast.io.clock import SystemClock
from holdfast.io.objects.open import open_objects
from holdfast.spark.jobs.archive.columns import columns_of, new_columns
from holdfast.spark.jobs.archive.errors import OtherLayout
from holdfast.spark.jobs.archive.live import LIVE, is_full, live_after
from holdfast.spark.jobs.archive.state import (
    DEAD_LETTERS,
    RECORDS,
    ArchiveProgress,
    NewFile,
    Offsets,
    Placement,
    offsets_from_json,
    offsets_to_json,
)
from holdfast.spark.jobs.commit_log import REMOVED, STAGING, CommitLog, LoggedCommit, Move, clear_staging, publish
from holdfast.spark.jobs.run import OnDone, Unit, run_units

DEAD_LETTER_FOLDER = "_dead_letters/"  # Not seen by who reads the whole directory, but readable by its own name.
SCHEMA_FILE = "_common_metadata"  # As readers of Parquet call it: the newest columns.


@dataclass(frozen=True)
class ParquetTarget:
    """A directory or a bucket."""

    session: Any
    store: Store
    compression: str = "snappy"
    on_done: OnDone | None = None

    def recover(self) -> None:
        log = CommitLog(self.store)
        newest = log.newest()
        if newest is not None:
            self.publish(log, newest)
        clear_staging(self.store, SystemClock().now_ms())

    def progress(self) -> ArchiveProgress:
        newest = CommitLog(self.store).newest()
        if newest and "offsets" not in newest.memory:
            raise OtherLayout(self.store.url, "holds a merge, and no archive")
        offsets = offsets_from_json(newest.memory["offsets"]) if newest else {}
        return ArchiveProgress(offsets, offsets)

    def row_count(self) -> int | None:
        newest = CommitLog(self.store).newest()
        return newest.memory.get("rows") if newest else 0

    def columns(self) -> Collection[str]:
        return self._columns()

    def check(self, schemas: Mapping[str, Any]) -> None:
        new_columns(self.store.url, self._columns(), columns_of(schemas[RECORDS]))

    def placement(self, run: str) -> Placement:
        return Placement(self.store, f"{STAGING}{run}/", compression=self.compression)

    def commit(
        self, run: str, files: list[NewFile], before: ArchiveProgress, after: Offsets, schemas: dict[str, Any]
    ) -> None:
        log = CommitLog(self.store)
        newest = log.newest()
        known = offsets_from_json(newest.memory["offsets"]) if newest else {}
        version = newest.version + 1 if newest else 0
        if known != dict(before.records):
            version -= 1  # Somebody has moved the offsets since: that number is theirs.
        elif newest is not None:
            self.publish(log, newest)  # Its run may have been killed after `recover`: nobody looks behind the newest.
        moves = [Move(each.name, _final_name(run, each), each.size) for each in files]
        if newest is None or newest.memory.get("columns") != columns_of(schemas[RECORDS]):
            self.store.open().put(SCHEMA_FILE, [_footer(schemas[RECORDS])])
        offsets = offsets_to_json({**known, **after})
        memory: dict[str, Any] = {"run": run, "offsets": offsets, "columns": columns_of(schemas[RECORDS])}
        rows = newest.memory.get("rows") if newest else 0
        if rows is not None:  # Earlier releases did not count.
            memory["rows"] = rows + sum(each.rows for each in files if each.table == RECORDS)
        if is_full(version):
            memory[LIVE] = live_after(log, newest, LoggedCommit(version, tuple(moves), memory))
        self.publish(log, log.commit(version, moves, memory))

    def _columns(self) -> dict[str, str]:
        newest = CommitLog(self.store).newest()
        return dict(newest.memory.get("columns", {})) if newest else {}

    def publish(self, log: CommitLog, commit: LoggedCommit) -> None:
        """By executors: in an object store every file is copied. May be done again, by anybody, at any time."""
        store, removed = self.store, commit.memory.get(REMOVED, ())
        left = log.unpublished(commit)
        for name in removed:  # First, so that who lists the directory sees no row twice.
            store.open().delete(name)
        units = [Unit((store, each, REMOVED in commit.memory), 0, each.size) for each in left]
        run_units(self.session, units, _publish_one)
        if REMOVED not in commit.memory:
            for each in commit.moves:
                store.open().delete(each.source)


def _footer(schema: Any) -> bytes:
    """A Parquet file without rows: Spark takes the columns of a directory from it, and not from any file."""
    out = pa.BufferOutputStream()
    pq.write_metadata(schema, out)
    return bytes(out.getvalue())


def _publish_one(todo: tuple[Store, Move, bool]) -> None:
    store, move, keeps_source = todo
    publish(store, move, keeps_source=keeps_source)


def _final_name(run: str, file: NewFile) -> str:
    table = DEAD_LETTER_FOLDER if file.table == DEAD_LETTERS else ""
    return f"{table}{file.folder}{run}-{file.leaf}"


def parquet_store(target: str, options: Mapping[str, str] | None = None) -> Store:
    """The store of a target; a directory is made when it is not there."""
    given = typed(options or {})
    return Store(open_objects(target, dict(given) or None).url, given)
