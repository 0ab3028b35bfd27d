"""The dispatch table: which API is answered by which function. What has no row here is not advertised."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeAlias

from holdfast.broker.api import (
    api_versions,
    find_coordinator,
    init_producer_id,
    list_offsets,
    metadata,
    topics,
)
from holdfast.broker.request import Request
from holdfast.protocol.api import APIS, Api, Key
from holdfast.protocol.messages import Message

if TYPE_CHECKING:
    from holdfast.broker.broker import Parts

MessageHandler: TypeAlias = Callable[["Parts", Message, Request], Awaitable[Message]]

HANDLERS: dict[Key, MessageHandler] = {
    Key.API_VERSIONS: api_versions.handle,
    Key.METADATA: metadata.handle,
    Key.FIND_COORDINATOR: find_coordinator.handle,
    Key.LIST_OFFSETS: list_offsets.handle,
    Key.INIT_PRODUCER_ID: init_producer_id.handle,
    Key.CREATE_TOPICS: topics.create,
    Key.DELETE_TOPICS: topics.delete,
}
RAW = (Key.PRODUCE, Key.FETCH)  # Decoded by hand, since they are hot.


def advertised() -> list[Api]:
    """The APIs that we answer, by their numbers."""
    return [APIS[key] for key in sorted([*HANDLERS, *RAW])]
