"""The subscribers' port, which speaks gRPC, beside the Kafka port in `holdfast serve`."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from holdfast.io.address import Address, parse_address
from holdfast.measure import SubscriptionCounts

if TYPE_CHECKING:
    from holdfast.broker.context import BrokerContext
    from holdfast.broker.running import BrokerEnvironment
    from holdfast.subscribe.server.context import ServerContext
    from holdfast.subscribe.settings import SubscribeSettings

log = logging.getLogger(__name__)

PORT_ABOVE = 2  # With Kafka clients at 9092, subscribers are at 9094.


@asynccontextmanager
async def subscriptions(
    settings: SubscribeSettings,
    context: BrokerContext,
    around: BrokerEnvironment,
    kafka: Address,
    counts: SubscriptionCounts | None = None,
) -> AsyncIterator[None]:
    """Subscriptions are served for as long as the block lasts. Kafka clients do not wait for their start.

    `kafka` is the Kafka port as it was asked for: beside port 0, which takes any free one, so does this one.
    """
    if settings.listen in ("", "none"):
        yield
        return
    from holdfast.subscribe.server.context import ServerContext

    beside = around.objects.url, around.calls, around.clock, settings
    site = ServerContext(context.topics, context.cluster_id, *beside, counts or SubscriptionCounts())
    port = _Port(site, kafka)
    task = asyncio.ensure_future(port.run())
    try:
        if settings.listen != "auto":
            await port.started  # Whoever asks for a port by its number is told when it is taken.
        yield
    finally:
        port.stop.set()
        await asyncio.gather(task, return_exceptions=True)


class _Port:
    """The service from its start to its end, in a task of its own."""

    def __init__(self, site: ServerContext, kafka: Address) -> None:
        self._site = site
        self._kafka = kafka
        self.started: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.stop = asyncio.Event()

    async def run(self) -> None:
        """Serve; what ends it before it has begun is for whoever waits for that, and otherwise said."""
        try:
            await self.serve()
        except Exception as failure:
            if self.started.done() or self._site.settings.listen == "auto":
                log.error("subscribers are not served: %s", failure, extra={"facts": {"event": "subscribers_failed"}})
            else:
                self.started.set_exception(failure)

    async def serve(self) -> None:
        service = await self._site.calls.run(_load)
        address = address_of(self._site.settings.listen, self._kafka)
        try:
            async with service.serving(self._site, str(address)) as port:
                await self._serving(address, port)
        except service.PortTaken as failure:
            if self._site.settings.listen != "auto":
                self.started.set_exception(failure)
                return
            free = Address(address.host, 0)
            async with service.serving(self._site, str(free)) as port:
                await self._serving(free, port)

    async def _serving(self, address: Address, port: int) -> None:
        here = Address(address.host, port)
        log.info("subscribers at %s", here, extra={"facts": {"event": "subscribers", "listen": str(here)}})
        self.started.set_result(None)
        await self.stop.wait()


def address_of(listen: str, kafka: Address) -> Address:
    """Where subscribers are served."""
    if listen != "auto":
        return parse_address(listen)
    # A Kafka port that the system chose has neighbours that belong to others.
    return Address(kafka.host, kafka.port + PORT_ABOVE if kafka.port else 0)


def _load() -> Any:
    """In a thread: gRPC takes its time to load."""
    from holdfast.subscribe.server import service

    return service
