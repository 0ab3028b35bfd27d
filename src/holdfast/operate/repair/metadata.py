"""The cluster's metadata, from its newest version that can be read; what later ones changed is lost, and said so."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

from holdfast.cluster.metadata import Metadata, Topic, apply
from holdfast.cluster.metadata_log import FORMAT, KIND, PREFIX, encode
from holdfast.errors import HoldfastError, Rejected
from holdfast.io.chance import Chance
from holdfast.io.envelope import unseal
from holdfast.io.objects import NotFound, Objects
from holdfast.io.store_errors import NewerFormat
from holdfast.io.versions import FULL_EVERY, Stamp, Versions, full_before
from holdfast.operate.place import find_partitions
from holdfast.operate.repair.item import Item
from holdfast.types import PartitionId

_PRODUCER_IDS_SKIPPED = 1_000_000  # More than lost versions can have handed out: none may be handed out twice.


@dataclass
class FoundMetadata:
    """What is known of the cluster. Without items it is sound, and stays as it is."""

    metadata: Metadata
    newest: int | None = None
    items: list[Item] = field(default_factory=list)
    originals: list[str] = field(default_factory=list)


def find_metadata(
    objects: Objects, cluster: str, deleted: Collection[UUID], in_log: Iterable[PartitionId] = ()
) -> FoundMetadata:
    """The newest readable version. Topics that only a lost one knew get a name from their id, and partitions that only
    a lost one knew, but the store or the log (`in_log`) has, are there again."""
    versions = Versions(objects, PREFIX)
    numbers = [number for each in objects.list(PREFIX) if (number := versions.number(each.name)) is not None]
    found = FoundMetadata(Metadata(cluster), numbers[-1] if numbers else None)
    for number in reversed(numbers):
        try:
            found.metadata = _load(versions, number, cluster)
            break
        except NewerFormat:
            raise
        except (HoldfastError, KeyError, TypeError, ValueError) as damage:
            what = f"{damage}; what it changed is lost, such as topics, configs and quotas"
            found.items.append(Item("metadata", versions.name(number), what))
            found.originals.append(versions.name(number))
    if found.items:
        _count_partitions(found, {*find_partitions(objects, None, None), *in_log})
        _name_orphans(objects, found, deleted)
        skipped = found.metadata.producer_ids_end + _PRODUCER_IDS_SKIPPED
        found.metadata = replace(found.metadata, producer_ids_end=skipped)
    return found


def _load(versions: Versions, number: int, cluster: str) -> Metadata:
    full_number = full_before(number)
    metadata = Metadata.from_body(cluster, full_number, _body(versions, full_number, cluster)["full"])
    for step in [] if number == full_number else _body(versions, number, cluster)["steps"]:
        metadata = apply(metadata, step)
    return replace(metadata, version=number)


def _body(versions: Versions, number: int, cluster: str) -> dict[str, Any]:
    name = versions.name(number)
    try:
        body = unseal(name, KIND, FORMAT, versions.objects.get(name))
    except NotFound as missing:
        raise ValueError(str(missing)) from missing
    if body["cluster"] != cluster:
        raise Rejected(f"{name} belongs to cluster {body['cluster']}, not to {cluster}")
    return body


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
    found.metadata = replace(found.metadata, topics=topics)


def _topics(found: FoundMetadata) -> list[tuple[str, Topic]]:
    return list(found.metadata.topics.items())


def _with_at_least(topic: Topic, partitions: int) -> Topic:
    return topic if topic.partitions >= partitions else replace(topic, partitions=partitions)


def _name_orphans(objects: Objects, found: FoundMetadata, deleted: Collection[UUID]) -> None:
    known = {each.topic_id for each in found.metadata.topics.values()} | set(deleted)
    partitions: dict[UUID, int] = {}
    for home in find_partitions(objects, None, None):
        if home.topic_id not in known:
            partitions[home.topic_id] = max(home.partition + 1, partitions.get(home.topic_id, 0))
    topics = dict(found.metadata.topics)
    for topic_id, count in sorted(partitions.items()):
        name = f"recovered-{topic_id.hex[:12]}"
        topics[name] = Topic(name, topic_id, count, {})
        found.items.append(Item("metadata", str(topic_id), f"the topic's name and configs are lost: it becomes {name}"))
    found.metadata = replace(found.metadata, topics=topics)


def write_metadata(objects: Objects, found: FoundMetadata, writer: str, chance: Chance) -> None:
    """Everything as one full version above all that are there, so that nobody reads a damaged one again."""
    versions = Versions(objects, PREFIX)
    number = 0 if found.newest is None else full_before(found.newest) + FULL_EVERY
    metadata = replace(found.metadata, version=number)
    objects.put_if_absent(versions.name(number), [encode(metadata, [], Stamp(0, writer, f"{chance.bits(128):032x}"))])
    versions.leave_hint(number)
