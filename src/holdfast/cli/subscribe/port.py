"""The subscribers' port, which speaks gRPC, beside the Kafka port in `holdfast serve`."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from holdfast.io.address import Address, parse_address
from holdfast.measure import SubscriptionCounts

if TYPE_CHECKING:
    from holdfast.broker.context import BrokerContext
    from holdfast.broker.net.server import Server
    from holdfast.broker.running import BrokerEnvironment
    from holdfast.cli.serve.doors import Door
    from holdfast.cluster.member import Member
    from holdfast.log.ownership.owner_watch import OwnerWatch
    from holdfast.subscribe.server.context import ServerContext
    from holdfast.subscribe.settings import SubscribeSettings

log = logging.getLogger(__name__)

EVERYWHERE = ("0.0.0.0", "::")  # Nobody can connect to these.
PORT_ABOVE = 2  # With Kafka clients at 9092, subscribers are at 9094.


class SubscribersPlace(NamedTuple):
    """Where subscribers are served, and how it is protected."""

    settings: SubscribeSettings
    door: Door
    kafka: Address  # The Kafka port as it was asked for: beside port 0, which takes any free one, so does this one.
    counts: SubscriptionCounts | None = None
    leaders: MemberLeaders | None = None  # Where each partition has its leader among several brokers.


class MemberLeaders:
    """The other brokers of a cluster, as a member of it sees them."""

    def __init__(self, member: Member, owner: OwnerWatch) -> None:
        self._member = member
        self._owner = owner

    def has_lease(self) -> bool:
        return self._member.has_lease(self._owner.seen_at)

    @property
    def broker(self) -> int:
        return self._member.life.broker

    def servers(self) -> Mapping[int, str]:
        return self._member.subscribers()

    def tell(self, address: str) -> None:
        """Where we serve subscriptions; "" for nowhere. Others hear it with our next beat."""
        self._member.subscribe = address


@asynccontextmanager
async def subscriptions(
    place: SubscribersPlace, context: BrokerContext, around: BrokerEnvironment, server: Server
) -> AsyncIterator[None]:
    """Subscriptions are served for as long as the block lasts. Kafka clients do not wait for their start."""
    from holdfast.broker.guard.side_door import SideDoor, SubscriberGate
    from holdfast.subscribe.server.context import ServerContext

    assert place.door.listener is not None
    gate = SubscriberGate(SideDoor(server, place.door.listener), context.gate, context.users)
    beside = around.objects.url, around.calls, around.clock, place.settings
    counts = place.counts or SubscriptionCounts()
    site = ServerContext(context.topics, context.cluster_id, *beside, counts, gate, leaders=place.leaders)
    port = _Port(site, place)
    task = asyncio.ensure_future(port.run())
    try:
        if place.door.listen != "auto":
            await port.started  # Whoever asks for a port by its number is told when it is taken.
        yield
    finally:
        port.stop.set()
        await asyncio.gather(task, return_exceptions=True)


class _Port:
    """The service from its start to its end, in a task of its own."""

    def __init__(self, site: ServerContext, place: SubscribersPlace) -> None:
        self._site = site
        self._door = place.door
        self._kafka = place.kafka
        self._leaders = place.leaders
        self._advertise = place.settings.advertise
        self.started: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.stop = asyncio.Event()

    async def run(self) -> None:
        """Serve; what ends it before it has begun is for whoever waits for that, and otherwise said."""
        try:
            await self.serve()
        except Exception as failure:
            self._tell("")
            if self.started.done() or self._door.listen == "auto":
                log.error("subscribers are not served: %s", failure, extra={"facts": {"event": "subscribers_failed"}})
            else:
                self.started.set_exception(failure)

    async def serve(self) -> None:
        service = await self._site.calls.run(_load)
        address = address_of(self._door.listen, self._kafka)
        try:
            async with self._opened(service, address) as port:
                await self._serving(address, port)
        except service.PortTaken as failure:
            if self._door.listen != "auto":
                self.started.set_exception(failure)
                return
            free = Address(address.host, 0)
            async with self._opened(service, free) as port:
                await self._serving(free, port, instead_of=address)

    def _opened(self, service: Any, address: Address) -> AbstractAsyncContextManager[int]:
        tls = self._door.listener.tls if self._door.listener is not None else None
        opened: AbstractAsyncContextManager[int] = service.serving(
            self._site, str(address), tls, wants_certificates=self._door.wants_certificates
        )
        return opened

    async def _serving(self, address: Address, port: int, instead_of: Address | None = None) -> None:
        here = Address(address.host, port)
        if self.stop.is_set():  # Loading it took longer than the broker has lived: nobody was ever served.
            self.started.cancel()
            return
        why = "" if instead_of is None else f", since {instead_of} is taken"
        log.info("subscribers at %s%s", here, why, extra={"facts": {"event": "subscribers", "listen": str(here)}})
        self.started.set_result(None)
        self._tell(self._advertise or str(told_at(self._door, here)))
        await self.stop.wait()

    def _tell(self, address: str) -> None:
        if self._leaders is not None:
            self._leaders.tell(address)


def address_of(listen: str, kafka: Address) -> Address:
    """Where subscribers are served."""
    if listen != "auto":
        return parse_address(listen)
    # A Kafka port that the system chose has neighbours that belong to others.
    return Address(kafka.host, kafka.port + PORT_ABOVE if kafka.port else 0)


def told_at(door: Door, here: Address) -> Address:
    """Where others find it: with a host that Kafka clients are told, unless it has one of its own."""
    assert door.listener is not None
    has_own = door.listen != "auto" and here.host not in EVERYWHERE
    return here if has_own else Address(door.listener.told.host, here.port)


def _load() -> Any:
    """In a thread: gRPC takes its time to load. A line for every stranger's handshake is not wanted on our stderr."""
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    from holdfast.subscribe.server import service

    return service
