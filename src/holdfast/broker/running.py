"""A broker put together: from a write-ahead log and a store to a listening port."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from holdfast.broker.broker import Broker
from holdfast.broker.configs.dynamic import settings_now
from holdfast.broker.context import BrokerContext
from holdfast.broker.coordinators import GroupTopics, ProducerIdBlocks, open_groups, open_shares, open_transactions
from holdfast.broker.draining import tell_left, within
from holdfast.broker.elsewhere import Others, nobody_else
from holdfast.broker.guard.audit import Audit
from holdfast.broker.guard.gate import Gate
from holdfast.broker.guard.users import Users
from holdfast.broker.markers import Markers
from holdfast.broker.net.listener import OpenListener
from holdfast.broker.net.loop_watch import HeldLoop
from holdfast.broker.net.server import ConnectionLimits as ServerLimits
from holdfast.broker.net.server import Server, Work
from holdfast.broker.net.traffic import CountedWork
from holdfast.broker.peers.peers import Peers
from holdfast.broker.peers.permits import Permits
from holdfast.broker.peers.share_states import LedHere, PeerShareStates
from holdfast.broker.peers.shared_markers import SharedMarkers
from holdfast.broker.racks import Racks
from holdfast.broker.reopening import Reopening
from holdfast.broker.settings import BrokerSettings, overrides_of
from holdfast.broker.share.sessions import ShareSessions
from holdfast.broker.shared_topics import SharedTopics
from holdfast.broker.throttle import Throttle, Windows
from holdfast.broker.topics import Topics
from holdfast.cluster.auth_log import PREFIX as AUTH_PREFIX
from holdfast.cluster.auth_log import AuthLog
from holdfast.cluster.errors import SpreadAlready
from holdfast.cluster.identity import read_cluster
from holdfast.cluster.metadata_log import PREFIX, MetadataLog
from holdfast.coordinator.share.led import LedShares
from holdfast.coordinator.transaction.producer_ids import ProducerIds
from holdfast.errors import Rejected, Unavailable
from holdfast.io.calls import BlockingCalls, ThreadCalls
from holdfast.io.chance import Chance, SystemChance
from holdfast.io.clock import Clock, SystemClock
from holdfast.io.disk import Directory
from holdfast.io.objects import NotFound, Objects
from holdfast.io.objects.put_check import check_put_if_absent
from holdfast.io.versions import VersionRetries
from holdfast.log.context import Environment as LogEnvironment
from holdfast.log.logs import Logs
from holdfast.log.ownership.owner import Here
from holdfast.log.recovery.begin import LocalLog, open_local
from holdfast.log.settings import JournalSettings, LogSettings
from holdfast.measure import Traffic
from holdfast.wal import WalSettings

STOP_S = 5.0  # For requests that were taken to be answered.
log = logging.getLogger(__name__)

_LEAD_TRIES = 16
FAILED_CLOSE_MS = 500  # For flushes that are under way when a start fails.


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerEnvironment:
    """What a broker is given: disk, store, time, randomness, threads."""

    wal_directory: Directory
    objects: Objects
    rounds: Objects | None = None  # Where the write-ahead log goes that is in a store, if not there.
    clock: Clock
    chance: Chance
    calls: BlockingCalls
    threaded: bool = True
    quarantine: Callable[[], Directory] | None = None  # Where tails go that no partition can hold; made when needed.
    reserve_size: int = 0  # Bytes of the disk kept for the way back when it is full.
    here: Here | None = None  # Which data directory it is.
    others: Others = nobody_else  # Brokers that share the store.
    is_heard: Callable[[], bool] | None = None  # Whether the store answers, if others go on with what is left there.

    @classmethod
    def real(
        cls,
        wal_directory: Directory,
        objects: Objects,
        quarantine: Callable[[], Directory] | None = None,
        reserve_size: int = 0,
        here: Here | None = None,
        rounds: Objects | None = None,
    ) -> BrokerEnvironment:
        return cls(
            wal_directory=wal_directory,
            objects=objects,
            rounds=rounds,
            quarantine=quarantine,
            reserve_size=reserve_size,
            here=here,
            clock=SystemClock(),
            chance=SystemChance(),
            calls=ThreadCalls(),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class AllSettings:
    """The settings of all parts of a broker."""

    broker: BrokerSettings
    log: LogSettings
    wal: WalSettings
    check_store: bool = False  # Whether the store is asked for put-if-absent before anything depends on it.
    take_over: bool = True  # Whether a new write-ahead log may go on with a store that another one was used with.
    is_member: bool = False  # Whether other brokers share the store.


class StoreShared(Rejected):
    """A broker that is alone has come to a cluster's store."""

    def __init__(self, url: str, names: Sequence[str], *, is_spread: bool = False) -> None:
        how = "--cluster --set cluster.leaders=many" if is_spread else "--cluster"
        alone = "" if is_spread else ", or stop all of them cleanly first"  # Where many lead there is no way back.
        super().__init__(
            f"{url} is shared by brokers of a cluster ({'; '.join(names)}): start this one with {how} and a "
            f"node.id of its own{alone}; `holdfast cluster status {url}` says who is there"
        )
        self.names = tuple(names)


