"""The offsets that groups have committed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from holdfast.client.codes import check
from holdfast.client.connection import Connection
from holdfast.client.nodes import GROUP, Nodes
from holdfast.client.partition import Pair, by_topic
from holdfast.protocol.api import Key
from holdfast.protocol.generated.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from holdfast.protocol.generated.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
)
from holdfast.types import TopicPartition

_GROUPS_FROM = 8  # OffsetFetch: from this version on for several groups at once.


class Committed(NamedTuple):
    """A committed offset, and the text that came with it."""

    offset: int
    metadata: str


def topics_of(topic: Any, partition: Any, offsets: Mapping[Pair, tuple[int, str]]) -> list[Any]:
    """Offsets by topic, made of a request's own classes of topics and partitions."""
    return [
        topic(
            name=name,
            partitions=[
                partition(
                    partition_index=number,
                    committed_offset=offsets[name, number][0],
                    committed_leader_epoch=-1,
                    committed_metadata=offsets[name, number][1],
                )
                for number in numbers
            ],
        )
        for name, numbers in by_topic(offsets).items()
    ]


def commit_offsets(nodes: Nodes, group: str, offsets: Mapping[Pair, tuple[int, str]]) -> None:
    """Commit offsets (each with a text) for a group without members."""
    topics = topics_of(OffsetCommitRequestTopic, OffsetCommitRequestPartition, offsets)
    wanted = OffsetCommitRequest(
        group_id=group, generation_id_or_member_epoch=-1, member_id="", retention_time_ms=-1, topics=topics
    )
    for each in nodes.coordinator(GROUP, group).ask(Key.OFFSET_COMMIT, wanted).topics:
        for part in each.partitions:
            pair = TopicPartition(each.name, part.partition_index)
            check(f"commit the offset of {pair} for group {group}", part.error_code)


def fetch_offsets(
    nodes: Nodes, group: str, pairs: Iterable[Pair] | None, *, stable: bool
) -> dict[TopicPartition, Committed]:
    """What a group has committed, for these partitions or all. With `stable`, open transactions are waited for."""
    topics = None if pairs is None else by_topic(pairs)
    answered = _ask_offsets(nodes.coordinator(GROUP, group), group, topics, stable=stable)
    check(f"the offsets of group {group}", answered.error_code)
    found: dict[TopicPartition, Committed] = {}
    for each in answered.topics:
        for part in each.partitions:
            pair = TopicPartition(each.name, part.partition_index)
            check(f"the offset of {pair} of group {group}", part.error_code)
            if part.committed_offset >= 0:
                found[pair] = Committed(part.committed_offset, part.metadata or "")
    return found


def _ask_offsets(
    connection: Connection, group: str, topics: dict[str, list[int]] | None, *, stable: bool
) -> OffsetFetchResponse | OffsetFetchResponseGroup:
    if connection.version(Key.OFFSET_FETCH) < _GROUPS_FROM:
        named = (
            None
            if topics is None
            else [OffsetFetchRequestTopic(name=name, partition_indexes=each) for name, each in topics.items()]
        )
        return connection.ask(Key.OFFSET_FETCH, OffsetFetchRequest(group_id=group, topics=named, require_stable=stable))
    several = (
        None
        if topics is None
        else [OffsetFetchRequestTopics(name=name, partition_indexes=each) for name, each in topics.items()]
    )
    wanted = OffsetFetchRequestGroup(group_id=group, member_id=None, member_epoch=-1, topics=several)
    [answered] = connection.ask(Key.OFFSET_FETCH, OffsetFetchRequest(groups=[wanted], require_stable=stable)).groups
    return answered
