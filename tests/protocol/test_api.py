"""K1: the table of versions is the one that clients expect."""

from __future__ import annotations

import pytest
from kio.index import load_request_schema

from holdfast.protocol import api, classes, messages
from holdfast.protocol.api import APIS, Key
from holdfast.protocol.errors import UnknownApi, UnsupportedVersion
from holdfast.protocol.schemas import generate

# What Kafka itself advertises.
KAFKA = {
    "Produce": (0, 13),
    "Fetch": (4, 18),
    "ListOffsets": (1, 11),
    "Metadata": (0, 13),
    "OffsetCommit": (2, 10),
    "OffsetFetch": (1, 10),
    "FindCoordinator": (0, 6),
    "JoinGroup": (0, 9),
    "ApiVersions": (0, 4),
    "CreateTopics": (2, 7),
    "InitProducerId": (0, 5),
    "AddPartitionsToTxn": (0, 5),
    "EndTxn": (0, 5),
    "TxnOffsetCommit": (0, 5),
}


def test_ranges_are_those_of_kafka() -> None:
    """K1: a client that knows Kafka finds the same versions."""
    found = {row.name: (row.advertised_from, row.max_version) for row in APIS.values()}
    assert KAFKA.items() <= found.items()


@pytest.mark.parametrize("row", APIS.values(), ids=lambda row: row.name)
def test_every_row_has_its_messages(row: api.Api) -> None:
    """K1: the table says the same as the schemas: number, range and from where on versions are flexible."""
    for kind, message_class in (
        ("Request", classes.request_class(row.key)),
        ("Response", classes.response_class(row.key)),
    ):
        schema = generate.load(f"{row.name}{kind}")
        assert row.key == schema["apiKey"]
        oldest, newest = generate.versions(schema["validVersions"]) or (0, -1)
        assert row.min_version >= oldest
        assert row.max_version == newest or (row.key == Key.INIT_PRODUCER_ID and newest == 6)  # 6 is not stable yet.
        for version in range(row.min_version, row.max_version + 1):
            assert api.is_flexible(row.key, version) == (version >= message_class.FLEXIBLE_FROM)
            assert api.is_flexible(row.key, version) == load_request_schema(row.key, version).__flexible__


def test_find() -> None:
    """K7: an unknown API and an unsupported version are told apart, with the facts."""
    assert api.find(3, 13) is APIS[Key.METADATA]
    with pytest.raises(UnknownApi) as unknown:
        api.find(999, 0)
    assert unknown.value.api_key == 999
    for key, version in ((0, 2), (0, 14), (18, 99), (3, -1)):
        with pytest.raises(UnsupportedVersion, match=f"version {version} is not supported"):
            api.find(key, version)
    assert not api.is_flexible(999, 5)


def test_messages_check_their_version_and_kind() -> None:
    """K7: nothing is decoded or encoded in a version that is not served, nor as something that it is not."""
    with pytest.raises(UnsupportedVersion):
        messages.decode_request(Key.METADATA, 14, memoryview(b""))
    answer = classes.response_class(Key.LIST_GROUPS)()
    with pytest.raises(UnsupportedVersion):
        messages.encode_response(Key.LIST_GROUPS, 6, answer)
    with pytest.raises(TypeError, match="not a message of Metadata"):
        messages.encode_response(Key.METADATA, 5, answer)