@dataclass(frozen=True, slots=True)
class Opened:
    """A broker without its sockets."""

    context: BrokerContext
    broker: Broker


@asynccontextmanager
async def opened(
    around: BrokerEnvironment, settings: AllSettings, local: LocalLog | None = None
) -> AsyncIterator[Opened]:
    """Everything but the sockets. Closed on the way out.

    `local` is the write-ahead log, if it was read already; it stays the caller's until it `is_taken`.
    Whoever leaves because of a failure does not wait for the store: what is not flushed stays in the write-ahead log.
    """
    close_ms: int | None = FAILED_CLOSE_MS
    is_cut_off = False
    if settings.check_store and not settings.is_member:  # First: whoever goes on claims the store, and others hear it.
        await around.calls.run(_check_alone, around)
    heavy = ThreadCalls(1) if around.threaded else around.calls
    logs = await Logs.open(
        around.wal_directory,
        around.objects,
        settings.log,
        wal_settings=settings.wal,
        clock=around.clock,
        chance=around.chance,
        calls=around.calls,
        threaded=around.threaded,
        background=around.threaded,
        resume_deletes=False,
        quarantine=around.quarantine,
        reserve_size=around.reserve_size,
        take_over=settings.take_over,
        here=around.here,
        local=local,
        rounds=around.rounds,
        node_id=settings.broker.node_id,
    )
    try:
        if settings.check_store:  # Only now: before, nobody knew that it is the right one.
            for objects in (around.objects, around.rounds):
                if objects is not None:
                    await around.calls.run(check_put_if_absent, objects)
        identity = logs.identity
        patience = VersionRetries(around.clock, around.chance, around.calls.block)
        metadata = await around.calls.run(
            MetadataLog, logs.objects, identity.cluster, identity.broker, patience, logs.incarnation
        )
        if not settings.is_member:
            _refuse_shared(metadata)
        await _lead(metadata, logs, around.calls)
        logs.collect_versions(PREFIX, lambda: metadata.metadata.version)
        auth = await around.calls.run(
            AuthLog, logs.objects, identity.cluster, identity.broker, patience, logs.incarnation
        )
        await _lead(auth, logs, around.calls)
        logs.collect_versions(AUTH_PREFIX, lambda: auth.value.version)
        broker = settings.broker
        users = Users(auth, around.calls, broker.rules_of)
        blocks = ProducerIdBlocks(metadata, around.calls)
        producer_ids = ProducerIds(blocks, given_end=metadata.metadata.producer_ids_end)
        logs.producer_ids.end = lambda: producer_ids.given_end
        limits = broker.max_metadata_bytes, broker.max_partitions
        topics = Topics(
            metadata, logs, around.calls, around.chance, broker.topic_defaults(), *limits, node_id=broker.node_id
        )
        await topics.open()
        async with AsyncExitStack() as stack:
            yield await assemble(stack, around, settings.broker, logs, topics, users, producer_ids, heavy)
            close_ms = None
        if around.is_heard is not None and logs.failure is None:
            close_ms, is_cut_off = await _flushed(logs, settings.log, around.is_heard, around.clock)
    finally:
        heavy.close()
        await logs.close(close_ms, is_cut_off=is_cut_off)


