"""Requests and answers as real frames, without sockets: what a connection hands to the broker, and takes from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from holdfast.broker.net.request import Request
from holdfast.io.address import Address
from holdfast.protocol.api import Key
from holdfast.protocol.classes import request_class
from holdfast.protocol.header import decode_request_header, decode_response_header, frame_request
from holdfast.protocol.message import part_class
from holdfast.protocol.messages import decode_response, encode_request
from holdfast.record.batch import split
from holdfast.record.records import read_records
from holdfast.security.principal import ANONYMOUS, Session
from holdfast.types import Buffer

_SIZE = 4  # Of what stands before a frame and says how long it is.


def request(key: Key, version: int, fields: Mapping[str, Any]) -> Request:
    """A request as a connection has received it: in memory of its own, which may be written to."""
    body = encode_request(key, version, _message(request_class(key), fields))
    frame = memoryview(bytearray(b"".join(frame_request(key, version, 7, "sim", body))))[_SIZE:]
    return Request(
        decode_request_header(frame), frame, Session(ANONYMOUS, "127.0.0.1", "PLAINTEXT"), Address("127.0.0.1", 9092)
    )


def answer(to: Request, buffers: Sequence[Buffer]) -> Any:
    """The answer that a client decodes from what the broker sent."""
    frame = memoryview(b"".join(buffers))[_SIZE:]
    number, start = decode_response_header(to.header.api_key, to.version, frame)
    assert number == 7
    return decode_response(Key(to.header.api_key), to.version, frame[start:])


def _message(of: Any, fields: Mapping[str, Any]) -> Any:
    kinds = {row[0]: row[1].removeprefix("[]") for row in of.ROWS}
    return of(**{name: _value(of, kinds[name], value) for name, value in fields.items()})


def _value(of: Any, kind: str, value: Any) -> Any:
    if isinstance(value, Mapping):
        return _message(part_class(of, kind), value)
    if isinstance(value, list) and value and isinstance(value[0], Mapping):
        return [_message(part_class(of, kind), each) for each in value]
    return value


def records(data: bytes | None) -> list[tuple[int, bytes]]:
    """Offset and value of each record in fetched bytes."""
    found = []
    for _, batch in split(data or b""):
        found += [(each.offset or 0, each.value or b"") for each in read_records(batch)]
    return found
