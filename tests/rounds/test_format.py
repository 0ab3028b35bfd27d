"""Rounds and seals as bytes."""

from __future__ import annotations

from uuid import UUID

import pytest
from crc32c import crc32c
from hypothesis import given
from hypothesis import strategies as st

from holdfast.errors import Corrupt
from holdfast.io.store_errors import Damaged, NewerFormat
from holdfast.log.entry import BATCHES, DELETE_TOPIC
from holdfast.log.rounds.format import (
    HEADER_SIZE,
    ROUND,
    SEAL,
    RoundHeader,
    Row,
    decode_header,
    decode_round,
    encode_round,
    encode_seal,
)
from holdfast.types import PartitionId

_numbers = st.integers(0, 2**64 - 1)
_headers = st.builds(
    RoundHeader,
    st.just(ROUND),
    st.integers(0, 2**32 - 1),
    _numbers,
    _numbers,
    _numbers,
    st.integers(0, 2**128 - 1).map(lambda drawn: f"{drawn:032x}"),
)
_homes = st.builds(PartitionId, st.uuids(), st.integers(0, 2**32 - 1))
_rows = st.builds(Row, st.integers(0, 9), _homes, _numbers, _numbers, st.lists(st.binary(max_size=40), max_size=3))

HEADER = RoundHeader(ROUND, 1, 2, 3, 1, "00112233445566778899aabbccddeeff")
ROWS = [
    Row(BATCHES, PartitionId(UUID(int=7), 4), 10, 12, [b"first", b"second"]),
    Row(DELETE_TOPIC, PartitionId(UUID(int=8), 0), 0, 0, []),
]

GOLDEN = (
    "4846524f554e4400010001000100000002000000000000000300000000000000"
    "010000000000000000112233445566778899aabbccddeeff020000000b000000"
    "00000000c32d5a20000000003cd99efb00000000000000000000000000000007"
    "04000000010000000a000000000000000c000000000000000000000000000000"
    "0b000000f33fb709000000000000000000000000000000080000000002000000"
    "000000000000000000000000000000000b000000000000000000000000000000"
    "66697273747365636f6e64"
)


@given(_headers, st.lists(_rows, max_size=5))
def test_what_is_encoded_is_decoded(header: RoundHeader, rows: list[Row]) -> None:
    """C4: a round comes back as it was, whatever is in it."""
    data = b"".join(encode_round(header, rows))
    found = decode_round("r", data)
    assert found.header == decode_header("r", data[:HEADER_SIZE]) == header
    joined = [(*row[:4], b"".join(row.pieces)) for row in rows]
    assert [(*row[:4], bytes(row.pieces[0])) for row in found.rows] == joined
    assert not found.is_seal


def test_a_seal_says_why() -> None:
    """C3: who put it, and why, for people."""
    header = HEADER._replace(kind=SEAL)
    found = decode_round("s", b"".join(encode_seal(header, {"by": "b", "why": "silent"})))
    assert (found.header, found.rows, found.why) == (header, (), {"by": "b", "why": "silent"})
    assert found.is_seal


@pytest.mark.parametrize("whole", [encode_round(HEADER, ROWS), encode_seal(HEADER._replace(kind=SEAL), {"by": "b"})])
def test_every_wrong_byte_and_every_missing_one_is_seen(whole: list[bytes]) -> None:
    """C4: what is not exactly what was written is damage, never a shorter round."""
    data = b"".join(whole)
    for at in range(len(data)):
        wrong = bytearray(data)
        wrong[at] ^= 0x10
        with pytest.raises(Corrupt):
            decode_round("r", bytes(wrong))
        with pytest.raises(Damaged):
            decode_round("r", data[:at])
    with pytest.raises(Damaged):
        decode_round("r", data + b"\0")


def test_a_later_version_is_refused() -> None:
    """C11: by its number, which is not taken from a byte that was misread."""
    data = bytearray(b"".join(encode_round(HEADER, ROWS)))
    data[8] = 2
    with pytest.raises(Damaged):
        decode_round("r", bytes(data))
    data[76:80] = crc32c(bytes(data[:76])).to_bytes(4, "little")
    with pytest.raises(NewerFormat, match="format version 2"):
        decode_round("r", bytes(data))


def test_the_bytes_are_those_of_the_page() -> None:
    """C11: docs/formats/rounds.md: whoever changes them changes the version."""
    data = b"".join(encode_round(HEADER, ROWS))
    assert data.hex() == GOLDEN
    assert len(data) == HEADER_SIZE + 2 * 56 + 11
