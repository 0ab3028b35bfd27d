"""Values of any type as JSON, as Spark's `to_json` writes them: fields that are null are left out."""

from __future__ import annotations

import base64
import json
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa


def json_texts(values: Any) -> Any:
    """One text for each value; what is null stays null, and what is a text or bytes already stays as it is."""
    if pa.types.is_string(values.type) or pa.types.is_binary(values.type):
        return values
    kind: Any = pa.string()
    return pa.array([None if each is None else _text(each) for each in values.to_pylist()], kind)


def _text(value: Any) -> str:
    return json.dumps(_plain(value), ensure_ascii=False, separators=(",", ":"), default=_other)


def _plain(value: Any) -> Any:
    """Structs come as dicts, maps as lists of pairs."""
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items() if each is not None}
    if isinstance(value, list):
        if value and all(isinstance(each, tuple) for each in value):
            return {str(key): _plain(each) for key, each in value}
        return [_plain(each) for each in value]
    return value


def _other(value: Any) -> Any:
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, datetime):
        return value.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return str(value)
