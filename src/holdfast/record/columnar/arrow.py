"""Columns as Apache Arrow, and back, without copying keys and values. `record` imports pyarrow only here."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pyarrow as pa

from holdfast.record.columnar.columns import Binary, Columns, Headers

TIMESTAMP: Final[Any] = pa.timestamp("ms", "UTC")
HEADER: Final[Any] = pa.struct([("key", pa.string()), ("value", pa.binary())])
SCHEMA: Final[Any] = pa.schema(
    {
        "key": pa.binary(),
        "value": pa.binary(),
        "offset": pa.int64(),
        "timestamp": TIMESTAMP,
        "timestamp_type": pa.int32(),  # A `TimestampType`.
        "headers": pa.list_(HEADER),
    }
)


def to_arrow(columns: Columns) -> pa.RecordBatch:
    """The same memory as Arrow columns, in the order of `SCHEMA`; those that were not decoded are left out.

    More than 2 GiB of bytes, or `Decoder.wide`, make large_binary and large_list of binary and list.
    """
    types = [int(header.is_log_append_time) for header in columns.batches]
    arrays: dict[str, Any] = {
        "key": binary_array(columns.key),
        "value": binary_array(columns.value),
        "offset": pa.array(columns.offset),
        "timestamp": pa.array(columns.timestamp).view(TIMESTAMP),
        "timestamp_type": pa.array(np.repeat(np.array(types, np.int32), np.diff(columns.starts))),
        "headers": headers_array(columns.headers),
    }
    there = {name: array for name, array in arrays.items() if array is not None}
    return pa.RecordBatch.from_arrays(list(there.values()), names=list(there))


def from_arrow(batch: pa.RecordBatch, timestamp: int = -1) -> Columns:
    """Columns to be encoded, from whichever of `SCHEMA` are there, binary or string.

    Without offsets they count from 0; without timestamps all get the one given.
    """
    count = batch.num_rows
    named: dict[str, Any] = {name: batch.column(name) for name in batch.schema.names}
    offset, time = named.get("offset"), named.get("timestamp")
    return Columns(
        (),
        np.zeros(1, np.int64),
        np.arange(count) if offset is None else offset.to_numpy(),
        np.full(count, timestamp) if time is None else time.cast(TIMESTAMP).view(pa.int64()).to_numpy(),
        _to_binary(named.get("key")),
        _to_binary(named.get("value")),
        _to_headers(named.get("headers")),
    )


def binary_array(binary: Binary | None) -> Any:
    """Byte strings as an Arrow array over the same memory; None stays None."""
    if binary is None:
        return None
    kind: Any = pa.binary() if binary.ends.dtype == np.int32 else pa.large_binary()
    memory: tuple[Any, ...] = (binary.validity, binary.ends, binary.data)
    buffers = [None if array is None else pa.py_buffer(array) for array in memory]
    return pa.Array.from_buffers(kind, len(binary), buffers)


def headers_array(headers: Headers | None) -> Any:
    """Headers as an Arrow array of lists over the same memory; None stays None."""
    if headers is None:
        return None
    narrow = headers.ends.dtype == np.int32
    entries = pa.StructArray.from_arrays(
        [_as_text(binary_array(headers.keys)), binary_array(headers.values)], names=["key", "value"]
    )
    kind: Any = pa.ListArray if narrow else pa.LargeListArray
    return kind.from_arrays(pa.array(headers.ends), entries)


def _as_text(keys: Any) -> Any:
    """Header keys as strings. Bytes that are no UTF-8 become replacement characters, as in Java clients."""
    kind: Any = pa.string() if pa.types.is_binary(keys.type) else pa.large_string()
    try:
        return keys.cast(kind)
    except pa.ArrowInvalid:
        return pa.array([key.decode("utf-8", "replace") for key in keys.to_pylist()], kind)


def _to_binary(array: Any) -> Binary | None:
    if array is None:
        return None
    wide = pa.types.is_large_binary(array.type) or pa.types.is_large_string(array.type)
    _, ends, data = array.cast(pa.large_binary() if wide else pa.binary()).buffers()
    ends_type: Any = np.int64 if wide else np.int32
    here = slice(array.offset, array.offset + len(array) + 1)
    validity = None
    if array.null_count:
        validity = np.packbits(array.is_valid().to_numpy(zero_copy_only=False), bitorder="little")
    return Binary(
        np.frombuffer(ends, ends_type)[here] if ends else np.zeros(1, ends_type),
        np.frombuffer(data, np.uint8) if data else np.empty(0, np.uint8),
        validity,
    )


def _to_headers(array: Any) -> Headers | None:
    if array is None:
        return None
    entries = array.flatten()  # Without what lies before and after a slice, and under nulls.
    sizes = array.value_lengths().fill_null(0).to_numpy()
    keys, values = _to_binary(entries.field("key")), _to_binary(entries.field("value"))
    assert keys is not None
    assert values is not None
    return Headers(np.concatenate(([0], np.cumsum(sizes, dtype=np.int64))), keys, values)
