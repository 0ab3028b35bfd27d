"""How records are shown: to people one a line and safe for a terminal, to programs as JSON."""

from __future__ import annotations

import base64
from typing import Any

from holdfast.cli.log.lines import time_text
from holdfast.record.records import Record

_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def record_line(topic: str, partition: int, record: Record) -> str:
    """Time, place, key, value and headers, with tabs between them."""
    fields = [
        time_text(record.timestamp),
        f"{topic}-{partition}@{record.offset}",
        shown(record.key),
        shown(record.value),
    ]
    if record.headers:
        fields.append(", ".join(f"{shown(name.encode())}={shown(value)}" for name, value in record.headers))
    return "\t".join(fields)


def shown(data: bytes | None) -> str:
    """Bytes for people: text with everything escaped that a terminal would act upon, or 0x… where it is no text."""
    if data is None:
        return "null"
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return f"0x{data.hex()}"
    return text if text.isprintable() else "".join(map(_safe, text))


def _safe(character: str) -> str:
    if character.isprintable():
        return character
    number = ord(character)
    return _ESCAPES.get(character) or (f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}")


def record_facts(topic: str, partition: int, record: Record) -> dict[str, Any]:
    """A record for programs. Bytes that are no UTF-8 are an object with their base64."""
    return {
        "topic": topic,
        "partition": partition,
        "offset": record.offset,
        "timestamp": None if record.timestamp == -1 else record.timestamp,
        "key": _exact(record.key),
        "value": _exact(record.value),
        "headers": [[name, _exact(value)] for name, value in record.headers],
    }


def _exact(data: bytes | None) -> str | dict[str, str] | None:
    if data is None:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}
