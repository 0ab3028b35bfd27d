"""K7: the pieces that messages are made of."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.protocol.errors import Malformed
from holdfast.protocol.wire import (
    FLEXIBLE,
    ITEMS_MAX,
    PLAIN,
    WireRoom,
    compact_array,
    encode_varint,
    plain_array,
    skip_tags,
    varint,
)

UINT32 = st.integers(0, 2**32 - 1)


@given(UINT32, st.binary(max_size=4), st.binary(max_size=4))
def test_varints(value: int, before: bytes, behind: bytes) -> None:
    """K2: what is written is read, and no byte too many."""
    written = encode_varint(value)
    data = memoryview(before + written + behind)
    assert varint(data, len(before)) == (value, len(before) + len(written))
    assert len(written) == max(1, -(-value.bit_length() // 7))


@given(st.integers(0, 2**28 - 1), st.integers(1, 4))
def test_varints_longer_than_needed(value: int, more: int) -> None:
    """K1: a number may be written with more bytes than it needs, up to five."""
    written = encode_varint(value)
    padded = bytes(byte | 0x80 for byte in written) + b"\x80" * (more - 1) + b"\x00"
    if len(padded) <= 5:
        assert varint(memoryview(padded), 0) == (value, len(padded))
    else:
        with pytest.raises(Malformed, match="more than 32 bits"):
            varint(memoryview(padded), 0)


@pytest.mark.parametrize("data", ["ffffffff10", "ffffffff7f", "8080808080", "ffffffffffff"])
def test_varints_that_are_too_large(data: str) -> None:
    """K7: 32 bits are the limit."""
    with pytest.raises(Malformed, match="more than 32 bits"):
        varint(memoryview(bytes.fromhex(data)), 0)


@given(st.none() | st.text(max_size=300))
def test_strings(value: str | None) -> None:
    """K2: both forms of a string, null and empty among them."""
    raw = b"" if value is None else value.encode()
    plain = (-1 if value is None else len(raw)).to_bytes(2, "big", signed=True) + raw
    compact = encode_varint(0 if value is None else len(raw) + 1) + raw
    assert PLAIN.string(memoryview(plain + b"x"), 0) == (value, len(plain))
    assert FLEXIBLE.string(memoryview(compact + b"x"), 0) == (value, len(compact))


def test_sizes_written_longer_than_needed() -> None:
    """K7: null, empty and short, with sizes of two bytes, are what they say, and nothing is read twice."""
    for written, value in (("8000", None), ("8100", b""), ("820061", b"a")):
        data = memoryview(bytes.fromhex(written) + b"rest")
        end = len(written) // 2
        assert FLEXIBLE.string(data, 0) == (None if value is None else value.decode(), end)
        assert FLEXIBLE.bytes(data, 0) == (value, end)
    assert compact_array(memoryview(bytes.fromhex("8000")), 0, WireRoom()) == (-1, 2)


@pytest.mark.parametrize("array", [plain_array, compact_array])
def test_arrays_take_room(array: object) -> None:
    """K7: all arrays of a message together have a limit, and none has more items than there are bytes."""
    room = WireRoom()
    many = ITEMS_MAX // 2 + 1
    size = many.to_bytes(4, "big") if array is plain_array else encode_varint(many + 1)
    data = memoryview(size + bytes(many))
    assert array(data, 0, room) == (many, len(size))  # type: ignore[operator]
    with pytest.raises(Malformed, match=f"more than {ITEMS_MAX} items"):
        array(data, 0, room)  # type: ignore[operator]
    with pytest.raises(Malformed, match=f"{many} items are announced, {many - 1} bytes are left"):
        array(data[:-1], 0, WireRoom())  # type: ignore[operator]


def test_null_arrays_take_no_room() -> None:
    """K7: a null never makes room for more."""
    room = WireRoom()
    assert plain_array(memoryview(b"\xff\xff\xff\xff"), 0, room) == (-1, 4)
    assert compact_array(memoryview(b"\x00"), 0, room) == (-1, 1)
    assert plain_array(memoryview(b"\x80\x00\x00\x00"), 0, room)[0] < 0
    assert room.left == ITEMS_MAX


@given(st.lists(st.tuples(UINT32, st.binary(max_size=200)), max_size=5), st.binary(max_size=4))
def test_tags_are_passed_over(tags: list[tuple[int, bytes]], behind: bytes) -> None:
    """K1: whatever is tagged, the place behind it is found."""
    written = encode_varint(len(tags))
    for number, value in tags:
        written += encode_varint(number) + encode_varint(len(value)) + value
    assert skip_tags(memoryview(written + behind), 0) == len(written)
