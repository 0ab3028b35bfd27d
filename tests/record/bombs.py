"""Small streams that expand to gigabytes, one or more for each codec."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable

import cramjam

from holdfast.record.layout import Codec

EXPANDED_SIZE = 4 << 30
PIECE = bytes(1 << 20)


def gzip_bomb() -> tuple[int, bytes]:
    """One flushed piece of a deflate stream, again and again."""
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
    piece = deflate.compress(PIECE) + deflate.flush(zlib.Z_FULL_FLUSH)
    end = deflate.flush()
    head = bytes.fromhex("1f8b08000000000000ff")
    return Codec.GZIP, head + piece * (EXPANDED_SIZE // len(PIECE)) + end + bytes(8)


def snappy_bomb() -> tuple[int, bytes]:
    """A few bytes that claim to be 4 GiB."""
    return Codec.SNAPPY, b"\xff\xff\xff\xff\x0f" + bytes(20)


def framed_snappy_bomb() -> tuple[int, bytes]:
    """One honest block, again and again."""
    block = bytes(cramjam.snappy.compress_raw(PIECE))
    framed = struct.pack(">i", len(block)) + block
    return Codec.SNAPPY, b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1) + framed * (64 << 20 >> 20)


def lz4_bomb() -> tuple[int, bytes]:
    """One block of 4 MiB, again and again."""
    block = bytes(cramjam.lz4.compress_block(PIECE * 4, store_size=False))
    framed = struct.pack("<I", len(block)) + block
    return Codec.LZ4, bytes.fromhex("04224d18 60 70 73") + framed * (256 << 20 >> 22) + bytes(4)


def zstd_bomb() -> tuple[int, bytes]:
    """Blocks of 128 KiB that repeat one byte."""
    repeated = struct.pack("<I", (128 * 1024) << 3 | 1 << 1)[:3] + b"x"
    last = struct.pack("<I", (128 * 1024) << 3 | 1 << 1 | 1)[:3] + b"x"
    return Codec.ZSTD, bytes.fromhex("28b52ffd 00 58") + repeated * (EXPANDED_SIZE // (128 * 1024)) + last


BOMBS: dict[str, Callable[[], tuple[int, bytes]]] = {
    "gzip": gzip_bomb,
    "snappy": snappy_bomb,
    "framed snappy": framed_snappy_bomb,
    "lz4": lz4_bomb,
    "zstd": zstd_bomb,
}
