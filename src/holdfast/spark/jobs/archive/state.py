"""How far an archive is, and what a run adds to it: values that travel between driver, executors and targets."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol
from uuid import UUID

from holdfast.catalog.store import Store
from holdfast.types import PartitionId

RECORDS = "records"
DEAD_LETTERS = "dead_letters"
FILES = "files/"  # Where those of Delta and Iceberg tables are.

Offsets = Mapping[PartitionId, int]  # The next offset of each partition; one that is not in it was never archived.


class ArchiveProgress(NamedTuple):
    """The next offsets of both tables. They differ only after a run was killed between their two commits."""

    records: Offsets
    dead_letters: Offsets


@dataclass(frozen=True)
class Placement:
    """Where and how executors write files."""

    store: Store
    prefix: str  # Of every file's name, with the run's tag in it.
    with_topic: bool = False  # Whether the topic is also a column inside the files.
    time_unit: str = "ms"
    compression: str = "snappy"
    dead_letter_folder: str = ""  # Where the dead letters' files go, below which they have the same names.

    def name(self, table: str, leaf: str) -> str:
        return f"{self.dead_letter_folder if table == DEAD_LETTERS else ''}{self.prefix}{leaf}"


@dataclass(frozen=True)
class NewFile:
    """One Parquet file that an executor has written."""

    table: str
    name: str  # In the target's store.
    topic: str
    date: str
    rows: int
    size: int
    bounds: Mapping[str, tuple[int, int]] = field(default_factory=dict)  # Least and greatest, by column; times in ms.

    @property
    def leaf(self) -> str:
        return self.name.rpartition("/")[2]

    @property
    def folder(self) -> str:
        """The folder of its rows below the table's own, as readers of partitioned data expect it."""
        return f"topic={self.topic}/date={self.date}/"


class ArchiveTarget(Protocol):
    """A table that is added to, exactly once, by whoever commits first."""

    def recover(self) -> None:
        """Finish what a killed run has committed and not published."""

    def progress(self) -> ArchiveProgress:
        """How far the archive is."""

    def placement(self, run: str) -> Placement:
        """Where the files of a run go: nobody sees them before the commit."""

    def row_count(self) -> int | None:
        """How many rows the table of records has; None where it does not say."""

    def columns(self) -> Collection[str]:
        """The names of the columns that the table of records has; none where there is no table."""

    def check(self, schemas: Mapping[str, Any]) -> None:
        """Raise where a table is there and cannot take up these columns."""

    def commit(
        self, run: str, files: list[NewFile], before: ArchiveProgress, after: Offsets, schemas: dict[str, Any]
    ) -> None:
        """Make the files visible and move the offsets, together, or raise and do neither. New columns come first: a
        table that has them, and no file that does, is as it was."""


def offsets_to_json(offsets: Offsets) -> dict[str, int]:
    return {f"{home.topic_id.hex}/{home.partition}": offset for home, offset in sorted(offsets.items())}


def offsets_from_json(found: Mapping[str, int]) -> dict[PartitionId, int]:
    made = {}
    for name, offset in found.items():
        topic_id, _, partition = name.partition("/")
        made[PartitionId(UUID(hex=topic_id), int(partition))] = offset
    return made
