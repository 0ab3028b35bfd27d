"""All messages but the hot ones, both directions for the broker and for clients.

A handler writes:

    from holdfast.protocol.generated.list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse

    ListGroupsResponse(error_code=0, groups=[ListedGroup(group_id="orders", protocol_type="consumer")])
"""

from __future__ import annotations

from holdfast.protocol.api import APIS, Key
from holdfast.protocol.classes import request_class, response_class
from holdfast.protocol.message import Message
from holdfast.protocol.schema import decoder, encoder
from holdfast.types import Buffer

ANSWER_ITEMS_MAX = 5_000_000  # The broker was chosen by the client: its lists may be as long as a cluster is large.


def decode_request(key: Key, version: int, body: memoryview) -> Message:
    """Read a request; raises Malformed for bytes that are none, UnsupportedVersion for a version that is not served."""
    APIS[key].check(version)
    return decoder.decode(request_class(key), version, body)


def encode_response(key: Key, version: int, response: Message) -> list[Buffer]:
    """The answer in a version, without a header."""
    _check(key, version, response, response_class(key))
    return [encoder.encode(response, version)]


def encode_request(key: Key, version: int, request: Message) -> list[Buffer]:
    """For clients: a request in a version, without a header."""
    _check(key, version, request, request_class(key))
    return [encoder.encode(request, version)]


def decode_response(key: Key, version: int, body: memoryview) -> Message:
    """For clients: read an answer. ApiVersions answers in version 0 when it does not know the version asked in."""
    APIS[key].check(version)
    if key == Key.API_VERSIONS and bytes(body[:2]) not in (b"\x00\x00", b""):
        version = 0
    return decoder.decode(response_class(key), version, body, ANSWER_ITEMS_MAX)


def _check(key: Key, version: int, message: Message, expected: type[Message]) -> None:
    APIS[key].check(version)
    if not isinstance(message, expected):
        raise TypeError(f"{type(message).__name__} is not a message of {APIS[key].name}")
