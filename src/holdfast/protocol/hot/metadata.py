"""Answers to Metadata from topics that are kept as bytes: clients ask often, and topics seldom change.

An answer is | throttle, brokers, cluster id, controller | topics | cluster's operations, error, tags |. Only the outer
parts are made for each answer; a topic's bytes depend on nothing but the topic and the version.
"""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.protocol.generated.metadata import MetadataResponse, MetadataResponseTopic
from holdfast.protocol.schema.encoder import encode, encode_part
from holdfast.protocol.wire import encode_varint
from holdfast.types import Buffer

_FLEXIBLE_FROM = MetadataResponse.FLEXIBLE_FROM


def encode_topic(version: int, topic: MetadataResponseTopic) -> bytes:
    """One topic in a version, to be kept."""
    return encode_part(topic, version, flexible=version >= _FLEXIBLE_FROM)


def encode_response(version: int, answer: MetadataResponse, topics: Sequence[Buffer]) -> list[Buffer]:
    """An answer without topics of its own, and these in their place."""
    if answer.topics:
        raise ValueError("the answer has topics of its own")
    outer = encode(answer, version)
    end = len(outer) - _size_behind_topics(version)
    if version >= _FLEXIBLE_FROM:
        start, count = end - 1, encode_varint(len(topics) + 1)
    else:
        start, count = end - 4, len(topics).to_bytes(4, "big")
    return [outer[:start] + count, *topics, outer[end:]]


def _size_behind_topics(version: int) -> int:
    operations = 4 if 8 <= version <= 10 else 0
    error = 2 if version >= 13 else 0
    tags = 1 if version >= _FLEXIBLE_FROM else 0
    return operations + error + tags
