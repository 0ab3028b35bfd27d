"""What the broker sends, for every API and version it advertises, read and written again by Kafka's own classes."""

from __future__ import annotations

import pytest
from tests.java.asks import admin, consumers, data, groups, security, shares, transactions, wrong
from tests.java.asks.wire_world import WireWorld
from tests.java.jvm import Jvm

from holdfast.broker.table import advertised
from holdfast.protocol.api import Key

_OF_GROUPS = {**groups.ASKS, **consumers.ASKS, **shares.ASKS}
ASKS = {**data.ASKS, **_OF_GROUPS, **transactions.ASKS, **admin.ASKS, **security.ASKS}
VERSIONS = [(row.key, version) for row in advertised() for version in range(row.min_version, row.max_version + 1)]
NAMES = [f"{key.name.lower()}-{version}" for key, version in VERSIONS]
WRONG = [each for each in VERSIONS if each[0] in wrong.WRONG]
WRONG_NAMES = [f"{key.name.lower()}-{version}" for key, version in WRONG]


@pytest.fixture(scope="module")
def world(java: Jvm) -> WireWorld:
    return WireWorld(java)


@pytest.mark.parametrize(("key", "version"), VERSIONS, ids=NAMES)
def test_answers(world: WireWorld, key: Key, version: int) -> None:
    """K1: an answer has exactly the bytes that Kafka's classes would write, and says what it should."""
    ask = ASKS[key](world, version)
    answer = world.exchange(key, version, ask.request)
    assert set(answer["errors"]) == ask.errors
    assert ask.check(answer["response"]), answer["response"]


@pytest.mark.parametrize(("key", "version"), WRONG, ids=WRONG_NAMES)
def test_refusals(world: WireWorld, key: Key, version: int) -> None:
    """K1: the same when it is about what is not there: the right error, and nothing that Kafka could not read."""
    request = wrong.spoiled(ASKS[key](world, version).request)
    assert set(world.exchange(key, version, request)["errors"]) == wrong.errors(key, version)


def test_an_unknown_version_of_api_versions(java: Jvm) -> None:
    """K1: it is answered in version 0, which everybody can read, with the versions that can be asked in."""
    answer = java.do("wire.unknown_version")
    assert answer["response"]["errorCode"] == 35
    assert answer["response"]["apiKeys"] == [{"apiKey": 18, "minVersion": 0, "maxVersion": 4}]


@pytest.mark.parametrize(("first", "then"), [(12, 18), (18, 12)])
def test_a_session_stays_with_names_or_with_ids(world: WireWorld, first: int, then: int) -> None:
    """K1: a client that learns a topic's id in the middle of a session is told to begin another one."""
    request = data.fetch(world, first).request
    session = world.exchange(Key.FETCH, first, request)["response"]["sessionId"]
    answer = world.exchange(Key.FETCH, then, {**request, "sessionId": session, "sessionEpoch": 1})
    [error] = set(answer["errors"])
    assert error in ("FETCH_SESSION_ID_NOT_FOUND", "FETCH_SESSION_TOPIC_ID_ERROR")


def test_ranges(java: Jvm) -> None:
    """K1: an API is served in the versions in which Kafka's own brokers serve it."""
    kafka = java.do("wire.ranges")
    ours = {str(int(row.key)): [row.min_version, row.max_version] for row in advertised()}
    assert {key: kafka[key] for key in ours} == ours
