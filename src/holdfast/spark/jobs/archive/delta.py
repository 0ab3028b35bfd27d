"""An archive as a Delta table: executors write its files, the driver commits them with the next offsets.

The offsets are Delta's own application transactions: one id for each partition, whose version is the next offset. Delta
refuses a commit that moves an id which another commit has moved meanwhile, so of two runs one wins. Records and dead
letters are two tables with offsets of their own; the dead letters go first, and a run that is killed between the two
leaves rows out of the second that are in it already.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from holdfast.catalog.store import Store
from holdfast.io.clock import SystemClock
from holdfast.io.objects import Exists
from holdfast.spark.jobs.archive.columns import new_columns
from holdfast.spark.jobs.archive.state import DEAD_LETTERS, FILES, RECORDS, ArchiveProgress, NewFile, Offsets, Placement
from holdfast.spark.jobs.commit_log import Overtaken

_PARTITION_BY = ["topic", "date"]
_PRIMITIVE = re.compile(r'PrimitiveType\("([^"]*)"\)')
_FOLDERS = {RECORDS: "", DEAD_LETTERS: "_dead_letters/"}


@dataclass(frozen=True)
class DeltaTarget:
    """A directory or a bucket with one Delta table, and that of its dead letters inside."""

    store: Store
    homes: tuple[Any, ...]  # The partitions whose offsets are asked for.
    compression: str = "snappy"
    delta_options: dict[str, str] = field(default_factory=dict)  # In the words of `deltalake`.

    def recover(self) -> None:
        """Nothing: a commit is one file."""

    def progress(self) -> ArchiveProgress:
        return ArchiveProgress(self._offsets(RECORDS), self._offsets(DEAD_LETTERS))

    def placement(self, run: str) -> Placement:
        inside = _FOLDERS[DEAD_LETTERS]  # A Delta table knows its files by names below its own folder.
        return Placement(self.store, f"{FILES}{run}/", False, "us", self.compression, inside)  # noqa: FBT003

    def row_count(self) -> int | None:
        there = self.open_table(RECORDS)
        if there is None:
            return 0
        counts = there.get_add_actions(flatten=True).column("num_records").to_pylist()
        return None if None in counts else sum(counts)

    def columns(self) -> Collection[str]:
        there = self.open_table(RECORDS)
        return [] if there is None else [each.name for each in there.schema().fields]

    def check(self, schemas: Mapping[str, Any]) -> None:
        for table, schema in schemas.items():
            there = self.open_table(table)
            if there is not None:
                self._new_columns(table, there, _delta_schema(_with_place(schema)))

    def commit(
        self, run: str, files: list[NewFile], before: ArchiveProgress, after: Offsets, schemas: dict[str, Any]
    ) -> None:
        known = {RECORDS: before.records, DEAD_LETTERS: before.dead_letters}
        for table in (DEAD_LETTERS, RECORDS):
            if table in schemas:
                new = [each for each in files if each.table == table]
                moved = {home: end for home, end in after.items() if end > known[table].get(home, -1)}
                self._commit(table, run, new, known[table], moved, schemas[table])

    def _new_columns(self, table: str, there: Any, wanted: Any) -> list[str]:
        return new_columns(self._url(table), _types(there.schema()), _types(wanted))

    def _take_up(self, table: str, there: Any, wanted: Any) -> Any:
        """The table with all columns that are wanted, by a commit of its own if it lacks any.

        Written here: `deltalake` has no call that widens a column. Readers widen what old files hold.
        """
        if not self._new_columns(table, there, wanted):
            return there
        version = there.version() + 1
        try:
            name = f"{_FOLDERS[table]}_delta_log/{version:020}.json"
            self.store.open().put_if_absent(name, [_metadata_commit(there, wanted)])
        except Exists:
            raise Overtaken(self._url(table), version) from None
        return self.open_table(table)

    def _url(self, table: str) -> str:
        return f"{self.store.url.rstrip('/')}/{_FOLDERS[table]}".rstrip("/")

    def open_table(self, table: str) -> Any:
        from deltalake import DeltaTable
        from deltalake.exceptions import TableNotFoundError

        try:
            return DeltaTable(self._url(table), storage_options=self.delta_options or None)
        except TableNotFoundError:
            return None

    def _offsets(self, table: str) -> dict[Any, int]:
        found = self.open_table(table)
        return {} if found is None else self.offsets_of(found)

    def offsets_of(self, found: Any) -> dict[Any, int]:
        """The next offsets as of one version of a table."""
        versions = {home: found.transaction_version(_app_id(home)) for home in self.homes}
        return {home: version for home, version in versions.items() if version is not None}

    def _commit(self, table: str, run: str, files: list[NewFile], known: Offsets, moved: Offsets, schema: Any) -> None:
        from deltalake.exceptions import DeltaError
        from deltalake.transaction import AddAction, CommitProperties, Transaction, create_table_with_add_actions

        if not moved:
            return
        now_ms = SystemClock().now_ms()
        moves = [Transaction(_app_id(home), end, now_ms) for home, end in sorted(moved.items())]
        properties = CommitProperties(custom_metadata={"holdfast.run": run}, app_transactions=moves)
        adds = [
            AddAction(
                path=each.name.removeprefix(_FOLDERS[table]),
                size=each.size,
                partition_values={"topic": each.topic, "date": each.date},
                modification_time=now_ms,
                data_change=True,
                stats=_stats(each),
            )
            for each in files
        ]
        columns = _with_place(schema)
        there = self.open_table(table)
        if there is not None and self._offsets(table) != dict(known):
            raise Overtaken(self._url(table), there.version())
        if there is not None:
            there = self._take_up(table, there, _delta_schema(columns))
        try:
            if there is None:
                create_table_with_add_actions(
                    self._url(table),
                    _delta_schema(columns),
                    adds,
                    partition_by=_PARTITION_BY,
                    storage_options=self.delta_options or None,
                    commit_properties=properties,
                )
            else:
                there.create_write_transaction(
                    adds, "append", columns, partition_by=_PARTITION_BY, commit_properties=properties
                )
        except DeltaError as failure:
            newest = self.open_table(table)
            if newest is None or (there is not None and newest.version() == there.version()):
                raise  # Nobody was quicker: it is something else.
            raise Overtaken(self._url(table), newest.version()) from failure


def _with_place(schema: Any) -> Any:
    """The columns of a table: its files lack those that are its partitions."""
    import pyarrow as pa

    fields: Any = [("topic", pa.string()), ("date", pa.date32()), *schema]
    return pa.schema(fields)


def _types(schema: Any) -> dict[str, str]:
    return {field.name: _PRIMITIVE.sub(r"\1", str(field.type)) for field in schema.fields}


def _metadata_commit(table: Any, wanted: Any) -> bytes:
    """A Delta commit that changes nothing but the columns; those that are there keep their places."""
    from deltalake import Schema

    told = table.metadata()
    by_name = {each.name: each for each in wanted.fields}
    names = dict.fromkeys([*(each.name for each in table.schema().fields), *by_name])
    metadata = {
        "id": str(told.id),
        "name": told.name,
        "description": told.description,
        "format": {"provider": "parquet", "options": {}},
        "schemaString": Schema([by_name[name] for name in names]).to_json(),
        "partitionColumns": told.partition_columns,
        "configuration": told.configuration,
        "createdTime": told.created_time,
    }
    said = {"timestamp": SystemClock().now_ms(), "operation": "CHANGE COLUMNS", "operationParameters": {}}
    return b"".join(json.dumps(each).encode() + b"\n" for each in ({"commitInfo": said}, {"metaData": metadata}))


def _delta_schema(columns: Any) -> Any:
    from deltalake import Schema

    return Schema.from_arrow(columns)


def _app_id(home: Any) -> str:
    return f"holdfast/{home.topic_id.hex}/{home.partition}"


def _stats(file: NewFile) -> str:
    """What readers skip files by."""
    low = {name: bounds[0] for name, bounds in file.bounds.items() if name != "timestamp"}
    high = {name: bounds[1] for name, bounds in file.bounds.items() if name != "timestamp"}
    return json.dumps({"numRecords": file.rows, "minValues": low, "maxValues": high, "nullCount": {}})
