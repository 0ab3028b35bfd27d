"""What a table looks like: its columns, how values become some of them, and where what is archived lies."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from holdfast.catalog.catalog import Catalog
from holdfast.catalog.rows import TYPES
from holdfast.cluster.topic_table import TopicTable, table_of
from holdfast.errors import Rejected, nearest
from holdfast.spark.jobs.archive.columns import WIDER
from holdfast.spark.jobs.archive.kept_decodings import kept_decoding
from holdfast.spark.jobs.archive.schema import parse_schema, read_schema
from holdfast.spark.jobs.archive.values import VALUE, ValueDecoding
from holdfast.spark.jobs.tables.wanted import decoding_of
from holdfast.spark.places.archived import Archive, ArchivedState, find_archive
from holdfast.spark.places.options import ARCHIVE, AUTO, TableOptions

IN_ARCHIVE = {"timestampType": "timestamp_type"}  # What has another name there.
_OURS = {"timestamp_type": "timestampType"}


@dataclass(frozen=True)
class TableShape:
    """The columns of a table by name, as Arrow types, in their order."""

    columns: dict[str, Any]
    decoding: ValueDecoding | None = None

    @property
    def known(self) -> dict[str, Any]:
        """With the value as it came, which whoever names it has: where the archive has lost it, from the log."""
        return {VALUE: TYPES[VALUE]} | self.columns

    def types(self, names: Iterable[str]) -> dict[str, Any]:
        """The types of these columns. Raises for one that the table has not."""
        known = self.known
        for name in names:
            if name not in known:
                raise Rejected(f"there is no column {name}{nearest(name, known)}; there are {', '.join(known)}")
        return {name: known[name] for name in names}

    def decoding_of(self, names: Iterable[str]) -> ValueDecoding | None:
        """How values are decoded by who wants these columns."""
        if self.decoding is None or VALUE not in names or VALUE in {each.name for each in self.decoding.fields()}:
            return self.decoding
        return replace(self.decoding, keep_value=True)


def archive_of(options: TableOptions, catalog: Catalog) -> Archive | None:
    """The archive that was named, or that the topics' configs name; None where none does."""
    if options.archive is None:
        return None
    if options.archive != AUTO:
        return find_archive(options.archive, options.store, options.catalog, must_be=True)
    places = {each.location for each in _tables(catalog)}
    if len(places) > 1:
        raise Rejected(
            f"the topics {', '.join(catalog.topics)} are tables at {len(places)} places: read them one by one"
        )
    if not places:
        return None
    return find_archive(places.pop(), options.store, options.catalog, must_be=False)


def decoding_for(options: TableOptions, catalog: Catalog, archive: Archive | None) -> ValueDecoding | None:
    """How values become columns: as the options say, the topics' configs, or the archive itself."""
    if options.decode is not None and options.schema is not None:
        text = options.schema
        schema = parse_schema("decodeSchema", text) if text.lstrip().startswith("{") else read_schema(Path(text))
        names = tuple((name, column) for name, column in json.loads(options.names or "[]"))
        return ValueDecoding(options.decode, json.dumps(schema), names, options.keep_value, options.registry)  # type: ignore[arg-type]
    if archive is None:
        return None
    if options.archive == AUTO:
        found = [decoding_of(each, options.registry) for each in _tables(catalog)]
    else:
        found = [kept_decoding(archive.store, topic) for topic in catalog.topics]
    if any(each != found[0] for each in found):
        raise Rejected(f"the topics {', '.join(catalog.topics)} are decoded in different ways: read them one by one")
    return found[0] if found else None


def shape_of(decoding: ValueDecoding | None, state: ArchivedState, *, include_headers: bool) -> TableShape:
    """The columns: those of the archive, and those that newer values have beside them."""
    there = {} if state.schema is None else {_OURS.get(each.name, each.name): each.type for each in state.schema}
    if decoding is not None and decoding.has_aliases:
        decoding = decoding.under(there)
    names = [name for name in TYPES if include_headers or name != "headers"]
    decoded = {each.name: each.type for each in decoding.fields()} if decoding is not None else {}
    if decoding is not None and not (decoding.keep_value and (VALUE in there or not there)):
        names.remove(VALUE)
    if decoding is None:
        unknown = [name for name in there if name not in TYPES]
        if unknown or (there and VALUE not in there):
            raise Rejected(
                f"the values of the archive are columns ({', '.join(unknown) or 'none'}), and nothing says how newer "
                "ones become such: give decode and decodeSchema, as archive was given --value-format and --value-schema"
            )
    columns = {name: TYPES[name] for name in names}
    columns |= {name: kind for name, kind in there.items() if name not in columns and name != "headers"}
    for name, kind in decoded.items():
        columns[name] = wider(columns[name], kind) if name in columns else kind
    return TableShape(columns, decoding)


def wider(there: Any, new: Any) -> Any:
    """The type that holds the values of both."""
    return new if (str(there), str(new)) in WIDER else there


def missing_in(state: ArchivedState, names: Sequence[str], decoding: ValueDecoding | None) -> list[str]:
    """The columns of these that an archive has lost: only the log has them. A column that is newer than its rows is
    null in them, and nothing is lost."""
    if state.schema is None:
        return []
    there = set(state.schema.names)
    newer = {each.name for each in decoding.fields()} if decoding is not None else set()
    return [name for name in names if name != "topic" and IN_ARCHIVE.get(name, name) not in there and name not in newer]


def _tables(catalog: Catalog) -> list[TopicTable]:
    found = [table_of(name, topic.configs) for name, topic in sorted(catalog.topics.items())]
    lacking = [name for name, each in zip(sorted(catalog.topics), found, strict=True) if each is None]
    if lacking and len(lacking) < len(found):
        raise Rejected(
            f"{', '.join(lacking)} is no table, by its configs: name its place by {ARCHIVE}, or read it alone"
        )
    return [each for each in found if each is not None]
