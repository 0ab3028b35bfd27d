"""K2: a metadata answer from kept bytes is the same as one that is made anew."""

from __future__ import annotations

from uuid import UUID

import pytest

from holdfast.protocol import messages
from holdfast.protocol.api import APIS, Key
from holdfast.protocol.generated.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from holdfast.protocol.hot import metadata

VERSIONS = range(APIS[Key.METADATA].min_version, APIS[Key.METADATA].max_version + 1)


def make_answer() -> MetadataResponse:
    broker = MetadataResponseBroker(node_id=0, host="127.0.0.1", port=9092)
    return MetadataResponse(throttle_time_ms=3, brokers=[broker], cluster_id="here", controller_id=0)


def make_topic(number: int) -> MetadataResponseTopic:
    parts = [
        MetadataResponsePartition(partition_index=n, leader_id=0, leader_epoch=5, replica_nodes=[0], isr_nodes=[0])
        for n in range(number % 5)
    ]
    return MetadataResponseTopic(
        name=f"topic {number}", topic_id=UUID(int=number + 1), is_internal=number % 2 == 1, partitions=parts
    )


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("count", [0, 1, 126, 127, 200])
def test_kept_topics(version: int, count: int) -> None:
    """K2: whatever the version, and however many topics."""
    topics = [make_topic(number) for number in range(count)]
    whole = make_answer().replace(topics=topics)
    expected = b"".join(messages.encode_response(Key.METADATA, version, whole))
    kept = [metadata.encode_topic(version, topic) for topic in topics]
    buffers = metadata.encode_response(version, make_answer(), kept)
    assert b"".join(buffers) == expected
    assert all(mine is theirs for mine, theirs in zip(buffers[1:], kept, strict=False))


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("count", [0, 1, 126, 127, 300])
@pytest.mark.parametrize("leaders", [(7,), (1, 2), (3, -1)])
def test_partitions_together(version: int, count: int, leaders: tuple[int, ...]) -> None:
    """K2: written together they are what they are one by one, with a leader or without, and with other readers."""
    for others in ([[]], [[8, 9]], [[8], [9]], [[8], []]):
        check_together(version, leaders, [others[number % len(others)] for number in range(count)])


def check_together(version: int, leaders: tuple[int, ...], readers: list[list[int]]) -> None:
    led = [(56 * (number % 3 == 1), leaders[number % len(leaders)], number // 2) for number in range(len(readers))]
    parts = [
        MetadataResponsePartition(
            error_code=error,
            partition_index=number,
            leader_id=leader,
            leader_epoch=epoch,
            replica_nodes=[leader, *readers[number]] if leader >= 0 else [],
            isr_nodes=[leader, *readers[number]] if leader >= 0 else [],
        )
        for number, (error, leader, epoch) in enumerate(led)
    ]
    expected = metadata.encode_topic(version, make_topic(0).replace(partitions=parts))
    assert metadata.encode_led(version, make_topic(0), led, readers) == expected
    if not any(readers):
        assert metadata.encode_led(version, make_topic(0), led) == expected


def test_an_answer_with_topics_of_its_own_is_refused() -> None:
    """Otherwise they would be lost."""
    answer = make_answer().replace(topics=[make_topic(1)])
    with pytest.raises(ValueError, match="topics of its own"):
        metadata.encode_response(12, answer, [])
