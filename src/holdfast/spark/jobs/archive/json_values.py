"""JSON values to columns: thousands at a time by Arrow; only a group in which something is wrong, one by one."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as arrow_compute
import pyarrow.json as arrow_json

pc: Any = arrow_compute  # Their types know fewer forms than there are.
pj: Any = arrow_json

_REASON_SIZE_MAX = 500


def decode_json(
    values: Any, fields: Sequence[Any], earlier: Mapping[str, Sequence[str]]
) -> tuple[list[Any], list[str | None]]:
    """One array for each field, and what is wrong with each value. Some fields had other names earlier, and are read by
    the first of their names that a value has."""
    if not earlier:
        return _decode(values, fields)
    own = [each.with_nullable(nullable=each.nullable or each.name in earlier) for each in fields]
    old = [
        (each.name, each.with_nullable(nullable=True).with_name(name))
        for each in fields
        for name in earlier.get(each.name, ())
    ]
    arrays, reasons = _decode(values, [*own, *(each for _, each in old)])
    merged = []
    for number, field in enumerate(fields):
        others = [array for (name, _), array in zip(old, arrays[len(own) :], strict=True) if name == field.name]
        merged.append(pc.coalesce(arrays[number], *others) if others else arrays[number])
        if others and not field.nullable:
            for at in pc.indices_nonzero(pc.and_(pc.is_null(merged[-1]), pc.is_valid(values))).to_pylist():
                reasons[at] = reasons[at] or f"field {field.name} is missing"
    return merged, reasons


def _decode(values: Any, fields: Sequence[Any]) -> tuple[list[Any], list[str | None]]:
    quick = _all_at_once(values, fields)
    if quick is not None:
        return quick, [None] * len(values)
    rows, reasons = [], []
    for value in values.to_pylist():
        row, reason = (None, None) if value is None else _one(value, fields)
        rows.append(row or [pa.nulls(1, each.type) for each in fields])
        reasons.append(reason)
    return [pa.concat_arrays(column) for column in zip(*rows, strict=True)], reasons


def _all_at_once(values: Any, fields: Sequence[Any]) -> list[Any] | None:
    """All values as one stream of objects; None when any of them needs a closer look.

    Arrow does not say which value an object came from. So every value must begin with `{`, end with `}` and hold no
    line break: then no two of them can make one object, each makes at least one, and when their number is right each
    has made exactly one.
    """
    there = pc.is_valid(values)
    present = values.filter(there)
    if not len(present):
        return [pa.nulls(len(values), each.type) for each in fields]
    if not (_is_everywhere(present, 0, 1, b"{") and _is_everywhere(present, -1, None, b"}")):
        return None
    if pc.any(pc.match_substring(present, "\n")).as_py():
        return None
    table = _parse(b"\n".join(present.to_pylist()), fields, len(present))
    if table is None:
        return None
    arrays = [pa.concat_arrays(table.column(each.name).chunks) for each in fields]
    if len(present) == len(values):
        return arrays
    mask = there.to_numpy(zero_copy_only=False)
    where = pa.array(np.cumsum(mask) - 1, mask=~mask)  # Null where there was no value.
    return [array.take(where) for array in arrays]


def _is_everywhere(values: Any, start: int, stop: int | None, byte: bytes) -> bool:
    found = pc.binary_slice(values, start) if stop is None else pc.binary_slice(values, start, stop)
    return bool(pc.all(pc.equal(found, pa.scalar(byte, pa.binary()))).as_py())


def _parse(data: bytes, fields: Sequence[Any], count: int, **options: Any) -> Any:
    """A table of so many rows with all that must be there; None for anything else."""
    nullable = pa.schema([each.with_nullable(nullable=True) for each in fields])
    parse = pj.ParseOptions(explicit_schema=nullable, unexpected_field_behavior="ignore", **options)
    read = pj.ReadOptions(use_threads=False, block_size=max(len(data) + 1, 1 << 16))
    try:
        table = pj.read_json(pa.BufferReader(data), read, parse)
    except pa.ArrowInvalid:
        return None
    lacking = any(table.column(each.name).null_count for each in fields if not each.nullable)
    return None if lacking or table.num_rows != count else table


def _one(value: bytes, fields: Sequence[Any]) -> tuple[list[Any] | None, str | None]:
    try:
        found = json.loads(value)
    except ValueError as failure:  # Also what is not UTF-8.
        return None, f"not JSON: {failure}"[:_REASON_SIZE_MAX]
    if not isinstance(found, dict):
        return None, f"not a JSON object but a {type(found).__name__}"
    lacking = [each.name for each in fields if not each.nullable and found.get(each.name) is None]
    if lacking:
        return None, f"field {', '.join(lacking)} is missing"[:_REASON_SIZE_MAX]
    table = _parse(value, fields, 1, newlines_in_values=True)
    if table is None:
        return None, _misfit(value, fields)
    return [pa.concat_arrays(table.column(each.name).chunks) for each in fields], None


def _misfit(value: bytes, fields: Sequence[Any]) -> str:
    """Which field does not fit its column."""
    wrong = [each.name for each in fields if _parse(value, [each], 1, newlines_in_values=True) is None]
    return f"field {', '.join(wrong)} does not fit its type"[:_REASON_SIZE_MAX] if wrong else "no such record"
