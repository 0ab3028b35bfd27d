"""throttle_time_ms in answers that are encoded already: most answers have none to tell."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from holdfast.protocol.api import Key
from holdfast.protocol.classes import response_class
from holdfast.protocol.hot.produce import FLEXIBLE_FROM
from holdfast.protocol.message import cached, fields_of
from holdfast.types import Buffer

_THROTTLE = "throttle_time_ms"
_INT32 = struct.Struct(">i")


@cached
def begins_with_it(key: Key, version: int) -> bool:
    """Whether the first four bytes of an answer's body say it, as in nearly all of them."""
    if key == Key.FETCH:
        return True
    first = next((each for each in fields_of(response_class(key)) if each.is_in(version)), None)
    return first is not None and first.name == _THROTTLE


def throttle_of(key: Key, version: int, body: Sequence[Buffer]) -> int:
    """What a body says."""
    if not body or not begins_with_it(key, version):
        return 0
    found: int = _INT32.unpack_from(body[0])[0]
    return found


def with_throttle(key: Key, version: int, body: Sequence[Buffer], milliseconds: int) -> Sequence[Buffer]:
    """A body that says so; where there is no place for it, as it was."""
    if not body or not begins_with_it(key, version):
        return body
    return [_INT32.pack(milliseconds), memoryview(body[0])[_INT32.size :], *body[1:]]


def produced_with_throttle(version: int, answer: Sequence[Buffer], milliseconds: int) -> Sequence[Buffer]:
    """The same for a produce request's answer, which says it last."""
    if not answer:
        return answer
    last = bytearray(answer[-1])
    _INT32.pack_into(last, len(last) - _INT32.size - (version >= FLEXIBLE_FROM), milliseconds)
    return [*answer[:-1], last]
