"""Which partitions a request means. The topics are handed in: this package does not know who keeps them."""

from __future__ import annotations

import asyncio
import fnmatch
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol
from uuid import UUID

from holdfast.cluster.metadata import Topic
from holdfast.errors import HoldfastError
from holdfast.log.errors import LedElsewhere, NotOpen
from holdfast.log.partition.partition import PartitionLog
from holdfast.subscribe.errors import BadRequest, NoSuchSource
from holdfast.subscribe.server.gate import ReaderRights
from holdfast.subscribe.wire.request import Source

_NAMES_A_TURN = 64


class SubscribedTopic(Protocol):
    """A topic with its partitions; one that could not be opened is there as the reason why."""

    @property
    def topic(self) -> Topic: ...

    @property
    def logs(self) -> tuple[PartitionLog | NotOpen, ...]: ...


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


class PlacedPartition(NamedTuple):
    """One partition that is meant, open here or not."""

    topic: str
    topic_id: UUID
    partition: int
    found: PartitionLog | NotOpen

    @property
    def name(self) -> str:
        return f"{self.topic}-{self.partition}"

    def opened(self, refusal: Callable[[str, LedElsewhere], HoldfastError]) -> SourcePartition:
        """It, if it is open here; `refusal` is what to raise if another leads it, or nobody does for now."""
        if isinstance(self.found, LedElsewhere):
            raise refusal(self.name, self.found)
        if isinstance(self.found, NotOpen):
            raise self.found  # It is damaged.
        return SourcePartition(self.topic, self.topic_id, self.partition, self.found)


async def resolve(catalogue: Catalogue, sources: Iterable[Source], rights: ReaderRights) -> list[PlacedPartition]:
    """All partitions that are meant, in order. A name that is not there is an error; so is a pattern at the start.

    Raises NotPermitted for what may not be read. What may not even be seen no pattern means.
    """
    wanted = list(sources)
    if not wanted:
        raise BadRequest("a subscription needs at least one source")
    found: dict[tuple[str, int], PlacedPartition] = {}
    for number, source in enumerate(wanted):
        if source.is_pattern or not number % _NAMES_A_TURN:
            await asyncio.sleep(0)  # With many of them others get their turn.
        before = len(found)
        for each in _matching(catalogue, source, rights):
            found[each.topic, each.partition] = each
        if len(found) == before and not any(each for each in _matching(catalogue, source, rights)):
            raise NoSuchSource(source.topic)
    return [found[key] for key in sorted(found)]


def matching(catalogue: Catalogue, sources: Iterable[Source], rights: ReaderRights) -> Iterator[PlacedPartition]:
    """The partitions that are meant and there, for whoever looks again."""
    for source in sources:
        yield from _matching(catalogue, source, rights)


def _matching(catalogue: Catalogue, source: Source, rights: ReaderRights) -> Iterator[PlacedPartition]:
    if not source.is_pattern:
        rights.need(source.topic)  # Before it is looked for: who may not read it is not told whether it is there.
        opened = catalogue.find(source.topic)
        topics: Sequence[SubscribedTopic] = () if opened is None else (opened,)
    else:
        meant = [each for each in catalogue.all() if _is_meant(each.topic.name, source.topic)]
        topics = [each for each in meant if rights.sees(each.topic.name)]
    for each in topics:
        rights.need(each.topic.name)
        yield from _partitions(each, source)


def _is_meant(name: str, pattern: str) -> bool:
    """Internal topics have to be named in full."""
    return not name.startswith("__") and fnmatch.fnmatchcase(name, pattern)


def _partitions(opened: SubscribedTopic, source: Source) -> Iterator[PlacedPartition]:
    topic = opened.topic
    for number in source.partitions or range(len(opened.logs)):
        if not 0 <= number < len(opened.logs):
            if source.is_pattern:
                continue
            raise NoSuchSource(f"{topic.name}-{number}")
        yield PlacedPartition(topic.name, topic.topic_id, number, opened.logs[number])
