"""Topics in requests to groups: by name, or by id in the newest versions; and those that a member subscribes to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol, TypeAlias
from uuid import UUID

from holdfast.broker.context import BrokerContext
from holdfast.broker.guard.rights import DESCRIBE_TOPIC
from holdfast.broker.net.request import Request
from holdfast.broker.net.slices import PIECE_COUNT
from holdfast.protocol.codes import Code


class Named(Protocol):
    """A topic of a request: in one of the versions by its name, in the others by its id."""

    @property
    def name(self) -> str: ...

    @property
    def topic_id(self) -> UUID | None: ...


class Numbered(Protocol):
    """A partition of a request."""

    @property
    def partition_index(self) -> int: ...


NumberedTopic: TypeAlias = tuple[str | None, Sequence[Numbered]]


def name_of(context: BrokerContext, topic: Named, *, by_id: bool) -> str | None:
    """The topic's name; None if it is named by an id that nobody has."""
    if not by_id:
        return topic.name
    found = context.topics.find_id(topic.topic_id) if topic.topic_id is not None else None
    return found.topic.name if found is not None else None


def check_partition(context: BrokerContext, name: str | None, number: int) -> Code:
    """Why there is no such partition; NONE if there is one."""
    if name is None:
        return Code.UNKNOWN_TOPIC_ID
    found = context.topics.find(name)
    if found is None or not 0 <= number < found.topic.partitions:
        return Code.UNKNOWN_TOPIC_OR_PARTITION
    return Code.NONE


async def look_for(context: BrokerContext, request: Request, topics: Callable[[], Iterable[NumberedTopic]]) -> None:
    """Other brokers may have made topics and partitions that we have not seen yet: then look for them."""

    async def is_there() -> bool:
        async for name, partitions in request.pace.through(topics()):
            found = context.topics.find(name or "")
            count = 0 if found is None else found.topic.partitions
            async for each in request.pace.through(partitions):
                if each.partition_index >= count:
                    return False
        return True

    if context.topics.is_shared and not await is_there():
        await context.topics.look_for(is_there)


async def subscribed(names: Sequence[str] | None, request: Request) -> frozenset[str] | None:
    """The topics that a member asks for, each of which it may see, or NotAllowed is raised; None: as it did before."""
    if names is None:
        return None
    found = set()
    async for name in request.pace.through(names):
        if name not in found:
            request.rights.need(DESCRIBE_TOPIC, name)
            found.add(name)
    if len(found) > PIECE_COUNT:
        await request.pace.rest()  # To copy so many takes a while by itself.
    return frozenset(found)
