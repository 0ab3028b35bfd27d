"""Messages of both sides as the same plain values: JSON from Kafka's classes, attributes of ours."""

from __future__ import annotations

import base64
import re
from typing import Any
from uuid import UUID

NOT_ASKED_FOR = -(2**31)
_NO_ID = UUID(int=0)


def same(message: Any, json: dict[str, Any]) -> None:
    """Every field that Kafka's message has says the same in ours; which one does not is in the failure."""
    for key, expected in json.items():
        name = _name(message, key)
        found = getattr(message, name)
        if isinstance(expected, dict):
            same(message.fields[name]() if found is None else found, expected)  # Left out where all is default.
        elif isinstance(expected, list) and expected and isinstance(expected[0], dict):
            for item, other in zip(found, expected, strict=True):
                same(item, other)
        else:
            assert (name, _plain(found, expected)) == (name, expected)


def _name(message: Any, key: str) -> str:
    """Our names have underscores, and do not say whose operations they are."""
    snake = re.sub("(?<=[a-z0-9])(?=[A-Z])", "_", key).lower()
    names = (snake, re.sub("^(cluster|topic)_(?=authorized)", "", snake))
    return next(each for each in names if each in message.fields)


def _plain(value: Any, like: Any) -> Any:
    if isinstance(like, list) and isinstance(value, list):
        return [_plain(each, other) for each, other in zip(value, like, strict=True)]
    if isinstance(like, str) and not isinstance(value, str):
        return _in_base64(value)
    if type(like) is int and (value is None or isinstance(value, set)):  # The bits of authorized operations.
        return NOT_ASKED_FOR if value is None else _signed(sum(1 << bit for bit in value))
    return value


def _in_base64(value: bytes | memoryview | UUID | None) -> str:
    if value is None or isinstance(value, UUID):  # An id of zeros is None to us.
        return base64.urlsafe_b64encode((value or _NO_ID).bytes).decode().rstrip("=")
    return base64.b64encode(value).decode()


def _signed(bits: int) -> int:
    return bits - 2**32 if bits >= 2**31 else bits
