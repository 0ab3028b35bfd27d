"""How `holdfast serve` gets from its parts to a port: at once, or after it has waited for a store that is away.

A broker that was whole before has a copy of the metadata in its data directory. With it the port opens also while the
store is away: clients are told which topics there are, and to try again (`broker.waiting`). The store is asked again
with growing pauses; when it answers, the whole broker takes the place of the one that waits, under the same port and
the same connections. Without a copy a start fails as it always did: the store may be misspelt.
"""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from holdfast.broker.running import STOP_S, AllSettings, Opened, Surroundings, answering, opened
from holdfast.broker.server import Server
from holdfast.broker.topics import Topics
from holdfast.broker.waiting import Switch, Told, Waiting
from holdfast.cli.address import Address
from holdfast.cluster.metadata import Metadata
from holdfast.cluster.metadata_copy import MetadataCopy, read_copy
from holdfast.io.disk import RealDirectory
from holdfast.io.objects import StoreFailed
from holdfast.io.store_errors import Undecided
from holdfast.log.errors import StoreUnknown
from holdfast.measure import Traffic

log = logging.getLogger("holdfast")

AWAY = (StoreFailed, StoreUnknown, Undecided)
_PAUSE_S_MIN = 0.5
_PAUSE_S_MAX = 10.0


class Place(NamedTuple):
    """Where clients find us."""

    bound: socket.socket
    here: Address
    told: Address
    traffic: Traffic | None


async def started(
    stack: AsyncExitStack, around: Surroundings, settings: AllSettings, data: Path, place: Place
) -> tuple[Opened, Server]:
    """The whole broker and its port; both are closed with the stack, the port first."""
    try:
        broker = await stack.enter_async_context(opened(around, settings, *place.told))
    except AWAY as failure:
        copy = read_copy(RealDirectory(data))
        if copy is None:
            raise
        broker, server = await _wait(stack, around, settings, place, copy, failure)
    else:
        whole = broker.broker
        port = answering(whole, settings.broker, place.bound, around.clock, place.traffic, whole.held)
        server = await stack.enter_async_context(port)
        whole.count_answers_in(server.answers)
    _keep_copy(stack, around, data, broker.parts.topics)
    return broker, server


async def _wait(
    stack: AsyncExitStack,
    around: Surroundings,
    settings: AllSettings,
    place: Place,
    copy: Metadata,
    failure: Exception,
) -> tuple[Opened, Server]:
    switch = Switch(Waiting(copy, Told(settings.broker.node_id, *place.told)))
    server = await stack.enter_async_context(
        answering(switch, settings.broker, place.bound, around.clock, place.traffic)
    )
    url = around.objects.url
    facts = {"event": "waiting_for_store", "store": url, "listen": str(place.here), "topics": len(copy.topics)}
    log.warning(
        "store away: %s; until it answers, %d topics are told from the copy of the metadata, and reads, writes and "
        "groups are refused, to be tried again: Kafka clients at %s",
        failure,
        len(copy.topics),
        place.here,
        extra={"facts": facts},
    )
    broker = await _until_open(stack, around, lambda: opened(around, settings, *place.told))
    stack.push_async_callback(server.stop, STOP_S)  # Before the broker is closed, which was opened after the port.
    broker.broker.count_answers_in(server.answers)
    switch.work, server.held = broker.broker, broker.broker.held
    log.info("store back: %s answers, and everything is served", url, extra={"facts": {"event": "store_back"}})
    return broker, server


async def _until_open(
    stack: AsyncExitStack, around: Surroundings, open_: Callable[[], AbstractAsyncContextManager[Opened]]
) -> Opened:
    pause = _PAUSE_S_MIN
    while True:
        await around.calls.pause(pause)
        try:
            return await stack.enter_async_context(open_())
        except AWAY as failure:
            log.debug("still away: %s", failure)
            pause = min(pause * 2, _PAUSE_S_MAX)


def _keep_copy(stack: AsyncExitStack, around: Surroundings, data: Path, topics: Topics) -> None:
    """From here on the copy follows the metadata, without topics whose deletion is not in the store yet."""

    def current() -> Metadata:
        open_ = {each.topic.name: each.topic for each in topics.all()}
        return replace(topics.metadata, topics=MappingProxyType(open_))

    copy = MetadataCopy(RealDirectory(data), around.calls, current)
    stack.push_async_callback(copy.close)
    topics.on_change.append(copy.note)
    copy.note()