async def _flushed(
    logs: Logs, settings: LogSettings, is_heard: Callable[[], bool], clock: Clock
) -> tuple[int | None, bool]:
    """Flush all, unless the store does not answer: others go on with what it has. How long to wait for more of it then,
    and whether it answers nobody."""
    failure = await within(logs.flush_all(), settings.close_timeout_ms / 1000, is_heard, clock)
    if failure is None:
        return None, False
    is_cut_off = not is_heard()
    if is_cut_off:
        tell_left(failure, logs.partitions)
    return FAILED_CLOSE_MS, is_cut_off


def _check_alone(around: BrokerEnvironment) -> None:
    """Raise StoreShared or SpreadAlready on a cluster's store, before anything is taken there. Blocks."""
    try:
        cluster = read_cluster(around.objects)
    except NotFound:
        return
    patience = VersionRetries(around.clock, around.chance, around.calls.block)
    _refuse_shared(MetadataLog(around.objects, cluster, "", patience))


def _refuse_shared(metadata: MetadataLog) -> None:
    lives, is_spread = metadata.metadata.lives, metadata.metadata.leads.is_spread
    if lives.by_broker:
        raise StoreShared(metadata.url, [each.name for each in lives.eldest_first], is_spread=is_spread)
    if is_spread:  # Whoever is alone knows of no rows: it would serve without the tails that lost brokers left.
        raise SpreadAlready


async def assemble(
    stack: AsyncExitStack,
    around: BrokerEnvironment,
    broker: BrokerSettings,
    logs: Logs,
    topics: Topics,
    users: Users,
    producer_ids: ProducerIds,
    heavy: BlockingCalls,
    peers: Peers | None = None,
) -> Opened:
    """Coordinators over open topics, and all that answers requests. The stack closes them, but for the logs."""
    view = GroupTopics(topics, users)
    groups = await open_groups(topics, view, broker, around.clock, around.chance)
    stack.push_async_callback(groups.close)
    shares = await open_shares(topics, view, groups, broker, around.clock)
    stack.push_async_callback(shares.close)
    markers, permits, led = Markers(topics, groups), None, None
    if peers is not None and isinstance(topics, SharedTopics):
        permits = Permits(topics, peers, around.calls)
        markers = SharedMarkers(topics, groups, peers, permits, around.calls)
        states = PeerShareStates(topics, shares, peers, around.calls)
        here, pause = LedHere(topics, logs), around.calls.pause
        led = LedShares(states, here, shares.settings, shares.counts, clock=around.clock, pause=pause)
        stack.push_async_callback(led.close)
    transactions = await open_transactions(topics, broker, markers, producer_ids, around.clock)
    stack.push_async_callback(transactions.close)
    context = BrokerContext(
        broker,
        logs.identity.cluster,
        logs,
        topics,
        groups,
        shares,
        ShareSessions(broker.group_share_max_share_sessions, around.clock),
        producer_ids,
        transactions,
        markers,
        users,
        Gate(Audit(around.clock.monotonic), (lambda: users.rules) if broker.has_authorizer else None),
        Throttle(lambda: topics.metadata.quotas, Windows(*broker.quota_windows()), around.clock),
        around.clock,
        around.chance,
        heavy,
        around.others,
        permits,
        led,
        Racks(lambda: topics.metadata.lives, broker.node_id, broker.broker_rack, are_many=topics.is_shared),
    )
    pause = around.calls.pause
    rounds = [producer_ids.keep_spare(pause), Reopening(topics).run(pause)] if around.threaded else []
    if around.threaded and (broker.has_authorizer or any(each.protocol.has_sasl for each in broker.parsed_listeners())):
        rounds.append(users.follow())
    for task in [asyncio.ensure_future(each) for each in rounds]:
        stack.callback(task.cancel)
    return Opened(context, Broker(context))


