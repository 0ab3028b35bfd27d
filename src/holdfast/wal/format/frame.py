"""One frame: a record on disk.

    | crc32c u32 | mark 3 bytes | kind u8 | size u32 | round_start u32 | round u64 | body, `size` bytes |

All numbers are little endian. The crc covers all that follows it, and begins with the chunk's seed (its id and its
random salt), so that frames left over in a recycled file are never taken for new ones, and so that nobody who can
choose a payload can forge a frame inside it. The mark is the lower part of the same seed: a search for frames passes
over a payload full of false headers, and over a recycled file full of old ones, without computing a crc for each.

`round_start` is the byte of the chunk where this frame's round begins. A round is written only after all before it is
durable, so a valid frame proves: every byte of its chunk below `round_start` was durable before this frame was written.
That is how recovery tells a torn tail (nothing proves the bad bytes were durable) from damage (something does).
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple

from crc32c import crc32c

from holdfast.types import Buffer

HEADER = struct.Struct("<I3sBIIQ")
_AFTER_CRC = struct.Struct("<3sBIIQ")
_CRC = struct.Struct("<I")
assert HEADER.size == 24  # On disk: changing it needs a new format version.

BODY_SIZE_MAX = 1 << 30  # Larger sizes are garbage; also keeps every position inside a chunk below 4 GiB.


class Frame(NamedTuple):
    """A valid frame as found in a chunk."""

    offset: int  # Of its first byte, in the chunk.
    kind: int
    round_start: int
    round: int
    body: memoryview

    @property
    def end(self) -> int:
        return self.offset + HEADER.size + len(self.body)


def seed_of(chunk_id: int, salt: int) -> int:
    """Where the crc of a chunk's frames begins."""
    return crc32c(struct.pack("<QQ", chunk_id, salt))


def mark_of(seed: int) -> bytes:
    """What every frame of a chunk with this seed carries."""
    return seed.to_bytes(4, "little")[:3]


def encode_header(
    kind: int, body: Sequence[Buffer], size: int, round_start: int, round_: int, seed: int, mark: bytes
) -> bytes:
    """The header of a frame whose body is `body`, one buffer after the other, `size` bytes in all."""
    rest = _AFTER_CRC.pack(mark, kind, size, round_start, round_)
    crc = crc32c(rest, seed)
    for buffer in body:
        crc = crc32c(buffer, crc)
    return _CRC.pack(crc) + rest


def decode(data: memoryview, offset: int, base: int, seed: int) -> Frame | None:
    """The frame at byte `offset` of `data`, which begins at byte `base` of its chunk; None where no valid one is."""
    if offset + HEADER.size > len(data):
        return None
    crc, mark, kind, size, round_start, round_ = HEADER.unpack_from(data, offset)
    end = offset + HEADER.size + size
    if mark != mark_of(seed) or size > BODY_SIZE_MAX or end > len(data) or crc32c(data[offset + 4 : end], seed) != crc:
        return None
    return Frame(base + offset, kind, round_start, round_, data[offset + HEADER.size : end])


def stated_size(header: Buffer, seed: int) -> int:
    """How many bytes the frame that begins with `header` says it has; 0 where that is not believable."""
    if len(header) < HEADER.size:
        return 0
    _, mark, _, size, _, _ = HEADER.unpack_from(header)
    return HEADER.size + size if mark == mark_of(seed) and size <= BODY_SIZE_MAX else 0


def describe_bad(data: memoryview, offset: int, seed: int) -> tuple[str, str]:
    """What was expected and what was found where no valid frame is."""
    if offset + HEADER.size > len(data):
        return f"a frame header of {HEADER.size} bytes", f"the end of the file after {len(data) - offset} bytes"
    crc, mark, _, size, _, _ = HEADER.unpack_from(data, offset)
    if mark != mark_of(seed):
        return f"the chunk's mark {mark_of(seed).hex()}", f"the bytes {bytes(mark).hex()}"
    end = offset + HEADER.size + size
    if size > BODY_SIZE_MAX or end > len(data):
        return "a whole frame", f"a size of {size} bytes, past the end"
    return f"crc32c {crc:#010x}", f"crc32c {crc32c(data[offset + 4 : end], seed):#010x}"
