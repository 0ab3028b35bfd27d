"""`holdfast serve` as one of several brokers on one store: it joins, waits until it may lead, takes over, serves."""

from __future__ import annotations

import asyncio
import importlib.metadata
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from holdfast.broker.leading import opened_life
from holdfast.broker.net.server import Server
from holdfast.broker.running import STOP_S, AllSettings, BrokerEnvironment, Opened, answering, follow, opened
from holdfast.broker.settings import BrokerSettings
from holdfast.broker.standby import LeasedWork, Standby
from holdfast.broker.topics import OPENS_AT_A_TIME
from holdfast.broker.waiting.waiting import Switch
from holdfast.cli.serve.start import StartPlace, addresses
from holdfast.cluster.identity import claim_store
from holdfast.cluster.member import Member, Self
from holdfast.cluster.metadata_log import MetadataLog
from holdfast.cluster.settings import ClusterSettings
from holdfast.errors import HoldfastError
from holdfast.io.calls import ThreadCalls
from holdfast.io.objects import Objects
from holdfast.io.objects.off_loop import OffLoopObjects
from holdfast.io.versions import VersionRetries
from holdfast.log.ownership.owner import Here
from holdfast.metrics.collect_waiting import WatchedStandby
from holdfast.units import counted

if TYPE_CHECKING:
    from holdfast.cli.serve.metrics import Metrics

log = logging.getLogger("holdfast")

_THREADS = 2  # A beat never waits for a look at others.


async def _nothing_to_give() -> None:
    pass


class Led(NamedTuple):
    """A broker that leads, and its ports."""

    broker: Opened
    server: Server
    over: asyncio.Future[HoldfastError]  # Others have ended its life, or its store was put back.
    drain: Callable[[], Awaitable[None]] = _nothing_to_give  # To be called before it stops.


@asynccontextmanager
async def joined(
    around: BrokerEnvironment, store: Objects, settings: ClusterSettings, broker: BrokerSettings, place: StartPlace
) -> AsyncIterator[Member]:
    """A member of the cluster that the store belongs to; it leaves on the way out.

    `store` is the same one, with calls that fail early: one that hangs would hide that others are silent.
    """
    calls = ThreadCalls(_THREADS, 1)
    try:
        objects = OffLoopObjects(store)
        patience = VersionRetries(around.clock, around.chance, calls.block)
        cluster = await calls.run(claim_store, objects, f"{around.chance.bits(128):032x}")
        incarnation = f"{around.chance.bits(128):032x}"
        metadata = await calls.run(MetadataLog, objects, cluster, "", patience, incarnation)
        here = around.here or Here()
        listeners = {each.name: each.told for each in place.listeners}
        release = importlib.metadata.version("holdfast")
        me = Self(broker.node_id, incarnation, here.place, here.name, listeners, release, broker.broker_rack)
        member = Member(metadata, objects, me, settings, calls, around.clock)
        await member.join()
        member.start()
        try:
            yield member
        finally:
            await member.leave()
    finally:
        calls.close()


