"""K2, K3 and K4: every message, in every version and both directions, is the one another implementation knows."""

from __future__ import annotations

import dataclasses
import random

import pytest
from tests.protocol import oracle

from holdfast.protocol import messages
from holdfast.protocol.api import APIS, Key
from holdfast.protocol.generated.metadata import MetadataResponse, MetadataResponsePartition, MetadataResponseTopic

VERSIONS = [(key, version) for key, api in APIS.items() for version in range(api.min_version, api.max_version + 1)]
NAMES = [f"{APIS[key].name}-{version}" for key, version in VERSIONS]


SAMPLES = 25


@pytest.mark.parametrize(("key", "version"), VERSIONS, ids=NAMES)
def test_requests(key: Key, version: int) -> None:
    """K2: what a client sends says the same to us, and we would have sent the same bytes."""
    for seed in range(SAMPLES):
        entity = oracle.entity(random.Random(seed), oracle.request_entity(key, version))
        sent = oracle.encode(entity)
        request = messages.decode_request(key, version, memoryview(sent))
        said = oracle.values_of_entity(entity)
        assert oracle.values_of_message(request, said) == said, seed
        assert b"".join(messages.encode_request(key, version, request)) == sent, seed


@pytest.mark.parametrize(("key", "version"), VERSIONS, ids=NAMES)
def test_responses(key: Key, version: int) -> None:
    """K2: what we answer says the same to a client, and we understand what another broker would answer."""
    for seed in range(SAMPLES):
        entity = oracle.entity(random.Random(seed), oracle.response_entity(key, version))
        if key == Key.API_VERSIONS:
            entity = dataclasses.replace(entity, error_code=oracle.ErrorCode.none)  # Otherwise it would be version 0.
        sent = oracle.encode(entity)
        response = messages.decode_response(key, version, memoryview(sent))
        said = oracle.values_of_entity(entity)
        assert oracle.values_of_message(response, said) == said, seed
        assert b"".join(messages.encode_response(key, version, response)) == sent, seed


def test_an_answer_may_list_a_large_cluster() -> None:
    """K2: a request with so many items is refused; clients read what a broker tells them."""
    rows = [MetadataResponsePartition(partition_index=number, replica_nodes=[0]) for number in range(60_000)]
    topics = [MetadataResponseTopic(name="t", partitions=rows)]
    [sent] = messages.encode_response(Key.METADATA, 9, MetadataResponse(topics=topics))
    response = messages.decode_response(Key.METADATA, 9, memoryview(sent))
    assert isinstance(response, MetadataResponse)
    assert len(response.topics[0].partitions) == len(rows)
