"""What stands before a message: its size, and the header that says what it is and whom it answers.

Request:   | size i32 | api key i16 | version i16 | correlation id i32 | client id string | tags, if flexible |
Response:  | size i32 | correlation id i32 | tags, if flexible, but never for ApiVersions |

The client id stays an ordinary string in flexible headers, so that a broker can read headers of versions it does not
know. ApiVersions is answered without tags for the same reason: the client does not know the broker's versions yet.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple

from holdfast.protocol.api import Key, is_flexible
from holdfast.protocol.errors import Malformed
from holdfast.protocol.wire import EARLY_END, skip_tags, tag, text, varint
from holdfast.types import Buffer

_FIRST = struct.Struct(">hhih")
_NO_CLIENT = struct.Struct(">hhi")
_SIZE_AND_ID = struct.Struct(">ii")
_CONTROLLED_SHUTDOWN = 7  # Its version 0 is the only request whose header has no client id.


class RequestHeader(NamedTuple):
    """The head of a request; the message itself begins at `body`."""

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None
    body: int


def decode_request_header(frame: memoryview) -> RequestHeader:
    """Read the header of a frame without its size. Unknown APIs and versions are read as far as they can be known."""
    try:
        return _decode_request_header(frame)
    except (IndexError, struct.error):
        raise Malformed(EARLY_END, len(frame), "request header") from None
    except Malformed as failure:
        raise Malformed(failure.why, failure.position, "request header") from None


def _decode_request_header(frame: memoryview) -> RequestHeader:
    if frame[0] == 0 and frame[1] == _CONTROLLED_SHUTDOWN and frame[2] == frame[3] == 0:
        key, version, correlation_id = _NO_CLIENT.unpack_from(frame)
        return RequestHeader(key, version, correlation_id, None, _NO_CLIENT.size)
    key, version, correlation_id, size = _FIRST.unpack_from(frame)
    position = _FIRST.size
    client_id = None
    if size >= 0:
        client_id = text(frame, position, position + size)
        position += size
    if is_flexible(key, version):
        position = skip_tags(frame, position)
    return RequestHeader(key, version, correlation_id, client_id, position)


def header_tag(frame: memoryview, number: int, *, is_request: bool) -> memoryview | None:
    """A tagged field of the header of a frame without its size, which must be a flexible one."""
    try:
        position = 4
        if is_request:
            *_, size = _FIRST.unpack_from(frame)
            position = _FIRST.size + max(size, 0)
        count, position = varint(frame, position)
        for _ in range(count):
            found, size, position = tag(frame, position)
            if found == number:
                return frame[position : position + size]
            position += size
    except (IndexError, struct.error):
        raise Malformed(EARLY_END, len(frame), "tags of a header") from None
    return None


def one_tag(number: int, data: bytes) -> bytes:
    """Tagged fields with one in them."""
    return b"\x01" + _varint(number) + _varint(len(data)) + data


def _varint(value: int) -> bytes:
    made = bytearray()
    while value > 0x7F:
        made.append(value & 0x7F | 0x80)
        value >>= 7
    made.append(value)
    return bytes(made)


def frame_response(
    api_key: int, version: int, correlation_id: int, body: Sequence[Buffer], tags: bytes = b"\x00"
) -> list[Buffer]:
    """Put size and header before a message; the message is not copied. Only flexible headers have tags."""
    if not is_flexible(api_key, version) or api_key == Key.API_VERSIONS:
        tags = b""
    size = 4 + len(tags) + sum(map(len, body))
    return [_SIZE_AND_ID.pack(size, correlation_id) + tags, *body]


def frame_request(
    api_key: int,
    version: int,
    correlation_id: int,
    client_id: str | None,
    body: Sequence[Buffer],
    tags: bytes = b"\x00",
) -> list[Buffer]:
    """The same for a client."""
    name = b"" if client_id is None else client_id.encode()
    head = _FIRST.pack(api_key, version, correlation_id, -1 if client_id is None else len(name)) + name
    if is_flexible(api_key, version):
        head += tags
    return [struct.pack(">i", len(head) + sum(map(len, body))) + head, *body]


def decode_response_header(api_key: int, version: int, frame: memoryview) -> tuple[int, int]:
    """The correlation id of a frame without its size, and where the message begins."""
    try:
        (correlation_id,) = struct.unpack_from(">i", frame)
        flexible = is_flexible(api_key, version) and api_key != Key.API_VERSIONS
        return correlation_id, skip_tags(frame, 4) if flexible else 4
    except (IndexError, struct.error):
        raise Malformed(EARLY_END, len(frame), "response header") from None
    except Malformed as failure:
        raise Malformed(failure.why, failure.position, "response header") from None