async def led(
    stack: AsyncExitStack,
    around: BrokerEnvironment,
    settings: AllSettings,
    place: StartPlace,
    member: Member,
    stop: asyncio.Event,
    metrics: Metrics | None = None,
) -> Led | None:
    """Answer who leads, until we do; None if a signal came before. Everything is closed with the stack."""
    broker = settings.broker
    rules = broker.rules_of(()) if broker.has_authorizer else None
    standby = Standby(lambda: member.metadata, broker, member.others, lambda: member.leads, rules)
    switch = Switch(standby)
    server = await stack.enter_async_context(answering(switch, broker, place.listeners, around.clock, place.traffic))
    if metrics is not None:
        watched = WatchedStandby(member.metadata.cluster_id, lambda: _unready(member), server.counts)
        await stack.enter_async_context(metrics.standing_by(watched, server, rules))
    facts = {"event": "standing_by", "broker": broker.node_id, "listen": addresses(place.listeners)}
    said = "broker %d is ready to take over, Kafka clients at %s"
    log.info(said, broker.node_id, facts["listen"], extra={"facts": facts})
    leads = asyncio.ensure_future(member.until_we_lead())
    stopped = asyncio.ensure_future(stop.wait())
    try:
        await asyncio.wait([leads, stopped], return_when=asyncio.FIRST_COMPLETED)
        if not leads.done():
            return None
        was_seen = leads.result()
    finally:
        for task in (leads, stopped):
            task.cancel()
    began = around.clock.monotonic()
    calls = ThreadCalls(OPENS_AT_A_TIME)  # Nobody is served while partitions are opened.
    stack.callback(calls.close)
    found = await stack.enter_async_context(
        opened(
            replace(around, calls=calls, others=member.others, is_heard=lambda: member.is_heard),
            replace(settings, take_over=settings.take_over or was_seen),
        )
    )
    stack.push_async_callback(server.stop, STOP_S)  # Before the broker is closed, which was opened after the port.
    owner = found.context.logs.owner
    switch.work = LeasedWork(found.broker, lambda: member.has_lease(owner.seen_at))
    server.held = found.broker.held
    follow(server, found)
    standby.lead(switch.work)
    over: asyncio.Future[HoldfastError] = asyncio.get_running_loop().create_future()
    leading = asyncio.ensure_future(member.lead_on(over.set_result))
    stack.callback(leading.cancel)
    took_s = around.clock.monotonic() - began
    facts = {"event": "took_over", "broker": broker.node_id, "seconds": round(took_s, 2)}
    count = sum(len(each.logs) for each in found.context.topics.all())
    said = "broker %d leads %s, after %.1f s"
    log.info(said, broker.node_id, counted(count, "partition"), took_s, extra={"facts": facts})
    return Led(found, server, over)


async def led_with_others(
    stack: AsyncExitStack,
    around: BrokerEnvironment,
    settings: AllSettings,
    place: StartPlace,
    member: Member,
    drain_ms: int,
) -> Led:
    """Lead the partitions whose rows name this life. Everything is closed with the stack."""
    began, broker = around.clock.monotonic(), settings.broker
    calls = ThreadCalls(OPENS_AT_A_TIME)
    stack.callback(calls.close)
    surroundings = replace(around, calls=calls, others=member.others)
    opened_, leading, metadata, door = await stack.enter_async_context(opened_life(surroundings, settings, member.life))
    member.share(metadata)
    member.leads = True
    member.unreachable = lambda: leading.unreachable
    leading.is_heard = lambda: member.is_heard
    owner = opened_.context.logs.owner
    work = LeasedWork(door, lambda: member.has_lease(owner.seen_at))
    port = answering(work, broker, place.listeners, around.clock, place.traffic, opened_.broker.held)
    server = await stack.enter_async_context(port)
    follow(server, opened_)
    server.is_peer = door.is_peer
    logs = opened_.context.logs
    server.has_failed = lambda: logs.failure is not None or leading.is_cut_off
    over: asyncio.Future[HoldfastError] = asyncio.get_running_loop().create_future()
    watching = asyncio.ensure_future(member.watch_on(over.set_result))
    stack.callback(watching.cancel)
    facts = {"event": "leads_with_others", "broker": broker.node_id, "life": member.life.life}
    said = "broker %d leads with %s, after %.1f s"
    others = counted(len(member.metadata.lives.by_broker) - 1, "other")
    log.info(said, broker.node_id, others, around.clock.monotonic() - began, extra={"facts": facts})
    return Led(opened_, server, over, lambda: leading.drain(drain_ms / 1000))


def _unready(member: Member) -> str:
    return "this broker takes over" if member.leads else f"this broker waits to take over. {leader_of(member)}"


def leader_of(member: Member) -> str:
    """Who leads, for people who look at the console of another."""
    found = member.metadata.lives.leading
    if found is None:
        return "Nobody leads now."
    return f"Broker {found.broker} leads, Kafka clients at {', '.join(map(str, found.listeners.values()))}."
