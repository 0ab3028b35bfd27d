"""An archive as an Iceberg table: executors write its files, the driver adds them and the next offsets in one commit.

The offsets are a property of the table, changed together with the snapshot; a catalog swaps one version of a table for
the next only if nobody was quicker. That is told by the snapshot, so a run without a single file makes one, too; and
pyiceberg must not try again by itself, because it would add the files behind those of the run that was quicker. Records
and dead letters are two tables, as in `archive_delta`.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from holdfast.catalog.store import Store
from holdfast.spark.jobs.archive.layout import check_columns
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
from holdfast.spark.jobs.commit_log import Overtaken

NAMESPACE = "holdfast"
_OFFSETS = "holdfast.offsets"
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
        return Placement(self.store, f"files/{run}/", with_topic=True, time_unit="us", compression=self.compression)

    def check(self, schemas: Mapping[str, Any]) -> None:
        """Names alone: Iceberg holds the types of new files against the table's by itself."""
        for table, schema in schemas.items():
            there = self._table(table)
            if there is not None:
                names = dict.fromkeys((each.name for each in there.schema().fields), "")
                check_columns(there.location(), names, dict.fromkeys(schema.names, ""))

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

    def _table(self, table: str) -> Any:
        from pyiceberg.exceptions import NoSuchTableError

        try:
            return self.open_catalog().load_table(f"{NAMESPACE}.{table}")
        except NoSuchTableError:
            return None

    def _offsets(self, table: str) -> Any:
        found = self._table(table)
        return {} if found is None else offsets_from_json(json.loads(found.properties.get(_OFFSETS, "{}")))

    def _commit(self, table: str, run: str, files: list[NewFile], known: Offsets, moved: Offsets, schema: Any) -> None:
        from pyiceberg.exceptions import CommitFailedException

        if not moved:
            return
        found = self._table(table) or self._create(table, schema)
        if found.properties.get(_RETRIES) != "0":  # Made by somebody else.
            found = found.transaction().set_properties({_RETRIES: "0"}).commit_transaction()
        there = offsets_from_json(json.loads(found.properties.get(_OFFSETS, "{}")))
        if there != dict(known):
            raise Overtaken(found.location(), len(found.history()))
        text = json.dumps(offsets_to_json({**there, **moved}))
        _ask_again(found.catalog, run)
        try:
            with found.transaction() as transaction:
                transaction.set_properties({_OFFSETS: text})
                said = {"holdfast.run": run, _OFFSETS: text}
                if files:
                    names = [self._uri(each.name) for each in files]
                    transaction.add_files(names, said, check_duplicate_files=False)
                else:
                    transaction.update_snapshot(said).fast_append().commit()
        except CommitFailedException as failure:
            newest = self._table(table)
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
        return self._table(table)

    def _uri(self, name: str) -> str:
        return f"{self.store.url.rstrip('/')}/{name}"


def _ask_again(catalog: Any, run: str) -> None:
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
