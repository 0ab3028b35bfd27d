"""Answers that say where a partition has gone are those that other implementations read."""

from __future__ import annotations

import pytest
from tests.protocol import oracle

from holdfast.protocol.api import APIS, Key
from holdfast.protocol.hot.fetch_response import ENDPOINTS_FROM, Fetched, FetchedTopic
from holdfast.protocol.hot.fetch_response import encode_response as encode_fetched
from holdfast.protocol.hot.leaders import CurrentLeader, LeaderAddress
from holdfast.protocol.hot.produce_response import (
    LEADERS_FROM,
    Produced,
    ProducedElsewhere,
    ProducedTopic,
    encode_response,
    frame_one,
)

ENDPOINTS = [LeaderAddress(2, "b.example", 9092), LeaderAddress(70_000, "x" * 130, 65_535)]
SAID = [{"node_id": 2, "host": "b.example", "port": 9092, "rack": None}]
SAID.append({"node_id": 70_000, "host": "x" * 130, "port": 65_535, "rack": None})
NOT_LEADER = 6


def _versions(key: Key) -> range:
    return range(APIS[key].min_version, APIS[key].max_version + 1)


@pytest.mark.parametrize("version", _versions(Key.PRODUCE))
def test_a_producer_is_told_who_leads(version: int) -> None:
    """K2, C1, in part: from version 10 on; before, and for partitions that are here, all is as it was."""
    moved = ProducedElsewhere(1, NOT_LEADER, error_message="led elsewhere")
    moved.leader = CurrentLeader(2, 7)
    topic: str | bytes = bytes(16) if version >= 13 else "t"
    here = Produced(0, 0, 5)
    body = encode_response(version, [ProducedTopic(topic, [here, moved])], 3, ENDPOINTS)
    entity = oracle.values_of_entity(oracle.decode(oracle.response_entity(Key.PRODUCE, version), body))
    found = entity["responses"][0]["partition_responses"]
    assert [each["error_code"] for each in found] == [0, NOT_LEADER]
    if version >= LEADERS_FROM:
        leaders = [tuple(each["current_leader"].values()) for each in found]
        assert leaders == [(-1, -1), (2, 7)]
        assert [dict(each) for each in entity["node_endpoints"]] == SAID
    else:
        plain = Produced(*moved)
        assert body == encode_response(version, [ProducedTopic(topic, [here, plain])], 3)
        assert frame_one(version, 1, topic, moved) == frame_one(version, 1, topic, plain)


@pytest.mark.parametrize("version", _versions(Key.FETCH))
def test_a_reader_is_told_who_leads(version: int) -> None:
    """K2, C1, in part: with the addresses from version 16 on."""
    topic: str | bytes = bytes(16) if version >= 13 else "t"
    answers = [Fetched(0), Fetched(1, NOT_LEADER, current_leader=CurrentLeader(2, 7))]
    body = b"".join(encode_fetched(version, [FetchedTopic(topic, answers)], endpoints=ENDPOINTS))
    entity = oracle.values_of_entity(oracle.decode(oracle.response_entity(Key.FETCH, version), body))
    if version >= 12:
        leaders = [tuple(each["current_leader"].values()) for each in entity["responses"][0]["partitions"]]
        assert leaders == [(-1, -1), (2, 7)]
    if version >= ENDPOINTS_FROM:
        assert [dict(each) for each in entity["node_endpoints"]] == SAID
