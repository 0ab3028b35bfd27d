"""Which files a Delta or an Iceberg archive has now: its own list says so, not its folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from holdfast.catalog.store import Store
from holdfast.errors import Rejected
from holdfast.spark.jobs.archive.iceberg import NAMESPACE
from holdfast.spark.jobs.archive.state import RECORDS

_FILE = "file://"


class NoArchive(Rejected):
    """Not an archive that can be replayed."""

    def __init__(self, url: str, why: str) -> None:
        super().__init__(f"{url} cannot be replayed: {why}")
        self.url = url
        self.why = why


def delta_files(store: Store, options: Mapping[str, str]) -> dict[str, list[str]]:
    """The files of each topic in a Delta table, below its folder. The options are in the words of `deltalake`."""
    from deltalake import DeltaTable

    table = DeltaTable(store.url, storage_options=dict(options) or None)
    if "deletionVectors" in (table.protocol().reader_features or ()):
        raise NoArchive(store.url, "somebody has switched deletion vectors on, so rows of its files may be gone")
    listed: Any = table.get_add_actions(flatten=True)
    return _by_topic(zip(*(listed.column(name).to_pylist() for name in ("partition.topic", "path")), strict=True))


def iceberg_files(store: Store, properties: Mapping[str, str]) -> dict[str, list[str]]:
    """The files of each topic in an Iceberg table, below the warehouse. The properties are those of its catalog."""
    from pyiceberg.catalog import load_catalog
    from pyiceberg.exceptions import NoSuchTableError
    from sqlalchemy.exc import DatabaseError

    _check_catalog(store, properties.get("uri", ""))
    try:
        # A SQL catalog makes its own tables where there are none, unless it is told not to.
        catalog = load_catalog("holdfast", **{**properties, "init_catalog_tables": "false"})
        table = catalog.load_table(f"{NAMESPACE}.{RECORDS}")
    except NoSuchTableError:
        raise NoArchive(store.url, f"its catalog has no {NAMESPACE}.{RECORDS}: say which with --catalog") from None
    except DatabaseError as failure:
        raise NoArchive(
            store.url, f"its catalog cannot be read ({failure.orig}): say which with --catalog"
        ) from failure
    place = [field.name for field in table.spec().fields].index("topic")
    found = []
    for each in table.scan().plan_files():
        if each.delete_files or each.file.spec_id != table.spec().spec_id:
            raise NoArchive(store.url, "somebody else has deleted rows of its table, or changed its partitions")
        found.append((each.file.partition[place], _below(store, each.file.file_path)))
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


def _by_topic(found: Any) -> dict[str, list[str]]:
    made: dict[str, list[str]] = {}
    for topic, name in found:
        made.setdefault(topic, []).append(name)
    return made
