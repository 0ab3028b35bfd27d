"""| 0 u8 | number of the schema, u32 | value |   as clients of schema registries write it."""

from __future__ import annotations

import struct
from typing import Final

_PREFIX: Final = struct.Struct(">BI")
assert _PREFIX.size == 5


def split_prefix(data: bytes) -> tuple[int, bytes] | None:
    """The number of a schema and the value behind it; None where it does not begin like that."""
    if len(data) < _PREFIX.size or data[0] != 0:
        return None
    return _PREFIX.unpack_from(data)[1], data[_PREFIX.size :]
