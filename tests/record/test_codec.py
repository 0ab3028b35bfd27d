"""K2: every codec both ways, against other libraries. K7: no bytes make them take more memory than allowed."""

from __future__ import annotations

import gzip
import random
import struct
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path

import cramjam
import kafka.codec
import lz4.frame
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.record.bombs import BOMBS

from holdfast.errors import Rejected
from holdfast.record.codec import TargetFull, compress, decompress, decompress_into
from holdfast.record.errors import ExpandsTooFar, InvalidBatch, Undecodable, UnknownCodec
from holdfast.record.layout import Codec

ROOT = Path(__file__).parents[2]
COMPRESSING = [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD]
TEXT = b"".join(b"key %d, and some value %d; " % (n, n * 7919 % 1000) for n in range(20_000))
NOISE = random.Random(3).randbytes(200_000)
DATA = [b"", b"a", TEXT, NOISE, bytes(65_536), bytes(65_537), TEXT[:65_536] + NOISE[:65_536]]

OTHERS: dict[int, tuple[Callable[[bytes], bytes], Callable[[bytes], bytes]]] = {
    Codec.GZIP: (gzip.compress, gzip.decompress),
    Codec.SNAPPY: (kafka.codec.snappy_encode, kafka.codec.snappy_decode),
    Codec.LZ4: (kafka.codec.lz4_encode, kafka.codec.lz4_decode),
    Codec.ZSTD: (kafka.codec.zstd_encode, lambda data: zstandard.ZstdDecompressor().decompress(data, 1 << 27)),
}


@pytest.mark.parametrize("codec", COMPRESSING)
@pytest.mark.parametrize("data", DATA, ids=len)
def test_other_libraries_read_what_we_write(codec: int, data: bytes) -> None:
    assert bytes(OTHERS[codec][1](bytes(compress(codec, data)))) == data


@pytest.mark.parametrize("codec", COMPRESSING)
@pytest.mark.parametrize("data", DATA, ids=len)
def test_we_read_what_other_libraries_write(codec: int, data: bytes) -> None:
    assert decompress(codec, OTHERS[codec][0](data)) == data


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(list(Codec)), st.binary(max_size=3000), st.integers(1, 50))
def test_whatever_goes_in_comes_out(codec: int, data: bytes, times: int) -> None:
    assert decompress(codec, compress(codec, data * times)) == data * times


class TestFrames:
    """K2: frames as clients in other languages write and read them."""

    def test_snappy_comes_bare_or_framed(self) -> None:
        """Java clients frame it, librdkafka does not."""
        framed = kafka.codec.snappy_encode(TEXT, xerial_compatible=True, xerial_blocksize=1000)
        bare = kafka.codec.snappy_encode(TEXT, xerial_compatible=False)
        assert framed[:8] == b"\x82SNAPPY\x00"
        assert bare[:1] != b"\x82"
        assert decompress(Codec.SNAPPY, framed) == decompress(Codec.SNAPPY, bare) == TEXT

    @pytest.mark.parametrize("cut", [9, 15, 17, 19, 30, -1])
    def test_a_snappy_frame_that_breaks_off_is_refused(self, cut: int) -> None:
        with pytest.raises(Undecodable):
            decompress(Codec.SNAPPY, kafka.codec.snappy_encode(TEXT)[:cut])

    @pytest.mark.parametrize("size", [-1, 0, 2**31 - 1])
    def test_a_snappy_block_that_claims_too_much_is_refused(self, size: int) -> None:
        framed = bytearray(kafka.codec.snappy_encode(TEXT))
        struct.pack_into(">i", framed, 16, size)
        with pytest.raises(Undecodable):
            decompress(Codec.SNAPPY, framed)

    @pytest.mark.parametrize("data", DATA, ids=len)
    def test_lz4_blocks_stand_alone(self, data: bytes) -> None:
        """Java clients refuse a frame whose blocks refer to earlier ones."""
        frame = bytes(compress(Codec.LZ4, data))
        info = lz4.frame.get_frame_info(frame)
        assert info["block_linked"] is False
        assert info["block_size"] == 64 * 1024

    @pytest.mark.parametrize("linked", [True, False])
    @pytest.mark.parametrize("checksum", [True, False])
    @pytest.mark.parametrize("store_size", [True, False])
    def test_every_kind_of_lz4_frame_is_read(self, linked: bool, checksum: bool, store_size: bool) -> None:
        frame = lz4.frame.compress(
            TEXT, block_linked=linked, content_checksum=checksum, block_checksum=checksum, store_size=store_size
        )
        assert decompress(Codec.LZ4, frame) == TEXT

    def test_zstd_without_a_content_size_is_read(self) -> None:
        """Java clients stream, and do not know the size when the frame begins."""
        stream = zstandard.ZstdCompressor().compressobj()
        assert decompress(Codec.ZSTD, stream.compress(TEXT) + stream.flush()) == TEXT


