"""A record as a list shows it: its value by its schema, as text, or as hex."""

from __future__ import annotations

from typing import Any

from holdfast.console.schemas import DecodedValue, TopicValues
from holdfast.record.batch import BatchHeader
from holdfast.record.records import Record

_KEY_SIZE = 64 << 10
_HEADERS, _HEADER_SIZE, _HEADERS_SIZE = 50, 256, 4096


def shown(header: BatchHeader, record: Record, state: str, size_max: int, values: TopicValues) -> dict[str, Any]:
    value, form, cut, why = _told(values.decoded(record.value), record.value, size_max)
    key, key_form, _, _ = _told(values.decoded(record.key, is_key=True), record.key, min(size_max, _KEY_SIZE))
    return {
        "offset": record.offset,
        "ms": record.timestamp,
        "key": key,
        "key_form": key_form,
        "value": value,
        "form": form,
        "size": len(record.value or b""),
        "cut": cut,
        "why": why,
        "headers": _headers(record),
        "batch": header.base_offset,
        "producer_id": header.producer_id,
        "state": state,
    }


def _headers(record: Record) -> list[list[str | None]]:
    """The first of them, and of each the beginning: together about so many bytes."""
    shown, size = list[list[str | None]](), 0
    for name, value in record.headers[:_HEADERS]:
        text = text_of(value, _HEADER_SIZE)[0]
        shown.append([name[:_HEADER_SIZE], text])
        size += len(shown[-1][0] or "") + len(text or "")
        if size >= _HEADERS_SIZE:
            break
    return shown


def _told(decoded: DecodedValue | None, data: bytes | None, size_max: int) -> tuple[str | None, str, bool, str]:
    """The text, what it is, whether it is cut, and why it is not decoded although it has a schema."""
    if decoded is not None and not decoded.why:
        text = decoded.text
        return text[:size_max], decoded.form, len(text) > size_max, ""
    raw, form = text_of(data, size_max)
    return raw, form, len(data or b"") > size_max, decoded.why if decoded else ""


def text_of(data: bytes | None, size_max: int) -> tuple[str | None, str]:
    """Bytes as text, or as hex where they are none; and which of them."""
    if data is None:
        return None, "null"
    piece = data[:size_max]
    if b"\x00" in piece:
        return piece.hex(" "), "hex"  # It may be UTF-8, but nobody reads it.
    try:
        return piece.decode(), "text"
    except UnicodeDecodeError as failure:
        if len(data) > size_max and failure.start >= len(piece) - 3:  # Cut in the middle of a letter.
            return piece[: failure.start].decode(), "text"
        return piece.hex(" "), "hex"
