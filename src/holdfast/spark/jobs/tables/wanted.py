"""Which topics are tables, as the cluster's metadata say: one small read tells that nothing has changed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from holdfast.catalog.store import Store, cluster_of
from holdfast.client.registry import Registry
from holdfast.cluster.metadata_log import MetadataLog
from holdfast.cluster.topic_table import SUBJECT, TopicTable, table_of
from holdfast.errors import Rejected
from holdfast.io.versions import VersionRetries
from holdfast.spark.jobs.archive.schema import parse_schema, read_schema
from holdfast.spark.jobs.archive.values import ValueDecoding


class WantedTables:
    """The tables that a cluster's topics are to be."""

    def __init__(self, store: Store) -> None:
        patience = VersionRetries.of_readers()
        self._metadata = MetadataLog(store.open(), cluster_of(store), "", patience)

    def look(self) -> dict[str, TopicTable]:
        """By topic."""
        topics = self._metadata.refresh().topics
        found = {name: table_of(name, topic.configs) for name, topic in topics.items()}
        return {name: each for name, each in found.items() if each is not None}


def _schema(table: TopicTable, text: str, registry: str) -> dict[str, Any]:
    """The Avro schema of the columns: as it stands, in a file, or the newest of a subject of the registry."""
    if text.startswith(SUBJECT):
        subject = text.removeprefix(SUBJECT)
        return parse_schema(f"{table.topic}: {text}", Registry(registry, setting="--registry").newest_avro(subject))
    if text.lstrip().startswith("{"):
        return parse_schema(table.topic, text)
    return read_schema(Path(text))


def check_below(table: TopicTable, places: Sequence[str]) -> None:
    """Raise unless the table, and its schema where that is a file, lie in one of these places; without any they may lie
    anywhere."""
    schema = table.value_schema or ""
    is_file = bool(schema) and not schema.lstrip().startswith("{") and not schema.startswith(SUBJECT)
    for each in [table.location, *([schema] if is_file else [])]:
        if places and not any(f"{each}/".startswith(f"{place.rstrip('/')}/") for place in places):
            raise Rejected(f"{table.topic}: {each} is not below {' or '.join(places)}, as --under wants it")


def decoding_of(table: TopicTable, registry: str = "") -> ValueDecoding | None:
    """How the values of a table are decoded."""
    if table.value_format is None or table.value_schema is None:
        return None
    kind = table.value_format
    if kind == "registry" and not registry:
        raise Rejected(f"{table.topic}: its values have schemas of a registry: say with --registry where that is")
    schema = _schema(table, table.value_schema, registry)
    return ValueDecoding(kind, json.dumps(schema), keep_value=table.keep_value, registry=registry)  # type: ignore[arg-type]
