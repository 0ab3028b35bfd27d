"""A JSON object that carries its kind, its format version and a crc, and is refused when any of them is wrong.

    {"holdfast":"<kind>","format":<version>,"crc32c":"<8 hex digits>","body":<body>}

The crc covers the bytes before its own field and the bytes of the body, exactly as they stand.
"""

from __future__ import annotations

import json
import re
from typing import Any

from crc32c import crc32c

from holdfast.io.store_errors import Damaged, NewerFormat

_START = re.compile(rb'(\{"holdfast":"([a-z]+)","format":([0-9]{1,9}))(,"crc32c":"([0-9a-f]{8})","body":)')


def seal(kind: str, version: int, body: dict[str, Any]) -> bytes:
    """The body as bytes that can be checked."""
    opening = f'{{"holdfast":"{kind}","format":{version}'.encode()
    content = json.dumps(body, separators=(",", ":")).encode()
    return b'%b,"crc32c":"%08x","body":%b}' % (opening, crc32c(content, crc32c(opening)), content)


def unseal(name: str, kind: str, version: int, data: bytes) -> dict[str, Any]:
    """The body, if the bytes are exactly what was sealed, by this release or an earlier one."""
    start = _START.match(data)
    if start is None or data[-1:] != b"}":
        raise Damaged(name, "it does not start and end as it should")
    content = memoryview(data)[start.end() : -1]
    if crc32c(content, crc32c(start[1])) != int(start[5], 16):
        raise Damaged(name, "its crc is wrong")
    if start[2].decode() != kind:
        raise Damaged(name, f"it is a {start[2].decode()}, not a {kind}")
    if int(start[3]) > version:
        raise NewerFormat(name, int(start[3]), version)
    body = json.loads(bytes(content))
    if not isinstance(body, dict):
        raise Damaged(name, "its body is no object")
    return body
