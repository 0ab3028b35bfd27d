"""What a consumer was given by its group, as all consumers write it.

| version i16 | topic count i32 | topic string | partition count i32 | partition i32 … | … |     user data follows.
"""

from __future__ import annotations

import struct

_COUNT = struct.Struct(">i")
_SIZE = struct.Struct(">h")


def partitions_of(assignment: bytes | None) -> dict[str, list[int]] | None:
    """The partitions by topic; None where the bytes have another form."""
    if not assignment:
        return {}
    try:
        return _read(assignment)
    except (struct.error, UnicodeDecodeError):
        return None


def _read(data: bytes) -> dict[str, list[int]]:
    found = {}
    position = _SIZE.size  # The version: all have this form.
    (topics,) = _COUNT.unpack_from(data, position)
    position += _COUNT.size
    for _ in range(topics):
        (size,) = _SIZE.unpack_from(data, position)
        position += _SIZE.size
        name = data[position : position + size].decode()
        position += size
        (count,) = _COUNT.unpack_from(data, position)
        position += _COUNT.size
        found[name] = list(struct.unpack_from(f">{max(count, 0)}i", data, position))
        position += 4 * count
    return found
