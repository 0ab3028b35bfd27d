"""Every request to a broker that waits for its store is answered with "try again", or its connection is closed."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import UUID

import pytest

from holdfast.broker.net.request import Request
from holdfast.broker.table import advertised
from holdfast.broker.waiting.waiting import NotYet, Waiting
from holdfast.cluster.metadata import Metadata, Topic
from holdfast.io.address import Address
from holdfast.protocol.api import APIS, Api, Key
from holdfast.protocol.classes import request_class
from holdfast.protocol.codes import Code
from holdfast.protocol.generated.metadata import MetadataRequestTopic
from holdfast.protocol.header import RequestHeader
from holdfast.protocol.messages import decode_response, encode_request
from holdfast.security.principal import ANONYMOUS, Principal, Session
from holdfast.security.rules import Rules

ORDERS = Topic("orders", UUID(int=7), 2)
COPY = Metadata("c" * 32, 5, {"orders": ORDERS})
WAITING = Waiting(COPY, 1)
ADMIN = Principal("admin")
GUARDED = Waiting(COPY, 1, rules=Rules((), [ADMIN], is_open=True))  # Whatever is open: the rules are in the store.
RETRYABLE = {
    Code.KAFKA_STORAGE_ERROR,
    Code.COORDINATOR_NOT_AVAILABLE,
    Code.LEADER_NOT_AVAILABLE,
    Code.FETCH_SESSION_ID_NOT_FOUND,
}


def ask(key: Key, version: int, work: Waiting = WAITING, who: Principal = ANONYMOUS, /, **fields: object) -> Any:
    """The answer to a request, decoded."""
    body = b"".join(bytes(each) for each in encode_request(key, version, request_class(key)(**fields)))
    header = RequestHeader(key, version, 3, "client", 0)
    request = Request(header, memoryview(body), Session(who, "here", "PLAINTEXT"), Address("127.0.0.1", 9092))
    frame = b"".join(bytes(each) for each in asyncio.run(work.handle(request)))
    tags = version >= APIS[key].flexible_from and key != Key.API_VERSIONS
    return decode_response(key, version, memoryview(frame)[9 if tags else 8 :])


@pytest.mark.parametrize("version", [0, 4, 9, 12])
def test_topics_are_told_from_the_copy(version: int) -> None:
    """D4: one that is not in it may be there all the same."""
    names = [{"name": "orders"}, {"name": "unknown"}]
    answer = ask(Key.METADATA, version, topics=[MetadataRequestTopic(topic_id=None, **each) for each in names])
    orders, unknown = answer.topics
    assert (orders.error_code, orders.name, len(orders.partitions)) == (0, "orders", 2)
    assert unknown.error_code == Code.LEADER_NOT_AVAILABLE


@pytest.mark.parametrize("row", list(advertised()), ids=lambda row: row.name)
def test_what_is_refused_can_be_tried_again(row: Api) -> None:
    """D4, L3: in every version; no answer says that something is there, is not there, or is out of range."""
    key = Key(row.key)
    own = (Key.API_VERSIONS, Key.METADATA, Key.PRODUCE, Key.FETCH, Key.LIST_OFFSETS, Key.FIND_COORDINATOR)
    if key in own or key == Key.OFFSET_FOR_LEADER_EPOCH:
        return  # They have answers of their own.
    for version in range(row.advertised_from, row.max_version + 1):
        try:
            answer = ask(key, version)
        except NotYet:
            continue
        assert Code(answer.error_code) in RETRYABLE


@pytest.mark.parametrize("row", list(advertised()), ids=lambda row: row.name)
def test_with_an_authorizer_only_super_users_are_answered(row: Api) -> None:
    """X7, X8: the rules are in the store. Nobody else learns which topics there are, by whatever request."""
    key = Key(row.key)
    for version in range(row.min_version, row.max_version + 1):
        if key == Key.API_VERSIONS:
            assert ask(key, version, GUARDED).error_code == 0
            continue
        for stranger in (ANONYMOUS, Principal("eve")):
            with pytest.raises(NotYet) as refused:
                ask(key, version, GUARDED, stranger)
            assert "orders" not in str(refused.value)
    if key == Key.METADATA:
        assert [each.name for each in ask(key, 12, GUARDED, ADMIN, topics=None).topics] == ["orders"]
