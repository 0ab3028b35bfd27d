"""Small files of a table merged, and old ones let go: of Delta by its own library, else by ours.

A commit that merges files changes no row, and no offset that the archive has reached; what it replaces stays for who is
reading. Of Iceberg both are commits of its own library (`archive.iceberg_merged`), of a Parquet archive of its own
(`archive.merged`).
"""

from __future__ import annotations

import contextlib
from typing import Any, NamedTuple

from holdfast.cluster.topic_table import TopicTable
from holdfast.io.clock import Clock, SystemClock
from holdfast.spark.jobs.archive import iceberg_merged
from holdfast.spark.jobs.archive.delta import DeltaTarget
from holdfast.spark.jobs.archive.iceberg import IcebergTarget
from holdfast.spark.jobs.archive.merged import let_go, merge_small
from holdfast.spark.jobs.archive.parquet import ParquetTarget
from holdfast.spark.jobs.archive.state import DEAD_LETTERS, RECORDS, ArchiveTarget

EXPIRE_S = 6 * 3600.0  # Between two looks for what is old: they list the whole table.


class UpkeepSettings(NamedTuple):
    """How tables are looked after."""

    every_s: float = 600.0  # 0: never.
    old_s: float = 7 * 86400.0  # How long what was replaced stays for who is reading.
    file_size: int = 128 << 20  # Of a merged file, in bytes.


class Upkeep:
    """For all tables of one process."""

    def __init__(self, settings: UpkeepSettings, clock: Clock | None = None) -> None:
        self._settings = settings
        self._clock = clock or SystemClock()
        self._expired_s: dict[str, float] = {}

    def __call__(self, wanted: TopicTable, target: ArchiveTarget) -> None:
        """Look after one table. Whoever else has changed it meanwhile is left in peace until the next time."""
        now_s = self._clock.monotonic()
        last_s = self._expired_s.get(wanted.location)
        expires = last_s is None or now_s >= last_s + EXPIRE_S
        for table in (RECORDS, DEAD_LETTERS):
            if isinstance(target, DeltaTarget):
                self._delta(target.open_table(table), expires=expires)
            elif isinstance(target, IcebergTarget):
                iceberg_merged.merge_small(target, table, self._settings.file_size, self._clock.now_ms())
        if isinstance(target, IcebergTarget) and expires:
            iceberg_merged.let_go(target, int(self._settings.old_s * 1000), self._clock.now_ms())
        if isinstance(target, ParquetTarget):
            self._parquet(target, expires=expires)
        if expires:
            self._expired_s[wanted.location] = now_s

    def _parquet(self, target: ParquetTarget, *, expires: bool) -> None:
        now_ms = self._clock.now_ms()
        merge_small(target, self._settings.file_size, now_ms)
        if expires:
            let_go(target, int(self._settings.old_s * 1000), now_ms)

    def _delta(self, table: Any, *, expires: bool) -> None:
        from deltalake.exceptions import CommitFailedError

        if table is None:
            return
        with contextlib.suppress(CommitFailedError):
            table.optimize.compact(target_size=self._settings.file_size)
        if expires:
            hours = int(self._settings.old_s // 3600)
            table.vacuum(hours, dry_run=False, enforce_retention_duration=False, full=True)
            table.create_checkpoint()
            table.cleanup_metadata()