class TestLimits:
    """K7: the limit holds exactly, and says what it is."""

    @pytest.mark.parametrize("codec", COMPRESSING)
    def test_the_limit_is_exact(self, codec: int) -> None:
        packed = compress(codec, TEXT)
        assert decompress(codec, packed, len(TEXT)) == TEXT
        with pytest.raises(ExpandsTooFar) as raised:
            decompress(codec, packed, len(TEXT) - 1)
        assert isinstance(raised.value, Rejected)
        assert (raised.value.codec, raised.value.size, raised.value.size_max) == (codec, len(packed), len(TEXT) - 1)

    @pytest.mark.parametrize("codec", COMPRESSING)
    def test_a_full_target_is_told_from_bad_bytes(self, codec: int) -> None:
        packed = bytes(compress(codec, TEXT))
        with pytest.raises(TargetFull):
            decompress_into(codec, packed, memoryview(bytearray(1000)))
        with pytest.raises(Undecodable):
            decompress_into(codec, packed[:-9], memoryview(bytearray(2 * len(TEXT))))

    @pytest.mark.parametrize("name", BOMBS)
    def test_a_bomb_is_refused(self, name: str) -> None:
        codec, bomb = BOMBS[name]()
        with pytest.raises(ExpandsTooFar):
            decompress(codec, bomb, 4 << 20)

    def test_bombs_that_would_expand_to_gigabytes_take_little_memory(self) -> None:
        code = (
            "import resource; from tests.record.bombs import BOMBS; from holdfast.record import codec\n"
            "from holdfast.record.errors import ExpandsTooFar\n"
            "bombs = [bomb() for bomb in BOMBS.values()]\n"
            "peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
            "before = peak()\n"
            "for number, data in bombs:\n"
            "    try: codec.decompress(number, data, 16 << 20)\n"
            "    except ExpandsTooFar: continue\n"
            "    raise SystemExit('it went off')\n"
            "print(peak() - before)"
        )
        done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
        assert int(done.stdout) < 64 * 1024  # KiB

    def test_an_unknown_codec_is_refused_both_ways(self) -> None:
        for number in (5, 6, 7, -1):
            with pytest.raises(UnknownCodec):
                compress(number, b"")
            with pytest.raises(UnknownCodec):
                decompress(number, b"")


@pytest.mark.parametrize("codec", COMPRESSING)
def test_damaged_bytes_decompress_or_are_refused(codec: int) -> None:
    """K7: never another error, never a crash, never more than the limit."""
    chance = random.Random(codec)
    packed = bytes(compress(codec, TEXT[:3000]))
    refused = 0
    for _ in range(3000):
        damaged = bytearray(packed[: chance.choice((len(packed), chance.randrange(len(packed))))])
        for _ in range(chance.choice((1, 1, 2, 5)) if damaged else 0):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        try:
            assert len(decompress(codec, damaged, 1 << 16)) <= 1 << 16
        except InvalidBatch:
            refused += 1
    assert refused > 1000


def test_gzip_checksums_are_looked_at() -> None:
    packed = bytearray(gzip.compress(TEXT))
    packed[-5] ^= 1
    with pytest.raises(Undecodable, match="checksum"):
        decompress(Codec.GZIP, packed)
    assert zlib.decompress(packed[10:-8], -15) == TEXT  # Nothing else was wrong with it.


def test_the_library_says_what_we_listen_for() -> None:
    with pytest.raises(cramjam.DecompressionError, match=r"^failed to write whole buffer$"):
        cramjam.zstd.decompress_into(bytes(compress(Codec.ZSTD, TEXT)), bytearray(10))
