"""Values decoded to columns. What cannot be decoded goes to the dead letters, with the reason.

A null value has no columns: it becomes a row of nulls.
"""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from holdfast.spark.jobs.archive.avro import decode_avro
from holdfast.spark.jobs.archive.json_values import decode_json
from holdfast.spark.jobs.archive.schema import arrow_fields

GROUP_COUNT = 4096


@dataclass(frozen=True)
class ValueDecoding:
    """How values are decoded."""

    kind: Literal["json", "avro", "avro-registry"]
    schema_json: str  # An Avro schema.

    def fields(self) -> list[Any]:
        """The columns of the values. All may be null: a record without a value has none of them."""
        return [each.with_nullable(nullable=True) for each in _fields(self.schema_json)]

    def decode(self, rows: Any) -> tuple[Any, Any]:
        """The rows with their values as columns, and those that stay behind, with the reason."""
        parts: list[Any] = []
        reasons: list[str | None] = []
        for start in range(0, rows.num_rows, GROUP_COUNT):
            arrays, why = self._group(rows.column("value").slice(start, GROUP_COUNT))
            parts.append(arrays)
            reasons += why
        good = rows.drop_columns(["value"])
        for number, field in enumerate(self.fields()):
            column: Any = pa.concat_arrays([part[number] for part in parts])
            good = good.append_column(field, column)
        is_bad = np.array([why is not None for why in reasons])
        bad = rows.append_column("reason", pa.array(reasons, pa.string())).filter(pa.array(is_bad))
        return good.filter(pa.array(~is_bad)), bad

    def _group(self, values: Any) -> tuple[list[Any], list[str | None]]:
        """One array for each field, and what is wrong with each value: None for a right one."""
        fields = _fields(self.schema_json)
        if self.kind == "json":
            return decode_json(values, fields)
        return decode_avro(values, fields, self.schema_json, prefixed=self.kind == "avro-registry")


@functools.lru_cache(maxsize=16)
def _fields(schema_json: str) -> tuple[Any, ...]:
    return tuple(arrow_fields(json.loads(schema_json)))
