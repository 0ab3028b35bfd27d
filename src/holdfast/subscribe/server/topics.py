"""Which partitions a request means. The topics are handed in: this package does not know who keeps them."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol
from uuid import UUID

from holdfast.cluster.metadata import Topic
from holdfast.errors import Corrupt
from holdfast.log.partition.partition import PartitionLog
from holdfast.subscribe.errors import BadRequest, NoSuchSource
from holdfast.subscribe.wire.request import Source


class SubscribedTopic(Protocol):
    """A topic with its partitions; one that could not be opened is there as the reason why."""

    @property
    def topic(self) -> Topic: ...

    @property
    def logs(self) -> tuple[PartitionLog | Corrupt, ...]: ...


class Catalogue(Protocol):
    """All topics, and word of every change."""

    on_change: list[Callable[[], None]]

    def all(self) -> Sequence[SubscribedTopic]: ...

    def find(self, name: str) -> SubscribedTopic | None: ...


class SourcePartition(NamedTuple):
    """One partition that is meant."""

    topic: str
    topic_id: UUID
    partition: int
    log: PartitionLog


def resolve(catalogue: Catalogue, sources: Iterable[Source]) -> list[SourcePartition]:
    """All partitions that are meant, in order. A name that is not there is an error; so is a pattern at the start."""
    wanted = list(sources)
    if not wanted:
        raise BadRequest("a subscription needs at least one source")
    found: dict[tuple[str, int], SourcePartition] = {}
    for source in wanted:
        before = len(found)
        for each in _matching(catalogue, source):
            found[each.topic, each.partition] = each
        if len(found) == before and not any(each for each in _matching(catalogue, source)):
            raise NoSuchSource(source.topic)
    return [found[key] for key in sorted(found)]


def matching(catalogue: Catalogue, sources: Iterable[Source]) -> Iterator[SourcePartition]:
    """The partitions that are meant and there, for whoever looks again."""
    for source in sources:
        yield from _matching(catalogue, source)


def _matching(catalogue: Catalogue, source: Source) -> Iterator[SourcePartition]:
    if not source.is_pattern:
        opened = catalogue.find(source.topic)
        topics: Sequence[SubscribedTopic] = () if opened is None else (opened,)
    else:
        topics = [each for each in catalogue.all() if _is_meant(each.topic.name, source.topic)]
    for each in topics:
        yield from _partitions(each, source)


def _is_meant(name: str, pattern: str) -> bool:
    """Internal topics have to be named in full."""
    return not name.startswith("__") and fnmatch.fnmatchcase(name, pattern)


def _partitions(opened: SubscribedTopic, source: Source) -> Iterator[SourcePartition]:
    topic = opened.topic
    for number in source.partitions or range(len(opened.logs)):
        if not 0 <= number < len(opened.logs):
            if source.is_pattern:
                continue
            raise NoSuchSource(f"{topic.name}-{number}")
        found = opened.logs[number]
        if isinstance(found, Corrupt):
            raise found
        yield SourcePartition(topic.name, topic.topic_id, number, found)
