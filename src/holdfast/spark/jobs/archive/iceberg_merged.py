"""Small files of an Iceberg table as few large ones, and what nobody can be reading any more let go.

A merge is one snapshot that replaces files by files with the same rows; readers of a table as it was go on with the old
ones. A snapshot expires when another one has stood in its place for so long, and not when it is so old itself: a table
that nobody wrote to for weeks has readers of its last snapshot, too. Files that no snapshot names go when they are as
old: replaced ones, and those that killed runs have left.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from datetime import date, timedelta
from itertools import pairwise
from typing import Any, NamedTuple

from holdfast.io.chance import SystemChance
from holdfast.spark.jobs.archive.iceberg import OFFSETS, IcebergTarget, ask_again
from holdfast.spark.jobs.archive.merged import Merging, SmallFile, grouped, merge_files
from holdfast.spark.jobs.archive.parquet_file import open_file
from holdfast.spark.jobs.archive.state import DEAD_LETTERS, FILES, RECORDS

_EPOCH = date(1970, 1, 1)


class _Merged(NamedTuple):
    old: list[Any]  # Data files, in pyiceberg's words.
    new: str  # Its name in the store.


def merge_small(target: IcebergTarget, table: str, file_size: int, now_ms: int) -> int:
    """Merge what is small, in one commit; how many files were: none if somebody else was quicker."""
    from pyiceberg.exceptions import CommitFailedException, ValidationException
    from pyiceberg.io.pyarrow import parquet_files_to_data_files

    found = target.open_table(table)
    if found is None or found.current_snapshot() is None:
        return 0
    run = f"{SystemChance().bits(64):016x}"
    merged = list(_merged(target, found, run, file_size, now_ms))
    if not merged:
        return 0
    ask_again(found.catalog, run)
    try:
        with found.transaction() as transaction:
            said = {"holdfast.run": run, OFFSETS: found.properties.get(OFFSETS, "{}")}
            new = parquet_files_to_data_files(
                found.io, transaction.table_metadata, iter([target.uri(each.new) for each in merged])
            )
            with _replacing(transaction, found.io, said) as change:
                for each, file in zip(merged, new, strict=True):
                    change.append_data_file(file)
                    for old in each.old:
                        change.delete_data_file(old)
    except (CommitFailedException, ValidationException):  # The next time; what was written goes when it is old.
        return 0
    return sum(len(each.old) for each in merged)


def _merged(target: IcebergTarget, table: Any, run: str, file_size: int, now_ms: int) -> Iterator[_Merged]:
    """Write the merged files; none of them is part of the table yet."""
    if [each.name for each in table.spec().fields] != ["topic", "date"]:  # Somebody else has other plans with it.
        return
    prefix, columns = target.uri(FILES), {each.name for each in table.schema().fields}
    known: dict[str, Any] = {}
    small = []
    for planned in table.scan().plan_files():
        file = planned.file
        is_ours = file.file_path.startswith(prefix) and file.spec_id == table.spec().spec_id
        if is_ours and not planned.delete_files:
            name = FILES + file.file_path.removeprefix(prefix)
            topic, day = file.partition[0], str(_EPOCH + timedelta(days=file.partition[1]))
            known[name] = file
            small.append(SmallFile(f"{topic}/{day}", day, name, file.file_size_in_bytes))
    objects = target.store.open()
    for number, group in enumerate(grouped(sorted(small, key=lambda each: each.name), file_size, now_ms)):
        # A column that was renamed has its old name in old files: only names tell which is which.
        if all(columns.issuperset(open_file(objects, name).schema_arrow.names) for name in group.files):
            new = f"{FILES}{run}/merged-{number:06}.parquet"
            merge_files(Merging(target.store, tuple(group.files), new, target.compression))
            yield _Merged([known[name] for name in group.files], new)


def _replacing(transaction: Any, io: Any, said: dict[str, str]) -> Any:
    """A snapshot that changes no row, and says so: who streams from the table steps over it."""
    from pyiceberg.table.snapshots import Operation, Summary
    from pyiceberg.table.update.snapshot import _OverwriteFiles

    class ReplaceFiles(_OverwriteFiles):
        def _summary(self, snapshot_properties: dict[str, str] | None = None) -> Summary:
            made = super()._summary(snapshot_properties or {})
            return Summary(Operation.REPLACE, **made.additional_properties)

    return ReplaceFiles(Operation.OVERWRITE, transaction, io, snapshot_properties=said)


def let_go(target: IcebergTarget, old_ms: int, now_ms: int) -> None:
    """Expire snapshots that were replaced so long ago, then delete files as old that no snapshot names."""
    before_ms = now_ms - old_ms
    for table in (RECORDS, DEAD_LETTERS):
        _expire(target.open_table(table), before_ms)
    named = {path for table in (RECORDS, DEAD_LETTERS) for path in _named(target.open_table(table))}
    objects = target.store.open()
    for each in list(objects.list(FILES)):
        if each.modified_ms <= before_ms and target.uri(each.name) not in named:
            objects.delete(each.name)


def _expire(table: Any, before_ms: int) -> None:
    from pyiceberg.exceptions import CommitFailedException

    if table is None:
        return
    line = sorted(table.snapshots(), key=lambda each: (each.sequence_number or 0, each.timestamp_ms))
    kept = {each.snapshot_id for each in table.metadata.refs.values()}
    old = [
        each.snapshot_id
        for each, then in pairwise(line)
        if then.timestamp_ms <= before_ms and each.snapshot_id not in kept
    ]
    if old:
        with contextlib.suppress(CommitFailedException):
            table.maintenance.expire_snapshots().by_ids(old).commit()


def _named(table: Any) -> list[str]:
    return [] if table is None else table.inspect.all_data_files()["file_path"].to_pylist()
