"""Which partitions are read: topics by name, topics by pattern, or partitions one by one."""

from __future__ import annotations

import re
from typing import NamedTuple, TypeAlias

from holdfast.catalog.catalog import Catalog, is_internal
from holdfast.cluster.errors import TopicUnknown
from holdfast.cluster.metadata import Topic
from holdfast.errors import Rejected
from holdfast.types import TopicPartition


class NamedTopics(NamedTuple):
    """All partitions of these topics."""

    names: frozenset[str]


class Matching(NamedTuple):
    """All partitions of the topics whose whole name matches; internal ones do not."""

    pattern: str


class Assigned(NamedTuple):
    """Just these partitions."""

    partitions: frozenset[TopicPartition]


Subscription: TypeAlias = NamedTopics | Matching | Assigned


def is_chosen(subscription: Subscription, topic: Topic) -> bool:
    """Whether a topic's partitions may be wanted."""
    if isinstance(subscription, Matching):
        return not is_internal(topic) and re.fullmatch(subscription.pattern, topic.name) is not None
    return topic.name in _names(subscription)


def partitions_of(subscription: Subscription, catalog: Catalog, *, gone_is_fine: bool = False) -> list[TopicPartition]:
    """The partitions that are wanted and there, in order. What was asked for by its name must be there."""
    there = sorted(catalog.manifests)
    if isinstance(subscription, Assigned):
        there = sorted(subscription.partitions & catalog.manifests.keys())
    if not gone_is_fine:
        _check_all_there(subscription, catalog)
    return there


def _check_all_there(subscription: Subscription, catalog: Catalog) -> None:
    for name in sorted(_names(subscription) - catalog.topics.keys()):
        raise TopicUnknown(name)
    if isinstance(subscription, Assigned):
        for each in sorted(subscription.partitions - catalog.manifests.keys() - catalog.missing):
            raise Rejected(f"there is no partition {each}")


def _names(subscription: Subscription) -> frozenset[str]:
    if isinstance(subscription, NamedTopics):
        return subscription.names
    if isinstance(subscription, Assigned):
        return frozenset(each.topic for each in subscription.partitions)
    return frozenset()
