"""The console of `holdfast serve`: what it is handed, and the port it is looked at through."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from holdfast.broker.guard.side_door import ConsoleGate, SideDoor
from holdfast.broker.net.request import Request
from holdfast.broker.net.server import Server
from holdfast.broker.running import BrokerEnvironment, Opened
from holdfast.broker.topics import OpenTopic
from holdfast.cli.serve.doors import Door
from holdfast.cli.serve.metrics import version
from holdfast.cli.serve.timings import Timings
from holdfast.client.registry import Registry
from holdfast.cluster.member import SeenLife
from holdfast.console.before import BeforeBroker
from holdfast.console.console import Console
from holdfast.console.files import Files
from holdfast.console.followers import Followers
from holdfast.console.history import History
from holdfast.console.http import listening
from holdfast.console.lag import Lags
from holdfast.console.parts import AccessParts, Parts
from holdfast.console.readers import ReaderSurvey
from holdfast.console.schemas import Schemas, read_schema_file
from holdfast.console.settings import ConsoleSettings
from holdfast.console.survey import ShownTopic, TopicSurvey
from holdfast.console.visit import VisitorsDoor, Visits
from holdfast.io.address import Address, bind, is_loopback, parse_address
from holdfast.io.calls import BlockingCalls, ThreadCalls
from holdfast.log.settings import LogSettings
from holdfast.protocol.api import Key
from holdfast.protocol.header import decode_request_header, decode_response_header, frame_request
from holdfast.protocol.message import Message
from holdfast.protocol.messages import decode_response, encode_request
from holdfast.security.principal import Session

log = logging.getLogger("holdfast")

Brokers = Callable[[], Sequence[SeenLife]]

_ASKING_THREADS = 4
_CLIENT = "holdfast-console"  # As quotas and log lines name it.


class ConsolePort:
    """Takes its address at once, so that a wrong one is known before anything is opened."""

    def __init__(self, door: Door, settings: ConsoleSettings, logs: LogSettings, timings: Timings) -> None:
        self._listener = door.listener
        self._settings = settings
        self._log_settings = logs
        self._timings = timings
        registry = settings.schema_registry
        who = settings.schema_registry_user, settings.schema_registry_password
        self._registry = Registry(registry, *who) if registry else None
        self._schema_files = {topic: read_schema_file(topic, file) for topic, file in settings.files.items()}
        self._before = BeforeBroker(self._names())
        otherwise = "choose another with --console HOST:PORT (serve.console_listen)"
        self._bound = bind(parse_address(door.listen), otherwise)

    @property
    def address(self) -> Address:
        return Address(*self._bound.getsockname()[:2])

    @asynccontextmanager
    async def begun(self) -> AsyncIterator[None]:
        """The port, for as long as the block lasts: before there is a broker it says what is waited for."""
        tls = self._listener.tls if self._listener is not None else None
        async with listening(self._before.handle, self._bound, tls):
            yield

    def tell_standing_by(self, node_id: int, leader: Callable[[], str]) -> None:
        """Another broker leads: what there is to be seen is at its console. Where that is, as with the store."""
        told = leader if self._listener is None else lambda: "Another one leads."
        self._before.say = lambda: f"Broker {node_id} is ready to take over. {told()}"

    def tell_waiting(self, reason: str) -> None:
        """The store is waited for; why, and where it is, only where nobody is asked who they are anyway."""
        why = reason if self._listener is None else "the broker's log says why"
        self._before.say = lambda: f"The broker waits for its store: {why}."

    @asynccontextmanager
    async def served(
        self, opened: Opened, server: Server, around: BrokerEnvironment, data: Path, brokers: Brokers = tuple
    ) -> AsyncIterator[None]:
        """The pages, for as long as the block lasts."""
        context, listener = opened.context, self._listener
        asking = ThreadCalls(_ASKING_THREADS, 1)  # Whoever is slow to answer here keeps nobody else waiting.
        parts = self._parts(opened, server, around, data, brokers, asking)
        gate = ConsoleGate(SideDoor(server, listener) if listener is not None else None, context.gate)
        door = VisitorsDoor(lambda: gate, listener is not None and listener.checks is not None)
        visits = Visits(door, around.clock, around.chance)
        console = Console(parts, visits, await around.calls.local(Files), self._names())
        tls = listener.tls if listener is not None else None
        following = asyncio.ensure_future(parts.history.follow(lambda: _figures(parts)))
        try:
            self._before.hand_over(console.handle)
            scheme = "http" if tls is None else "https"
            log.info("console at %s://%s/", scheme, self.address, extra={"facts": {"event": "console"}})
            if listener is None and not is_loopback(self.address.host):
                log.warning(
                    "the console is reached from other machines and asks nobody who they are: whoever connects "
                    "sees every record%s",
                    ", and may change everything" if self._settings.write else "",
                    extra={"facts": {"event": "unguarded"}},
                )
            yield
        finally:
            self._before.take_back("The broker is stopping.")
            following.cancel()
            asking.close()
            with contextlib.suppress(asyncio.CancelledError):
                await following

    def _names(self) -> frozenset[str]:
        told = [] if self._listener is None else [self._listener.told.host.lower()]
        return frozenset({"localhost", *told, *self._settings.names})

    def _parts(
        self,
        opened: Opened,
        server: Server,
        around: BrokerEnvironment,
        data: Path,
        brokers: Brokers,
        asking: BlockingCalls,
    ) -> Parts:
        context, timings = opened.context, self._timings

        def topics() -> list[ShownTopic]:
            return [_shown(each) for each in context.topics.all()]

        def find_topic(name: str) -> ShownTopic | None:
            found = context.topics.find(name)
            return None if found is None else _shown(found)

        def free_size() -> int | None:
            try:
                found = os.statvfs(data)
            except OSError:
                return None
            return found.f_bavail * found.f_frsize

        async def ask(session: Session, key: Key, number: int, message: Message) -> Any:
            frame = b"".join(frame_request(key, number, 0, _CLIENT, encode_request(key, number, message)))
            view = memoryview(bytearray(frame))[4:]
            told = self._listener.told if self._listener is not None else self.address
            request = Request(decode_request_header(view), view, session, told)
            answer = memoryview(b"".join(await opened.broker.handle(request)))[4:]
            _, start = decode_response_header(key, number, answer)
            return decode_response(key, number, answer[start:])

        return Parts(
            version=version(),
            cluster_id=context.cluster_id,
            node_id=context.settings.node_id,
            store_url=around.objects.url,
            data_path=str(data.absolute()),
            settings=self._settings,
            log_settings=self._log_settings,
            logs=context.logs,
            groups=context.groups,
            shares=context.shares,
            transactions=context.transactions,
            topics=topics,
            find_topic=find_topic,
            ask=ask,
            port=server.counts,
            traffic=timings.traffic,
            errors=opened.broker.errors,
            held=opened.broker.held.counts,
            throttled={kind.value: counts for kind, counts in context.throttle.counts.items()},
            syncs=timings.syncs,
            rounds=timings.rounds,
            store=timings.store,
            subscriptions=timings.subscriptions,
            calls=around.calls,
            clock=around.clock,
            history=History(around.clock.now_ms),
            survey=TopicSurvey(topics, around.clock),
            lags=Lags(around.calls),
            readers=ReaderSurvey(context.groups, find_topic, around.clock),
            schemas=Schemas(self._registry, self._schema_files, asking, around.clock),
            followers=Followers(
                self._settings.syncs, context.logs.objects, find_topic, around.calls, asking, around.clock
            ),
            access=AccessParts(
                lambda: context.users.value,
                lambda: context.gate.rules if context.gate.is_on else None,
                lambda: context.topics.metadata.quotas,
                lambda: [*context.gate.audit.recent, *server.audit.recent],
                context.throttle.waiting,
            ),
            brokers=brokers,
            free_size=free_size,
        )


def _shown(opened: OpenTopic) -> ShownTopic:
    return ShownTopic(opened.topic.name, opened.topic.topic_id, opened.topic.configs, opened.logs)


async def _figures(parts: Parts) -> tuple[Mapping[str, float], Mapping[str, float]]:
    """What the history keeps: counters, and figures that go up and down."""
    rows = (await parts.survey.look()).values()
    parts.lags.note(await parts.readers.look(), parts.clock.now_ms())
    stat, traffic = parts.logs.stat(), parts.traffic
    produced, fetched = traffic.get("Produce"), traffic.get("Fetch")
    counters = {
        "produce_bytes": produced.received_size if produced else 0,
        "fetch_bytes": fetched.sent_size if fetched else 0,
        "requests": sum(each.requests for each in traffic.values()),
        "errors": sum(parts.errors.values()),
        "records": sum(each.log_end for each in rows if not each.is_internal),
        "rounds": stat.wal.sync_count,
    }
    recent = list(parts.rounds.rounds)[-100:]
    mean_ms = sum(each.seconds for each in recent) / len(recent) * 1000 if recent else float("nan")
    return counters, {"fsync_ms": mean_ms, "wal_bytes": stat.wal.on_disk_size, "tail_bytes": stat.tail_memory_size}
