"""Several brokers in simulated time: each serves what it leads, knows of the others with some delay, and may be killed.

The partitions are those of one simulated disk: what moves is who serves them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from dataclasses import dataclass, field

from tests.subscribe.simulated import SimTopic, Simulation

from holdfast.errors import HoldfastError
from holdfast.log.errors import LedElsewhere, NotOpen
from holdfast.log.partition.partition import PartitionLog
from holdfast.subscribe.client.session import Means
from holdfast.subscribe.client.subscription import Subscription
from holdfast.subscribe.errors import ServerGone
from holdfast.subscribe.server.context import ServerContext
from holdfast.subscribe.server.guard import NOBODY
from holdfast.subscribe.server.service import CODES, Service
from holdfast.subscribe.settings import SubscribeSettings
from holdfast.subscribe.wire.errors import error_from, facts_of
from holdfast.subscribe.wire.request import SubscribeRequest
from holdfast.subscribe.wire.schema import subscribe_pb2 as wire

NOBODY_LEADS = -1
TAKEOVER_S = 2.0


@dataclass
class SeenTopic:
    """A topic as one broker sees it."""

    topic: object
    logs: tuple[PartitionLog | NotOpen, ...]


@dataclass
class SimBroker:
    """One broker: its view of who leads, and those who are connected to it."""

    number: int
    topics: dict[str, SimTopic]
    leads: dict[str, int]
    known: dict[int, str]  # Where brokers serve subscriptions, as far as it knows.
    on_change: list[Callable[[], None]] = field(default_factory=list)
    links: list[asyncio.Queue[bytes | Exception]] = field(default_factory=list)
    lives: bool = True
    holds_lease: bool = True

    @property
    def broker(self) -> int:
        return self.number

    def servers(self) -> dict[int, str]:
        return dict(self.known)

    def has_lease(self) -> bool:
        return self.holds_lease

    def all(self) -> list[SeenTopic]:
        return [self._seen(each) for each in self.topics.values()]

    def find(self, name: str) -> SeenTopic | None:
        found = self.topics.get(name)
        return None if found is None else self._seen(found)

    def _seen(self, found: SimTopic) -> SeenTopic:
        leader, log = self.leads[found.topic.name], found.logs[0]
        return SeenTopic(found.topic, (log if leader == self.number else LedElsewhere(log.home.path, leader),))

    def die(self) -> None:
        """What is on the wire is lost."""
        self.lives = False
        for each in self.links:
            while not each.empty():
                each.get_nowait()
            each.put_nowait(ServerGone(f"b{self.number}", "it was killed"))

    def see(self, name: str, leader: int) -> None:
        self.leads[name] = leader
        for tell in list(self.on_change):
            tell()


class SimulatedBrokers(Simulation):
    """One seed's cluster."""

    async def open_brokers(self, names: list[str], count: int) -> None:
        await self.open(names)
        self.leads = {name: number % count for number, name in enumerate(names)}
        self.settings = SubscribeSettings(heartbeat_ms=500)
        addresses = {number: f"b{number}" for number in range(count)}
        self.brokers = [
            SimBroker(number, self.topics.topics, dict(self.leads), dict(addresses)) for number in range(count)
        ]
        self.sites = [
            ServerContext(  # type: ignore[arg-type]
                each, "sim", "memory://sim", self.calls, self.clock, self.settings, leaders=each
            )
            for each in self.brokers
        ]

    def follow_all(self, asked: SubscribeRequest, addresses: str = "b0,b1") -> Subscription:
        means = Means(
            addresses={"": addresses},
            objects={"": self.world.objects},
            calls=self.calls,
            clock=self.clock,
            max_wait_ms=5,
            read_ahead_size=1 << 20,
            connect=self.connect,
        )
        return Subscription(means, asked, self.chance, owns_calls=False)

    # What happens to them

    async def move(self, name: str, to: int) -> None:
        """A hand-over: its leader lets go, then the other one leads; the rest hear of it later."""
        before = self.leads[name]
        if before == to:
            return
        self.leads[name] = NOBODY_LEADS
        self.brokers[before].see(name, NOBODY_LEADS)
        await asyncio.sleep(self.chance.fraction() * 0.3)
        await self._give(name, to)

    async def _give(self, name: str, to: int) -> None:
        self.leads[name] = to
        self.brokers[to].see(name, to)
        for each in self.brokers:
            if each.number != to:
                await asyncio.sleep(self.chance.fraction() * 0.3)
                each.see(name, to)

    async def kill(self, number: int, *, back: bool = True) -> None:
        """Its connections break; after a while the others lead what it led. Later it may be back, and leads nothing."""
        self.brokers[number].die()
        await asyncio.sleep(TAKEOVER_S)
        others = [each.number for each in self.brokers if each.lives]
        for name in [name for name, leader in self.leads.items() if leader == number]:
            await self._give(name, others[self.chance.bits(4) % len(others)])
        await asyncio.sleep(self.chance.fraction())
        self.brokers[number].lives = back

    async def connect(self, address: str, asked: SubscribeRequest) -> AsyncGenerator[wire.Message, None]:
        """The wire to one of them."""
        number = int(address[1:])
        broker, site = self.brokers[number], self.sites[number]
        queue: asyncio.Queue[bytes | Exception] = asyncio.Queue(4)

        async def write(message: bytes) -> None:
            if self.chance.bits(3) == 0:
                await asyncio.sleep(self.chance.fraction() * 0.01)
            await queue.put(message)

        async def serve() -> None:
            self.streams += 1
            try:
                request = SubscribeRequest.from_message(asked.to_message())
                await Service(site).stream(request, write, NOBODY).run()
                await queue.put(ServerGone(address, "the end"))
            except HoldfastError as failure:
                code = next(code for kind, code in CODES if isinstance(failure, kind))
                await queue.put(error_from(address, code.name, str(failure), facts_of(failure)))
            except Exception as failure:
                await queue.put(failure)
            finally:
                self.streams -= 1

        is_opened = False
        if not broker.lives:
            raise ServerGone(address, "it was killed")
        server = asyncio.ensure_future(serve())
        broker.links.append(queue)
        try:
            while True:
                message = await queue.get()
                if isinstance(message, Exception):
                    raise message
                if self.breaks_left and self.chance.bits(5) == 0:
                    self.breaks_left -= 1
                    raise ServerGone(address, "the wire broke")
                parsed = wire.Message.FromString(message)
                is_opened |= parsed.HasField("opened")
                if is_opened:
                    yield parsed
                if parsed.HasField("ended"):
                    return
        finally:
            broker.links.remove(queue)
            server.cancel()
            with suppress(asyncio.CancelledError):
                await server
