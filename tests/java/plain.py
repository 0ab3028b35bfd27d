"""Messages of both sides as the same plain values: JSON from Kafka's classes, attributes of ours."""

from __future__ import annotations

import base64
import re
from typing import Any
from uuid import UUID

from holdfast.protocol.message import part_class

_NO_ID = UUID(int=0)


def same(message: Any, json: dict[str, Any]) -> None:
    """Every field that Kafka's message has says the same in ours; which one does not is in the failure."""
    for key, expected in json.items():
        name = _name(message, key)
        found = getattr(message, name)
        if isinstance(expected, dict):
            same(_left_out(message, name) if found is None else found, expected)
        elif isinstance(expected, list) and expected and isinstance(expected[0], dict):
            for item, other in zip(found, expected, strict=True):
                same(item, other)
        else:
            assert (name, _plain(found, expected)) == (name, expected)


def _name(message: Any, key: str) -> str:
    """Our names have underscores."""
    snake = re.sub("(?<=[a-z0-9])(?=[A-Z])", "_", key).lower()
    assert any(row[0] == snake for row in message.ROWS), f"{type(message).__name__} has no {snake}"
    return snake


def _left_out(message: Any, name: str) -> Any:
    """A part that is not there says what its defaults say."""
    [kind] = [row[1] for row in message.ROWS if row[0] == name]
    return part_class(type(message), kind)()


def _plain(value: Any, like: Any) -> Any:
    if isinstance(like, list) and value is not None:
        return [_plain(each, other) for each, other in zip(value, like, strict=True)]
    if isinstance(like, str) and not isinstance(value, str):
        return _in_base64(value)
    return value


def _in_base64(value: bytes | memoryview | UUID | None) -> str:
    if value is None or isinstance(value, UUID):  # An id of zeros is None to us.
        return base64.urlsafe_b64encode((value or _NO_ID).bytes).decode().rstrip("=")
    return base64.b64encode(value).decode()
