"""Lines of JSON as records: what `holdfast consume --json` prints, or as much of it as somebody cares to write."""

from __future__ import annotations

import base64
import json
from typing import Any, Final

from holdfast.errors import Rejected
from holdfast.record.records import Record

_OF_A_PLACE: Final = {"topic", "partition", "offset"}  # Where it was read: it is written where the command says.
_KNOWN: Final = _OF_A_PLACE | {"key", "value", "headers", "timestamp"}


class JsonRecords:
    """Makes records of lines."""

    def __init__(self, headers: tuple[tuple[str, bytes | None], ...]) -> None:
        self._headers = headers
        self._line = 0

    def record(self, line: bytes, timestamp: int) -> Record:
        self._line += 1
        try:
            return self._record(json.loads(line), timestamp)
        except (ValueError, RecursionError) as failure:
            raise Rejected(f"line {self._line} is no record: {failure}: it is not sent") from None

    def _record(self, said: Any, timestamp: int) -> Record:
        if not isinstance(said, dict) or "value" not in said:
            raise ValueError('it must be an object with a "value", null for a tombstone')
        if unknown := said.keys() - _KNOWN:
            raise ValueError(f"{min(unknown)!r} is none of {', '.join(sorted(_KNOWN))}")
        time = said.get("timestamp")
        if time is not None and (type(time) is not int or not 0 <= time < 1 << 63):
            raise ValueError("a timestamp is a number of milliseconds since 1970")
        headers = said.get("headers") or []
        pairs = headers.items() if isinstance(headers, dict) else headers
        own = tuple((_name(name), _bytes(value)) for name, value in pairs)
        return Record(
            _bytes(said.get("key")), _bytes(said["value"]), timestamp if time is None else time, own + self._headers
        )


def _name(said: Any) -> str:
    if not isinstance(said, str):
        raise ValueError("the name of a header is text")
    return said


def _bytes(said: Any) -> bytes | None:
    """Text as it is, {"base64": …} as what it says, and any other value as JSON."""
    if said is None:
        return None
    if isinstance(said, str):
        return said.encode()
    if isinstance(said, dict) and said.keys() == {"base64"}:
        return base64.b64decode(str(said["base64"]), validate=True)
    return json.dumps(said, ensure_ascii=False, separators=(",", ":")).encode()