async def opened_local(around: BrokerEnvironment, settings: AllSettings) -> LocalLog | None:
    """The write-ahead log, and what it brings back, without asking the store anything; None if it is there."""
    if isinstance(settings.wal, JournalSettings) and settings.wal.place == "store":
        return None
    environment = LogEnvironment(around.objects, around.calls, around.clock, around.chance)
    return await open_local(
        around.wal_directory,
        environment,
        settings.log,
        settings.wal,
        threaded=around.threaded,
        reserve_size=around.reserve_size,
    )


async def _lead(versions: MetadataLog | AuthLog, logs: Logs, calls: BlockingCalls) -> None:
    """Fence whoever was the owner before us, before anybody is served: it may only sleep."""
    for _ in range(_LEAD_TRIES):
        await logs.owner.check()
        try:
            if await calls.run(versions.lead):
                return
        except Unavailable as failure:  # A full disk, or a store that takes nothing: the first change begins it.
            log.warning("the %s has no version of this start yet: %s", versions.kind, failure)
            return
        await calls.run(versions.refresh)
    raise Unavailable(f"other processes wrote {_LEAD_TRIES} versions of the {versions.kind} in a row")


@asynccontextmanager
async def listening(
    opened_: Opened, listeners: Sequence[OpenListener], clock: Clock, traffic: Traffic | None = None
) -> AsyncIterator[Server]:
    """The ports of a broker."""
    broker = opened_.broker
    async with answering(broker, opened_.context.settings, listeners, clock, traffic, broker.held) as server:
        follow(server, opened_)
        yield server


def follow(server: Server, opened_: Opened) -> None:
    """The port does what the broker knows: from now on, and whenever its limits of connections are changed."""
    context = opened_.context
    opened_.broker.count_answers_in(server.answers)
    server.address_rate = opened_.broker.address_rate
    server.has_failed = lambda: context.logs.failure is not None
    server.hold = context.logs.owner.hold
    server.users = lambda: context.users.value

    def change() -> None:
        dynamic = context.topics.dynamic.of_broker(context.settings.node_id)
        server.change_limits(_limits_of(settings_now(context.settings, dynamic)))

    context.topics.on_dynamic = change
    change()


@asynccontextmanager
async def answering(
    work: Work,
    settings: BrokerSettings,
    listeners: Sequence[OpenListener],
    clock: Clock,
    traffic: Traffic | None = None,
    held: HeldLoop | None = None,
) -> AsyncIterator[Server]:
    """The ports; requests are counted in `traffic`. On the way out no more are accepted, what was taken answered."""
    counted = work if traffic is None else CountedWork(work, traffic, clock)
    server = Server(counted, _limits_of(settings), clock, held)
    await server.listen(listeners)
    try:
        yield server
    finally:
        await server.stop(STOP_S)


def _limits_of(settings: BrokerSettings) -> ServerLimits:
    return ServerLimits(
        frame_size_max=settings.socket_request_max_bytes,
        connections_max=settings.max_connections,
        requests_size_max=settings.queued_max_request_bytes,
        address_connections_max=settings.max_connections_per_ip,
        address_overrides=overrides_of(settings.max_connections_per_ip_overrides),
        connections_per_second=settings.max_connection_creation_rate,
        answers_size_max=settings.queued_max_response_bytes,
        idle_ms_max=settings.connections_max_idle_ms,
        arrive_ms_max=settings.socket_request_max_ms,
        take_ms_max=settings.socket_response_max_ms,
        failed_login_ms=settings.connection_failed_authentication_delay_ms,
    )
