"""All that the cluster knows of itself, as one frozen value. Every change is a step that can be repeated elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any
from uuid import UUID

from holdfast.cluster.errors import (
    BrokerBehind,
    BrokersBehind,
    LeaderOther,
    LevelBelow,
    ProducerIdsTaken,
    SpreadAlready,
    TopicExists,
    TopicUnknown,
)
from holdfast.cluster.leads import Leads
from holdfast.cluster.level import FIRST
from holdfast.cluster.lives import Lives

Configs = Mapping[str, str]
DELETED_MAX = 2000  # Of more deleted topics only the last are remembered.


@dataclass(frozen=True, slots=True)
class Topic:
    """One topic. Its id is its own for ever; a topic made again under the same name has another."""

    name: str
    topic_id: UUID
    partitions: int
    configs: Configs = field(default_factory=dict)  # Only what was set; everything else has its default.

    def to_row(self) -> list[Any]:
        return [self.name, self.topic_id.hex, self.partitions, dict(self.configs)]

    @classmethod
    def from_row(cls, row: list[Any]) -> Topic:
        name, topic_id, partitions, configs = row
        return cls(name, UUID(hex=topic_id), partitions, MappingProxyType(configs))


@dataclass(frozen=True, slots=True)
class Metadata:
    """One version of the cluster's metadata."""

    cluster_id: str
    version: int = -1  # Nothing was written yet.
    topics: Mapping[str, Topic] = field(default_factory=dict)  # By name.
    producer_ids_end: int = 0  # Ids below this may have been handed out.
    broker_configs: Configs = field(default_factory=dict)  # Set while brokers ran, by `kind/resource/name`.
    quotas: Mapping[str, Mapping[str, float]] = field(default_factory=dict)  # By entity, in its JSON form.
    deleted: tuple[UUID, ...] = ()  # Topics, so that a broker which comes back late does not take them for lost.
    lives: Lives = field(default_factory=Lives)  # Of brokers that share the store; one that is alone has none.
    leads: Leads = field(default_factory=Leads)  # By partition, if it is not one of them that leads everything.
    level: int = FIRST  # Up to which formats and steps may be written.

    def topic(self, name: str) -> Topic:
        found = self.topics.get(name)
        if found is None:
            raise TopicUnknown(name)
        return found

    def topic_by_id(self, topic_id: UUID) -> Topic:
        for each in self.topics.values():
            if each.topic_id == topic_id:
                return each
        raise TopicUnknown(str(topic_id))

    def to_body(self) -> dict[str, Any]:
        lives = {"lives": self.lives.to_body()} if self.lives.last else {}
        leads = {"leads": self.leads.to_body()} if self.leads.is_spread else {}
        level = {"level": self.level} if self.level > FIRST else {}
        return {
            "topics": [each.to_row() for each in self.topics.values()],
            "producer_ids_end": self.producer_ids_end,
            "broker_configs": dict(self.broker_configs),
            "quotas": {entity: dict(values) for entity, values in self.quotas.items()},
            "deleted": [each.hex for each in self.deleted],
            **lives,
            **leads,
            **level,
        }

    @classmethod
    def from_body(cls, cluster_id: str, version: int, body: dict[str, Any]) -> Metadata:
        topics = (Topic.from_row(row) for row in body["topics"])
        return cls(
            cluster_id,
            version,
            MappingProxyType({each.name: each for each in topics}),
            body["producer_ids_end"],
            MappingProxyType(body["broker_configs"]),
            MappingProxyType(body["quotas"]),
            tuple(UUID(hex=each) for each in body.get("deleted", ())),
            Lives.from_body(body["lives"]) if "lives" in body else Lives(),
            Leads.from_body(body["leads"]) if "leads" in body else Leads(),
            body.get("level", FIRST),
        )


Step = list[Any]


def create_topic(topic: Topic) -> Step:
    return ["create", topic.to_row()]


def delete_topic(topic_id: UUID) -> Step:
    return ["delete", topic_id.hex]


def set_partitions(topic_id: UUID, partitions: int) -> Step:
    return ["partitions", topic_id.hex, partitions]


def set_configs(topic_id: UUID, configs: Configs) -> Step:
    """All configs of a topic that differ from their defaults."""
    return ["configs", topic_id.hex, dict(configs)]


def take_producer_ids(start: int, end: int) -> Step:
    """The ids `[start, end)`: only one process gets them."""
    return ["producer_ids", start, end]


def set_broker_configs(configs: Configs) -> Step:
    """All configs that were set while brokers ran."""
    return ["broker_configs", dict(configs)]


def set_quota(entity: str, values: Mapping[str, float]) -> Step:
    """The quotas of one entity; none removes it."""
    return ["quota", entity, dict(values)]


def raise_level(level: int) -> Step:
    """Formats and steps up to this level may be written. Expects that all who live know it."""
    return ["level", level]


