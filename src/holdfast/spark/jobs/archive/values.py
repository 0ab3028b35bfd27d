"""Values decoded to columns. What cannot be decoded goes to the dead letters, with the reason.

A null value has no columns: it becomes a row of nulls.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from holdfast.errors import Rejected
from holdfast.spark.jobs.archive.avro import decode_avro
from holdfast.spark.jobs.archive.json_values import decode_json
from holdfast.spark.jobs.archive.registry_values import decode_registry
from holdfast.spark.jobs.archive.schema import arrow_fields

GROUP_COUNT = 4096
VALUE = "value"


@dataclass(frozen=True)
class ValueDecoding:
    """How values are decoded."""

    kind: Literal["json", "avro", "avro-registry", "registry"]
    schema_json: str  # An Avro schema.
    names: tuple[tuple[str, str], ...] = ()  # Of fields that have another name than their column.
    keep_value: bool = False  # Also as it came, in the column `value`.
    registry: str = field(default="", repr=False)  # Where the schemas are that values were written by, and who asks.

    def __post_init__(self) -> None:
        if self.keep_value and any(each.name == VALUE for each in self._own()):
            raise Rejected(
                f"the schema has a field {VALUE}, which is the name of the column of --keep-value: leave one out"
            )

    def fields(self) -> list[Any]:
        """The columns of the values. All may be null: a record without a value has none of them."""
        names = dict(self.names)
        return [each.with_nullable(nullable=True).with_name(names.get(each.name, each.name)) for each in self._own()]

    @property
    def has_aliases(self) -> bool:
        return bool(self._earlier())

    def under(self, columns: Collection[str]) -> ValueDecoding:
        """The same, with each field in the column that a table has for it, under an earlier name perhaps."""
        names = []
        for name, aliases in self._earlier().items():
            earlier = next((each for each in aliases if each in columns), None)
            if name not in columns and earlier is not None:
                names.append((name, earlier))
        return replace(self, names=tuple(names))

    def _earlier(self) -> dict[str, list[str]]:
        """By field, its names of before, without those that other fields have now."""
        own = {each.name for each in self._own()}
        found = {name: [each for each in aliases if each not in own] for name, aliases in self._aliases().items()}
        return {name: names for name, names in found.items() if names}

    def _own(self) -> tuple[Any, ...]:
        return _fields(self.schema_json)

    def _aliases(self) -> dict[str, list[str]]:
        return {each["name"]: each.get("aliases", []) for each in json.loads(self.schema_json)["fields"]}

    def decode(self, rows: Any) -> tuple[Any, Any]:
        """The rows with their values as columns, and those that stay behind, with the reason."""
        parts: list[Any] = []
        reasons: list[str | None] = []
        for start in range(0, rows.num_rows, GROUP_COUNT):
            arrays, why = self._group(rows.column(VALUE).slice(start, GROUP_COUNT))
            parts.append(arrays)
            reasons += why
        good = rows if self.keep_value else rows.drop_columns([VALUE])
        for number, each in enumerate(self.fields()):
            column: Any = pa.concat_arrays([part[number] for part in parts])
            good = good.append_column(each, column)
        is_bad = np.array([why is not None for why in reasons])
        bad = rows.append_column("reason", pa.array(reasons, pa.string())).filter(pa.array(is_bad))
        return good.filter(pa.array(~is_bad)), bad

    def _group(self, values: Any) -> tuple[list[Any], list[str | None]]:
        """One array for each field, and what is wrong with each value: None for a right one."""
        fields = self._own()
        if self.kind == "json":
            return decode_json(values, fields, self._earlier())
        if self.kind == "registry":
            return decode_registry(values, fields, self._earlier(), self.registry)
        return decode_avro(values, fields, self.schema_json, prefixed=self.kind == "avro-registry")


@functools.lru_cache(maxsize=16)
def _fields(schema_json: str) -> tuple[Any, ...]:
    return tuple(arrow_fields(json.loads(schema_json)))
