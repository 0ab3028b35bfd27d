"""A topic that is a table: what its configs `holdfast.table.…` say, for who takes them and for who keeps the table."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

PREFIX: Final = "holdfast.table."
FORMAT: Final = PREFIX + "format"
LOCATION: Final = PREFIX + "location"
VALUE_FORMAT: Final = PREFIX + "value.format"
VALUE_SCHEMA: Final = PREFIX + "value.schema"
FRESHNESS_MS: Final = PREFIX + "freshness.ms"
KEEP_VALUE: Final = PREFIX + "keep.value"

SUBJECT: Final = "subject:"
FORMATS: Final = frozenset({"iceberg", "delta", "parquet"})
VALUE_FORMATS: Final = frozenset({"json", "avro", "avro-registry", "registry"})
DEFAULT_FRESHNESS_MS: Final = 60_000
FRESHNESS_MS_MIN: Final = 200


@dataclass(frozen=True)
class TopicTable:
    """The table that a topic is to be."""

    topic: str
    format: str
    location: str
    value_format: str | None = None
    value_schema: str | None = None  # The JSON of an Avro schema, the path of a file with it, or subject:NAME.
    freshness_ms: int = DEFAULT_FRESHNESS_MS
    keep_value: bool = False


def table_of(topic: str, configs: Mapping[str, str]) -> TopicTable | None:
    """What a topic's configs say; None: it is no table."""
    if not configs.get(FORMAT):
        return None
    return TopicTable(
        topic,
        configs[FORMAT],
        configs.get(LOCATION, ""),
        configs.get(VALUE_FORMAT) or None,
        configs.get(VALUE_SCHEMA) or None,
        int(configs.get(FRESHNESS_MS) or DEFAULT_FRESHNESS_MS),
        configs.get(KEEP_VALUE) == "true",
    )


def check_place(text: str) -> None:
    """Raise ValueError unless it means the same place wherever the tables are kept."""
    scheme, separator, rest = text.partition("://")
    is_url = bool(separator and scheme.isalnum() and rest)
    if not (is_url or text.startswith("/")) or ".." in text.split("/"):
        raise ValueError("a path from / on, or an address such as s3://bucket/prefix, without ..")


def check_schema(text: str) -> None:
    """Raise ValueError unless it is the Avro schema of a record, a file that is one, or a subject of a registry."""
    if text.startswith(SUBJECT) and len(text) > len(SUBJECT):
        return
    if not text.lstrip().startswith("{"):
        check_place(text)
        if "://" in text:
            raise ValueError("an Avro schema as JSON, the path of a file with it, or subject:NAME")
        return
    try:
        schema: Any = json.loads(text)
    except ValueError as failure:
        raise ValueError(f"JSON: {failure}") from None
    fields = schema.get("fields")
    if schema.get("type") != "record" or not isinstance(fields, list) or not all(map(_is_field, fields)):
        raise ValueError("the Avro schema of a record, whose fields have names and types")


def _is_field(field: Any) -> bool:
    return isinstance(field, dict) and isinstance(field.get("name"), str) and "type" in field


CHECKS: Final[Mapping[str, Callable[[str], None]]] = {LOCATION: check_place, VALUE_SCHEMA: check_schema}


def misfit(configs: Mapping[str, str]) -> tuple[str, str] | None:
    """A config that does not go with the others, and why."""
    has = {name for name in (FORMAT, LOCATION, VALUE_FORMAT, VALUE_SCHEMA) if configs.get(name)}
    if FORMAT in has and LOCATION not in has:
        return FORMAT, f"say where the table is, with {LOCATION}, at the same time"
    if len(has & {VALUE_FORMAT, VALUE_SCHEMA}) == 1:
        return min(has & {VALUE_FORMAT, VALUE_SCHEMA}), f"{VALUE_FORMAT} and {VALUE_SCHEMA} belong together: set both"
    if configs.get(VALUE_SCHEMA, "").startswith(SUBJECT) and configs.get(VALUE_FORMAT) != "registry":
        return VALUE_SCHEMA, f"a subject is that of a registry: {VALUE_FORMAT} must be registry"
    if configs.get(KEEP_VALUE) == "true" and VALUE_FORMAT not in has:
        return KEEP_VALUE, f"values are kept as they came in any case, unless {VALUE_FORMAT} makes columns of them"
    return None
