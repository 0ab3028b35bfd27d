"""An archive as an Iceberg table: executors write its files, the driver adds them and the next offsets in one commit.

The offsets are a property of the table, changed together with the snapshot; a catalog swaps one version of a table for
the next only if nobody was quicker. That is told by the snapshot, so a run without a single file makes one, too; and
pyiceberg must not try again by itself, because it would add the files behind those of the run that was quicker. Records
and dead letters are two tables, as in `archive_delta`.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from holdfast.catalog.store import Store
from holdfast.spark.jobs.archive.columns import new_columns
from holdfast.spark.jobs.archive.state import (
    DEAD_LETTERS,
    FILES,
    RECORDS,
    ArchiveProgress,
    NewFile,
    Offsets,
    Placement,
    offsets_from_json,
    offsets_to_json,
)
from holdfast.spark.jobs.commit_log import Overtaken

NAMESPACE = "holdfast"
OFFSETS = "holdfast.offsets"
_FIELD_ID = re.compile(r"-?\d+: ")  # In a nested type; a schema that is no table's yet has none.
_RETRIES = "commit.retry.num-retries"
_METRICS = "write.metadata.metrics."
_MEASURED = ("topic", "partition", "offset", "timestamp", "timestamp_type")  # Readers skip files by these alone.


@dataclass(frozen=True)
class IcebergTarget:
    """A warehouse, and the catalog that knows its tables."""

    store: Store
    catalog: dict[str, str] = field(default_factory=dict)  # Properties of the catalog, in pyiceberg's words.
    compression: str = "snappy"

    def recover(self) -> None:
        """Nothing: a commit is one swap."""

    def progress(self) -> ArchiveProgress:
        return ArchiveProgress(self._offsets(RECORDS), self._offsets(DEAD_LETTERS))

    def placement(self, run: str) -> Placement:
        return Placement(self.store, f"{FILES}{run}/", with_topic=True, time_unit="us", compression=self.compression)

    def row_count(self) -> int | None:
        there = self.open_table(RECORDS)
        newest = None if there is None else there.current_snapshot()
        return 0 if newest is None or newest.summary is None else int(newest.summary.get("total-records") or 0)

    def columns(self) -> Collection[str]:
        there = self.open_table(RECORDS)
        return [] if there is None else [each.name for each in there.schema().fields]

    def check(self, schemas: Mapping[str, Any]) -> None:
        for table, schema in schemas.items():
            there = self.open_table(table)
            if there is not None:
                _new_columns(there, schema)

    def commit(
        self, run: str, files: list[NewFile], before: ArchiveProgress, after: Offsets, schemas: dict[str, Any]
    ) -> None:
        known = {RECORDS: before.records, DEAD_LETTERS: before.dead_letters}
        for table in (DEAD_LETTERS, RECORDS):
            if table in schemas:
                new = [each for each in files if each.table == table]
                moved = {home: end for home, end in after.items() if end > known[table].get(home, -1)}
                self._commit(table, run, new, known[table], moved, schemas[table])

    def open_catalog(self) -> Any:
        from pyiceberg.catalog import load_catalog

        return load_catalog("holdfast", **self.catalog)

    def open_table(self, table: str) -> Any:
        from pyiceberg.exceptions import NoSuchTableError

        try:
            return self.open_catalog().load_table(f"{NAMESPACE}.{table}")
        except NoSuchTableError:
            return None

    def _offsets(self, table: str) -> Any:
        found = self.open_table(table)
        return {} if found is None else offsets_from_json(json.loads(found.properties.get(OFFSETS, "{}")))

    def _commit(self, table: str, run: str, files: list[NewFile], known: Offsets, moved: Offsets, schema: Any) -> None:
        from pyiceberg.exceptions import CommitFailedException

        if not moved:
            return
        found = self.open_table(table) or self._create(table, schema)
        if found.properties.get(_RETRIES) != "0":  # Made by somebody else.
            found = found.transaction().set_properties({_RETRIES: "0"}).commit_transaction()
        there = offsets_from_json(json.loads(found.properties.get(OFFSETS, "{}")))
        if there != dict(known):
            raise Overtaken(found.location(), len(found.history()))
        if _new_columns(found, schema):
            found = _take_up(found, schema)
        text = json.dumps(offsets_to_json({**there, **moved}))
        ask_again(found.catalog, run)
        try:
            with found.transaction() as transaction:
                transaction.set_properties({OFFSETS: text})
                said = {"holdfast.run": run, OFFSETS: text}
                if files:
                    names = [self.uri(each.name) for each in files]
                    transaction.add_files(names, said, check_duplicate_files=False)
                else:
                    transaction.update_snapshot(said).fast_append().commit()
        except CommitFailedException as failure:
            newest = self.open_table(table)
            raise Overtaken(newest.location(), len(newest.history())) from failure

    def _create(self, table: str, schema: Any) -> Any:
        """In one step with its partitions: a table without them must not be left by who is killed in between."""
        from pyiceberg.exceptions import CommitFailedException, TableAlreadyExistsError
        from pyiceberg.transforms import DayTransform, IdentityTransform

        catalog = self.open_catalog()
        catalog.create_namespace_if_not_exists(NAMESPACE)
        properties = {f"{_METRICS}default": "none"} | {f"{_METRICS}column.{name}": "full" for name in _MEASURED}
        properties[_RETRIES] = "0"
        with (
            contextlib.suppress(TableAlreadyExistsError, CommitFailedException),  # Another run made it.
            catalog.create_table_transaction(f"{NAMESPACE}.{table}", schema, properties=properties) as making,
            making.update_spec() as spec,
        ):
            spec.add_field("topic", IdentityTransform(), "topic")
            spec.add_field("timestamp", DayTransform(), "date")
        return self.open_table(table)

    def uri(self, name: str) -> str:
        return f"{self.store.url.rstrip('/')}/{name}"


def _new_columns(table: Any, schema: Any) -> list[str]:
    return new_columns(table.location(), _types(table.schema()), _types(_iceberg_schema(schema)))


def _take_up(table: Any, schema: Any) -> Any:
    """The table with all columns of a schema: by a commit of its own, since new files are held against the columns."""
    from pyiceberg.exceptions import CommitFailedException

    try:
        with table.update_schema() as change:
            change.union_by_name(schema)
    except CommitFailedException as failure:
        raise Overtaken(table.location(), len(table.history())) from failure
    return table.refresh()


def _iceberg_schema(schema: Any) -> Any:
    from pyiceberg.catalog import Catalog

    return Catalog._convert_schema_if_needed(schema)  # As create_table does.


def _types(schema: Any) -> dict[str, str]:
    return {each.name: _FIELD_ID.sub("", str(each.field_type)) for each in schema.fields}


def ask_again(catalog: Any, run: str) -> None:
    """Let a catalog that refuses a commit look whether it has it already, since an answer was lost on its way.

    Here and not later: what pyiceberg takes for a failed commit loses its manifests at once, and the table with it.
    """
    from pyiceberg.exceptions import CommitFailedException
    from pyiceberg.table import CommitTableResponse

    answer: Any = CommitTableResponse
    commit = catalog.commit_table

    def commit_table(table: Any, *change: Any) -> Any:
        try:
            return commit(table, *change)
        except CommitFailedException:
            newest = catalog.load_table(table.name())
            if not any(each.summary and each.summary.get("holdfast.run") == run for each in newest.snapshots()):
                raise
            return answer(metadata=newest.metadata, metadata_location=newest.metadata_location)

    catalog.commit_table = commit_table
