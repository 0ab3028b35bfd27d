"""The cluster's metadata, from its newest version that can be read; what later ones changed is lost, and said so."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from uuid import UUID

from holdfast.cluster.metadata import Metadata, Topic
from holdfast.cluster.metadata_log import METADATA
from holdfast.io.objects import Objects
from holdfast.operate.place import find_partitions
from holdfast.operate.repair.item import Item
from holdfast.operate.repair.shared import FoundShared, find_shared
from holdfast.types import PartitionId

_PRODUCER_IDS_SKIPPED = 1_000_000  # More than lost versions can have handed out: none may be handed out twice.


FoundMetadata = FoundShared[Metadata]


def find_metadata(
    objects: Objects, cluster: str, deleted: Collection[UUID], in_log: Iterable[PartitionId] = ()
) -> FoundMetadata:
    """The newest readable version. Topics that only a lost one knew get a name from their id, and partitions that only
    a lost one knew, but the store or the log (`in_log`) has, are there again."""
    lost = "what it changed is lost, such as topics, configs and quotas"
    found = find_shared(METADATA, objects, cluster, lost)
    if found.items:
        _count_partitions(found, {*find_partitions(objects, None, None), *in_log})
        _name_orphans(objects, found, deleted)
        skipped = found.value.producer_ids_end + _PRODUCER_IDS_SKIPPED
        found.value = replace(found.value, producer_ids_end=skipped)
    return found


def _count_partitions(found: FoundMetadata, homes: Iterable[PartitionId]) -> None:
    """A lost version may have given a topic more partitions."""
    counts: dict[UUID, int] = {}
    for home in homes:
        counts[home.topic_id] = max(home.partition + 1, counts.get(home.topic_id, 0))
    topics = {name: _with_at_least(topic, counts.get(topic.topic_id, 0)) for name, topic in _topics(found)}
    for name, topic in _topics(found):
        if topics[name] is not topic:
            what = f"it has {topics[name].partitions} partitions, where the lost version may have said more"
            found.items.append(Item("metadata", name, what))
    found.value = replace(found.value, topics=topics)


def _topics(found: FoundMetadata) -> list[tuple[str, Topic]]:
    return list(found.value.topics.items())


def _with_at_least(topic: Topic, partitions: int) -> Topic:
    return topic if topic.partitions >= partitions else replace(topic, partitions=partitions)


def _name_orphans(objects: Objects, found: FoundMetadata, deleted: Collection[UUID]) -> None:
    known = {each.topic_id for each in found.value.topics.values()} | set(deleted)
    partitions: dict[UUID, int] = {}
    for home in find_partitions(objects, None, None):
        if home.topic_id not in known:
            partitions[home.topic_id] = max(home.partition + 1, partitions.get(home.topic_id, 0))
    topics = dict(found.value.topics)
    for topic_id, count in sorted(partitions.items()):
        name = f"recovered-{topic_id.hex[:12]}"
        topics[name] = Topic(name, topic_id, count, {})
        found.items.append(Item("metadata", str(topic_id), f"the topic's name and configs are lost: it becomes {name}"))
    found.value = replace(found.value, topics=topics)
