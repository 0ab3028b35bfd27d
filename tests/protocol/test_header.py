"""K1: headers of requests and answers, as all clients write and read them."""

from __future__ import annotations

from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.schema.request_header.v1.header import RequestHeader as PlainHeader
from kio.schema.request_header.v2.header import RequestHeader as FlexibleHeader
from kio.serial import entity_writer

from holdfast.protocol.api import APIS, Key, is_flexible
from holdfast.protocol.errors import Malformed
from holdfast.protocol.header import decode_request_header, decode_response_header, frame_request, frame_response

VERSIONS = [(key, version) for key, api in APIS.items() for version in range(api.min_version, api.max_version + 1)]


@given(st.sampled_from(VERSIONS), st.integers(-(2**31), 2**31 - 1), st.none() | st.text(max_size=200), st.binary())
def test_requests(api: tuple[Key, int], correlation_id: int, client_id: str | None, body: bytes) -> None:
    """K1: what another implementation writes before a request is read, and we would write the same."""
    key, version = api
    header_class = FlexibleHeader if is_flexible(key, version) else PlainHeader
    out = BytesIO()
    header = header_class(
        request_api_key=key, request_api_version=version, correlation_id=correlation_id, client_id=client_id
    )
    entity_writer(header_class)(out, header)
    frame = out.getvalue() + body
    found = decode_request_header(memoryview(frame))
    assert found == (key, version, correlation_id, client_id, len(out.getvalue()))
    whole = b"".join(frame_request(key, version, correlation_id, client_id, [body]))
    assert whole == len(frame).to_bytes(4, "big") + frame


@given(st.sampled_from(VERSIONS), st.integers(-(2**31), 2**31 - 1), st.lists(st.binary(max_size=5), max_size=3))
def test_responses(api: tuple[Key, int], correlation_id: int, body: list[bytes]) -> None:
    """K1: an answer has its size, the request's number, no tags in flexible versions, and its body untouched."""
    key, version = api
    frame = frame_response(key, version, correlation_id, body)
    assert all(mine is theirs for mine, theirs in zip(frame[1:], body, strict=True))
    whole = b"".join(frame)
    assert int.from_bytes(whole[:4], "big") == len(whole) - 4
    found, start = decode_response_header(key, version, memoryview(whole)[4:])
    assert found == correlation_id
    assert whole[4 + start :] == b"".join(body)
    assert start == (5 if is_flexible(key, version) and key != Key.API_VERSIONS else 4)


def test_known_bytes() -> None:
    """K1: the first request of librdkafka and the first of the Java client, byte by byte."""
    old = bytes.fromhex("0012 0003 00000001 0007 72646b61666b61 00 0b")
    assert decode_request_header(memoryview(old)) == (18, 3, 1, "rdkafka", 18)
    bare = bytes.fromhex("0012 0000 00000007 ffff")
    assert decode_request_header(memoryview(bare)) == (18, 0, 7, None, 10)
    assert b"".join(frame_response(18, 3, 7, [b"body"])) == bytes.fromhex("00000008 00000007") + b"body"
    assert b"".join(frame_response(3, 9, 7, [b"body"])) == bytes.fromhex("00000009 00000007 00") + b"body"


def test_headers_of_versions_to_come() -> None:
    """K1: a client may ask ApiVersions in a version that nobody knows here, and must get an answer."""
    frame = bytes.fromhex("0012 0063 00000001 0001 61 00 ffff")
    assert decode_request_header(memoryview(frame)) == (18, 99, 1, "a", 12)
    unknown = bytes.fromhex("03e7 0001 00000001 0001 61")
    assert decode_request_header(memoryview(unknown)) == (999, 1, 1, "a", 11)


def test_the_one_header_without_a_client() -> None:
    """K1: the oldest header there is ends with the request's number."""
    assert decode_request_header(memoryview(bytes.fromhex("0007 0000 00000005 00000001"))) == (7, 0, 5, None, 8)


def test_tags_are_passed_over() -> None:
    """K1: whatever a client may add to its header."""
    frame = bytes.fromhex("0003 000c 00000001 0001 61 02 00 03 616263 81 01 00") + b"body"
    found = decode_request_header(memoryview(frame))
    assert frame[found.body :] == b"body"


@pytest.mark.parametrize(
    ("frame", "why"),
    [
        ("", "ends too early"),
        ("0003 000c 00000001", "ends too early"),
        ("0003 000c 00000001 0005 6161", "5 bytes are announced, 2 are left"),
        ("0003 000c 00000001 0002 ffff 00", "not UTF-8"),
        ("0003 000c 00000001 0001 61", "ends too early"),
        ("0003 000c 00000001 0001 61 01 00 ff 01", "255 bytes are announced, 0 are left"),
        ("0003 000c 00000001 0001 61 ff ff ff ff ff 01", "more than 32 bits"),
        ("0003 000c 00000001 0001 61 ff ff ff ff 7f", "more than 32 bits"),
    ],
)
def test_malformed(frame: str, why: str) -> None:
    """K7: a header that is none is refused, with the reason."""
    with pytest.raises(Malformed, match=f"^request header, byte .*{why}"):
        decode_request_header(memoryview(bytes.fromhex(frame)))


def test_malformed_answers() -> None:
    """K7: the same for a client."""
    for frame in (b"", b"\x00\x00\x00", b"\x00\x00\x00\x00"):
        with pytest.raises(Malformed, match=r"^response header"):
            decode_response_header(Key.METADATA, 9, memoryview(frame))