def apply(metadata: Metadata, step: Step) -> Metadata:
    """The metadata after a step. Raises when it does not fit."""
    kind, *content = step
    after: Metadata = _APPLY[kind](metadata, *content)
    return after


def _create(metadata: Metadata, row: list[Any]) -> Metadata:
    topic = Topic.from_row(row)
    if topic.name in metadata.topics:
        raise TopicExists(topic.name)
    return _with_topics(metadata, {**metadata.topics, topic.name: topic})


def _delete(metadata: Metadata, topic_id: str) -> Metadata:
    gone = metadata.topic_by_id(UUID(hex=topic_id))
    left = {name: each for name, each in metadata.topics.items() if name != gone.name}
    deleted = (*metadata.deleted, gone.topic_id)[-DELETED_MAX:]
    return replace(_with_topics(metadata, left), deleted=deleted, leads=metadata.leads.without(gone.topic_id))


def _partitions(metadata: Metadata, topic_id: str, partitions: int) -> Metadata:
    return _changed(metadata, replace(metadata.topic_by_id(UUID(hex=topic_id)), partitions=partitions))


def _configs(metadata: Metadata, topic_id: str, configs: dict[str, str]) -> Metadata:
    return _changed(metadata, replace(metadata.topic_by_id(UUID(hex=topic_id)), configs=MappingProxyType(configs)))


def _changed(metadata: Metadata, topic: Topic) -> Metadata:
    return _with_topics(metadata, {**metadata.topics, topic.name: topic})


def _with_topics(metadata: Metadata, topics: dict[str, Topic]) -> Metadata:
    return replace(metadata, topics=MappingProxyType(topics))


def _quota(metadata: Metadata, entity: str, values: dict[str, float]) -> Metadata:
    quotas = {name: each for name, each in metadata.quotas.items() if name != entity}
    if values:
        quotas[entity] = values
    return replace(metadata, quotas=MappingProxyType(quotas))


def _producer_ids(metadata: Metadata, *span: int) -> Metadata:
    """Earlier releases wrote only the end."""
    if len(span) > 1 and span[0] != metadata.producer_ids_end:
        raise ProducerIdsTaken(span[0], metadata.producer_ids_end)
    return replace(metadata, producer_ids_end=max(span[-1], metadata.producer_ids_end))


def _join(metadata: Metadata, broker: int, row: Mapping[str, Any]) -> Metadata:
    lives = metadata.lives.joined(broker, row)
    known = lives.by_broker[broker].level
    if known < metadata.level:
        raise BrokerBehind(broker, known, metadata.level)
    return replace(metadata, lives=lives)


def _level(metadata: Metadata, level: int) -> Metadata:
    if level < metadata.level:
        raise LevelBelow(level, metadata.level)
    if behind := metadata.lives.behind(level):
        raise BrokersBehind(level, behind)
    return replace(metadata, level=level)


def _end(metadata: Metadata, broker: int, life: int) -> Metadata:
    lives = metadata.lives.ended(broker, life)
    return replace(metadata, lives=lives.remembered(broker, life) if metadata.leads.is_spread else lives)


def _forget(metadata: Metadata, life: int) -> Metadata:
    for home in metadata.leads.led_by(life):
        raise LeaderOther(home.topic_id, home.partition, *metadata.leads.of(home))
    return replace(metadata, lives=metadata.lives.forgotten(life))


def _lead(metadata: Metadata, broker: int, life: int) -> Metadata:
    if metadata.leads.is_spread:
        raise SpreadAlready
    return replace(metadata, lives=metadata.lives.led_by(broker, life))


def _spread(metadata: Metadata, number: int, epoch: int) -> Metadata:
    return replace(metadata, lives=metadata.lives.counted_from(number), leads=metadata.leads.spread(epoch))


def _give(metadata: Metadata, by: int, rows: list[list[Any]]) -> Metadata:
    counts = {each.topic_id: each.partitions for each in metadata.topics.values()}
    for raw, first, count, *_ in rows:
        if first + count > counts.get(UUID(hex=raw), 0):
            raise TopicUnknown(f"{raw}-{first + count - 1}")
    return replace(metadata, leads=metadata.leads.given(by, rows, metadata.lives))


def _as(metadata: Metadata, broker: int, life: int) -> Metadata:
    metadata.lives.check(broker, life)
    return metadata


_APPLY: dict[str, Any] = {
    "create": _create,
    "delete": _delete,
    "partitions": _partitions,
    "configs": _configs,
    "producer_ids": _producer_ids,
    "broker_configs": lambda metadata, configs: replace(metadata, broker_configs=MappingProxyType(configs)),
    "quota": _quota,
    "join": _join,
    "level": _level,
    "end": _end,
    "leave": lambda metadata, *content: replace(metadata, lives=metadata.lives.left_by(*content)),
    "forget": _forget,
    "lead": _lead,
    "spread": _spread,
    "as": _as,
    "give": _give,
    "wish": lambda metadata, rows: replace(metadata, leads=metadata.leads.wished(rows)),
}
