"""Which files a Delta or an Iceberg archive has now: its own list says so, not its folder."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from holdfast.catalog.store import Store
from holdfast.errors import Rejected
from holdfast.spark.jobs.archive.iceberg import NAMESPACE
from holdfast.spark.jobs.archive.state import RECORDS

_FILE = "file://"

FilesByTopic: TypeAlias = Mapping[str, Mapping[str, int]]  # Names, with their sizes.


class NoArchive(Rejected):
    """Not an archive that can be read."""

    def __init__(self, url: str, why: str) -> None:
        super().__init__(f"{url} cannot be read as an archive: {why}")
        self.url = url
        self.why = why


def delta_files(store: Store, options: Mapping[str, str]) -> FilesByTopic:
    """The files of each topic in a Delta table, below its folder. The options are in the words of `deltalake`."""
    from deltalake import DeltaTable

    return delta_listed(store, DeltaTable(store.url, storage_options=dict(options) or None))


def delta_listed(store: Store, table: Any) -> FilesByTopic:
    """The same of a table that is open."""
    if "deletionVectors" in (table.protocol().reader_features or ()):
        raise NoArchive(store.url, "somebody has switched deletion vectors on, so rows of its files may be gone")
    listed: Any = table.get_add_actions(flatten=True)
    columns = (listed.column(name).to_pylist() for name in ("partition.topic", "path", "size_bytes"))
    return _by_topic(zip(*columns, strict=True))


def iceberg_files(store: Store, properties: Mapping[str, str]) -> FilesByTopic:
    """The files of each topic in an Iceberg table, below the warehouse. The properties are those of its catalog."""
    return iceberg_listed(store, iceberg_table(store, properties))


def iceberg_table(store: Store, properties: Mapping[str, str]) -> Any:
    """The table of records, as its catalog has it now."""
    from pyiceberg.catalog import load_catalog
    from pyiceberg.exceptions import NoSuchTableError
    from sqlalchemy.exc import DatabaseError

    _check_catalog(store, properties.get("uri", ""))
    try:
        # A SQL catalog makes its own tables where there are none, unless it is told not to.
        catalog = load_catalog("holdfast", **{**properties, "init_catalog_tables": "false"})
        return catalog.load_table(f"{NAMESPACE}.{RECORDS}")
    except NoSuchTableError:
        raise NoArchive(store.url, f"its catalog has no {NAMESPACE}.{RECORDS}: say which with --catalog") from None
    except DatabaseError as failure:
        raise NoArchive(
            store.url, f"its catalog cannot be read ({failure.orig}): say which with --catalog"
        ) from failure


def iceberg_listed(store: Store, table: Any) -> FilesByTopic:
    """The files of each topic in a table that is open."""
    place = [field.name for field in table.spec().fields].index("topic")
    found = []
    for each in table.scan().plan_files():
        if each.delete_files or each.file.spec_id != table.spec().spec_id:
            raise NoArchive(store.url, "somebody else has deleted rows of its table, or changed its partitions")
        name = _below(store, each.file.file_path)
        found.append((each.file.partition[place], name, each.file.file_size_in_bytes))
    return _by_topic(found)


def _check_catalog(store: Store, uri: str) -> None:
    """SQLite makes a file that is not there, and whoever looks next would find an empty catalog."""
    from sqlalchemy.engine import make_url

    if uri.startswith("sqlite"):
        file = make_url(uri).database or ""
        if not Path(file).is_file():
            raise NoArchive(store.url, f"its catalog {file} is not there: say with --catalog uri=… where it is")


def _below(store: Store, uri: str) -> str:
    root = store.url.removeprefix(_FILE).rstrip("/") + "/"
    path = uri.removeprefix(_FILE)
    if not path.startswith(root):
        raise NoArchive(store.url, f"its table has a file elsewhere: {uri}")
    return path.removeprefix(root)


def _by_topic(found: Iterable[tuple[str, str, int]]) -> FilesByTopic:
    made: dict[str, dict[str, int]] = {}
    for topic, name, size in found:
        made.setdefault(topic, {})[name] = size
    return made
