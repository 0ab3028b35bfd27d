"""Every message in every version and both directions, against the classes that Kafka makes from its own schemas."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

import pytest
from tests.java.jvm import Jvm
from tests.java.plain import same

from holdfast.protocol import messages
from holdfast.protocol.api import APIS, Key
from holdfast.protocol.classes import response_class
from holdfast.protocol.hot import fetch, produce
from holdfast.protocol.schema import decoder
from holdfast.protocol.schema.encoder import encode

SAMPLES = 20
VERSIONS = [(key, version) for key, api in APIS.items() for version in range(api.min_version, api.max_version + 1)]
NAMES = [f"{APIS[key].name}-{version}" for key, version in VERSIONS]


@pytest.fixture(scope="module")
def kafka(needs_java: None) -> Iterator[Jvm]:
    """Kafka's message classes; they need no broker."""
    with Jvm("127.0.0.1:1") as jvm:
        yield jvm


def samples(kafka: Jvm, key: int, version: int, *, request: bool) -> Iterator[tuple[memoryview, dict[str, Any]]]:
    for each in kafka.do("samples", api=key, version=version, request=request, seed=1, count=SAMPLES):
        yield memoryview(base64.b64decode(each["bytes"])), each["json"]


@pytest.mark.parametrize(("key", "version"), VERSIONS, ids=NAMES)
def test_requests(kafka: Jvm, key: Key, version: int) -> None:
    """K1: what Kafka's classes write we read with the same meaning, and would write in the same bytes."""
    for sent, json in samples(kafka, key, version, request=True):
        request = messages.decode_request(key, version, sent)
        same(request, json)
        assert b"".join(messages.encode_request(key, version, request)) == sent


@pytest.mark.parametrize(("key", "version"), VERSIONS, ids=NAMES)
def test_responses(kafka: Jvm, key: Key, version: int) -> None:
    """K1: the same for answers."""
    of = response_class(key)
    for sent, json in samples(kafka, key, version, request=False):
        response = decoder.decode(of, version, sent)
        same(response, json)
        assert encode(response, version) == sent


@pytest.mark.parametrize("version", range(APIS[Key.PRODUCE].min_version, APIS[Key.PRODUCE].max_version + 1))
def test_produce_by_hand(kafka: Jvm, version: int) -> None:
    """K2: our own reader of produce requests finds the same records for the same partitions."""
    for sent, json in samples(kafka, Key.PRODUCE, version, request=True):
        request = produce.decode_request(version, sent)
        assert request[:3] == (json["transactionalId"], json["acks"], json["timeoutMs"])
        found = [
            (topic.name, topic.topic_id, [(part.partition, part.records) for part in topic.partitions])
            for topic in request.topics
        ]
        assert found == [
            (
                topic.get("name"),
                topic_id(topic),
                [(part["index"], binary(part["records"])) for part in topic["partitionData"]],
            )
            for topic in json["topicData"]
        ]


@pytest.mark.parametrize("version", range(APIS[Key.FETCH].min_version, APIS[Key.FETCH].max_version + 1))
def test_fetch_by_hand(kafka: Jvm, version: int) -> None:
    """K2: our own reader of fetch requests finds the same places and limits."""
    for sent, json in samples(kafka, Key.FETCH, version, request=True):
        request = fetch.decode_request(version, sent)
        limits = tuple(json[name] for name in ("maxWaitMs", "minBytes", "maxBytes", "isolationLevel"))
        session = (json.get("sessionId", 0), json.get("sessionEpoch", -1))
        assert request[2:8] == limits + session
        assert [(each.name, each.topic_id, list(map(tuple, each.partitions))) for each in request.topics] == [
            (each.get("topic"), topic_id(each), list(map(place, each["partitions"]))) for each in json["topics"]
        ]
        assert [tuple(each) for each in request.forgotten] == [
            (each.get("topic"), topic_id(each), each["partitions"]) for each in json.get("forgottenTopicsData", ())
        ]
        assert request.rack_id == json.get("rackId", "")


def place(part: dict[str, Any]) -> tuple[int, ...]:
    return (
        part["partition"],
        part.get("currentLeaderEpoch", -1),
        part["fetchOffset"],
        part.get("lastFetchedEpoch", -1),
        part.get("logStartOffset", -1),
        part["partitionMaxBytes"],
    )


def topic_id(topic: dict[str, Any]) -> bytes | None:
    return base64.urlsafe_b64decode(topic["topicId"] + "==") if "topicId" in topic else None


def binary(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text)
