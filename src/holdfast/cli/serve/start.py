"""How `holdfast serve` gets from its parts to a port: at once, or after it has waited for a store that is away.

The write-ahead log is read first, which needs nobody. A broker that was whole before has a copy of the metadata in its
data directory. With it the port opens also while the store is away, or does not answer within a second: clients are
told which topics there are, read what the write-ahead log has for certain, and are told to try the rest again
(`broker.waiting.waiting`). The store is asked again with growing pauses; when it answers, the whole broker takes the
place of the one that waits, under the same port and the same connections. Without a copy a start fails as it always
did: the store may be misspelt.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from holdfast.broker.net.budget import Budget
from holdfast.broker.net.listener import OpenListener
from holdfast.broker.net.server import Server
from holdfast.broker.running import (
    STOP_S,
    AllSettings,
    BrokerEnvironment,
    Opened,
    answering,
    follow,
    listening,
    opened,
    opened_local,
)
from holdfast.broker.settings import BrokerSettings
from holdfast.broker.topics import Topics
from holdfast.broker.waiting.reads import WaitingReads, without_deleted
from holdfast.broker.waiting.waiting import Switch, Waiting
from holdfast.cluster.metadata import Metadata
from holdfast.cluster.metadata_copy import MetadataCopy, read_copy
from holdfast.io.calls import ThreadCalls
from holdfast.io.disk import RealDirectory
from holdfast.io.objects import StoreFailed
from holdfast.io.store_errors import Undecided
from holdfast.log.errors import ColdReadFailed, StoreUnknown
from holdfast.log.recovery.begin import LocalLog
from holdfast.log.recovery.tails import KnownTail, Tails
from holdfast.measure import Traffic
from holdfast.metrics.collect_waiting import WatchedWait
from holdfast.units import counted

if TYPE_CHECKING:
    from holdfast.cli.serve.metrics import Metrics

log = logging.getLogger("holdfast")

AWAY = (StoreFailed, StoreUnknown, Undecided, ColdReadFailed)
_PAUSE_S_MIN = 0.5
_PAUSE_S_MAX = 10.0
_GRACE_S = 1.0  # A store that answers by then is not away: clients that come meanwhile wait for the port, not for us.
_OPEN_S = 10.0  # The same for one that answers, while its owner may stop, and all partitions are opened.
_SAY_S = 30.0
_NAMED_MAX = 20  # Partitions in one line.


class StartPlace(NamedTuple):
    """Where clients find us."""

    listeners: Sequence[OpenListener]
    traffic: Traffic | None
    on_waiting: Callable[[str], None] = lambda reason: None  # noqa: ARG005  # Who else hears why the store is waited for.


def addresses(listeners: Sequence[OpenListener]) -> str:
    """Where they listen, in words."""
    return ", ".join(str(each.here) for each in listeners)


class _Opening:
    """Attempts to open the whole broker, one after the other, over a write-ahead log that is read once."""

    def __init__(self, stack: AsyncExitStack, around: BrokerEnvironment, settings: AllSettings) -> None:
        self._stack = stack
        self._around = around
        self._settings = settings
        self._local: LocalLog | None = None
        stack.callback(self._let_go)

    @property
    def local(self) -> LocalLog:
        """The write-ahead log, as it was read last."""
        assert self._local is not None
        return self._local

    async def read_log(self) -> LocalLog | None:
        """Read the write-ahead log, unless that is done. One that a failed attempt has taken is closed: once more.

        One in the store is read by each attempt.
        """
        if self._local is None or self._local.is_taken:
            self._local = await opened_local(self._around, self._settings)
        return self._local

    async def once(self) -> Opened:
        """Ask the store for all that it takes. The broker is closed with the stack."""
        local = await self.read_log()
        calls = ThreadCalls()  # Its own: they are closed with the logs, also where a later step fails.
        try:
            around = replace(self._around, calls=calls)
            return await self._stack.enter_async_context(opened(around, self._settings, local))
        except BaseException:
            calls.close()
            raise

    @property
    def is_heard(self) -> bool:
        """Whether the store has answered an attempt at all."""
        return self._local is not None and self._local.is_heard

    @property
    def is_answered(self) -> bool:
        """Whether the store has told an attempt that it is ours."""
        return self._local is not None and self._local.is_taken

    def _let_go(self) -> None:
        if self._local is not None and not self._local.is_taken:
            self._local.close()


async def started(
    stack: AsyncExitStack,
    around: BrokerEnvironment,
    settings: AllSettings,
    data: Path,
    place: StartPlace,
    metrics: Metrics | None = None,
) -> tuple[Opened, Server]:
    """The whole broker and its port; both are closed with the stack, the port first."""
    opening = _Opening(stack, around, settings)
    is_here = await opening.read_log() is not None
    copy = read_copy(RealDirectory(data)) if is_here else None  # A log in the store has nothing to tell without it.
    attempt = asyncio.ensure_future(opening.once())
    try:
        if copy is not None:  # A store that hangs keeps nobody from hearing so.
            await asyncio.wait([attempt], timeout=_GRACE_S)
        if copy is not None and opening.is_heard:  # It is not away: its owner is waited for, or many partitions opened.
            await asyncio.wait([attempt], timeout=_OPEN_S)
        if copy is None or (attempt.done() and not isinstance(attempt.exception(), AWAY)):
            broker = await attempt
            port = listening(broker, place.listeners, around.clock, place.traffic)
            server = await stack.enter_async_context(port)
        else:
            wait = _Wait(around, copy, settings.broker, opening, place)
            broker, server = await wait.run(stack, settings, attempt, metrics)
    finally:
        if not attempt.done():
            attempt.cancel()
            await asyncio.wait([attempt])
    _keep_copy(stack, around, data, broker.context.topics)
    return broker, server


class _Wait:
    """A start whose store has not answered yet: what clients, metrics and the log are told until it does."""

    def __init__(
        self, around: BrokerEnvironment, copy: Metadata, settings: BrokerSettings, opening: _Opening, place: StartPlace
    ) -> None:
        self._around = around
        self._copy = copy
        self._node_id, self._rack = settings.node_id, settings.broker_rack
        self._rules = settings.rules_of(()) if settings.has_authorizer else None
        self._opening = opening
        self._place = place
        self._since = around.clock.monotonic()
        self._reason = "it does not answer"
        self._reads = WaitingReads(copy)
        self._answers: Budget | None = None
        self._switch = Switch(Waiting(copy, self._node_id, rules=self._rules, rack=self._rack))

    async def run(
        self,
        stack: AsyncExitStack,
        settings: AllSettings,
        attempt: asyncio.Future[Opened],
        metrics: Metrics | None,
    ) -> tuple[Opened, Server]:
        around, place = self._around, self._place
        if attempt.done():
            await self._opening.read_log()
        self._serve_log()
        switch = self._switch
        port = answering(switch, settings.broker, place.listeners, around.clock, place.traffic)
        server = await stack.enter_async_context(port)
        self._answers = self._reads.answers = server.answers
        stack.callback(lambda: self._reads.end())
        if metrics is not None:
            watched = WatchedWait(self._copy.cluster_id, self._waited_s, self._served, server.counts)
            await stack.enter_async_context(metrics.waiting(watched, server, self._rules))
        if attempt.done() and attempt.exception() is not None:
            self._reason = str(attempt.exception())
        place.on_waiting(self._reason)
        self._say_first()
        saying = asyncio.ensure_future(self._say_again())
        try:
            broker = await self._until_open(attempt)
        finally:
            saying.cancel()
        stack.push_async_callback(server.stop, STOP_S)  # Before the broker is closed, which was opened after the port.
        switch.work, server.held = broker.broker, broker.broker.held
        follow(server, broker)
        self._reads.end()
        url = around.objects.url
        facts = {"event": "store_back", "waited_s": round(self._waited_s(), 1)}
        log.info("store back: %s answers, and everything is served", url, extra={"facts": facts})
        return broker, server

    async def _until_open(self, attempt: asyncio.Future[Opened]) -> Opened:
        pause = _PAUSE_S_MIN
        while True:
            try:
                return await attempt
            except AWAY as failure:
                self._reason = str(failure)
                self._place.on_waiting(self._reason)
                log.debug("still away: %s", failure)
            if self._opening.is_answered:  # It had taken the log, and failed later: the log is closed.
                await self._opening.read_log()
                self._serve_log()
            await self._around.calls.pause(pause)
            pause = min(pause * 2, _PAUSE_S_MAX)
            attempt = asyncio.ensure_future(self._opening.once())

    def _serve_log(self) -> None:
        """From here on what the log brings back is served, as far as it is certain.

        On the loop, since an attempt may take the log at any moment, and change its tails there.
        """
        local = self._opening.local
        tails = Tails(local) if not local.is_taken else None
        copy = without_deleted(self._copy, frozenset(local.replayed.deleted))
        self._reads.end()
        self._reads = WaitingReads(copy, tails, self._around.calls)
        self._reads.answers = self._answers
        self._switch.work = Waiting(copy, self._node_id, self._reads, self._rules, self._rack)

    def _waited_s(self) -> float:
        return self._around.clock.monotonic() - self._since

    def _served(self) -> list[tuple[str, int, KnownTail]]:
        return self._reads.served()

    def _say_first(self) -> None:
        served, url, here = self._served(), self._around.objects.url, addresses(self._place.listeners)
        facts = {"event": "waiting_for_store", "store": url, "listen": here, "topics": len(self._copy.topics)}
        log.warning(
            "store away: %s; until it answers, %d topics are told from the copy of the metadata, %s, and other reads, "
            "writes and groups are refused, to be tried again: Kafka clients at %s",
            self._reason,
            len(self._copy.topics),
            _in_words(served),
            here,
            extra={"facts": facts | _as_facts(served)},
        )

    async def _say_again(self) -> None:
        while True:
            await asyncio.sleep(_SAY_S)
            served = self._served()
            facts = {"event": "still_waiting_for_store", "waited_s": round(self._waited_s(), 1)}
            log.warning(
                "store still away after %.0f s: %s; %s",
                self._waited_s(),
                self._reason,
                _in_words(served),
                extra={"facts": facts | _as_facts(served)},
            )


def _in_words(served: list[tuple[str, int, KnownTail]]) -> str:
    some = ", ".join(f"{name}-{number} [{known.start}, {known.end})" for name, number, known in served[:_NAMED_MAX])
    more = f" and {len(served) - _NAMED_MAX} more" if len(served) > _NAMED_MAX else ""
    count = f"{counted(len(served), 'partition')} {'is' if len(served) == 1 else 'are'}"
    return f"{count} read from the write-ahead log{': ' if some else ''}{some}{more}"


def _as_facts(served: list[tuple[str, int, KnownTail]]) -> dict[str, object]:
    named = [[name, number, known.start, known.end] for name, number, known in served[:_NAMED_MAX]]
    return {"served_partitions": len(served), "served": named}


def _keep_copy(stack: AsyncExitStack, around: BrokerEnvironment, data: Path, topics: Topics) -> None:
    """From here on the copy follows the metadata, without topics whose deletion is not in the store yet."""

    def current() -> Metadata:
        open_ = {each.topic.name: each.topic for each in topics.all()}
        return replace(topics.metadata, topics=MappingProxyType(open_))

    copy = MetadataCopy(RealDirectory(data), around.calls, current)
    stack.push_async_callback(copy.close)
    topics.on_change.append(copy.note)
    copy.note()
