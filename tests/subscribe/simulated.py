"""A whole subscription in simulated time: partitions on a simulated disk, the server's stream, a wire that is slow and
breaks, the client. Nothing waits for real time, and the same seed gives the same run.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar
from uuid import UUID

from tests.log.log_world import LogWorld

from holdfast.cluster.metadata import Topic
from holdfast.io.calls import made_on_purpose
from holdfast.io.chance import SeededChance
from holdfast.io.objects.memory import MemoryObjects
from holdfast.log.logs import Logs
from holdfast.log.partition.partition import PartitionLog
from holdfast.record.build import build
from holdfast.record.records import Record
from holdfast.subscribe.client.session import Means
from holdfast.subscribe.client.subscription import Subscription
from holdfast.subscribe.errors import ServerGone
from holdfast.subscribe.server.context import ServerContext
from holdfast.subscribe.server.stream import ServerStream
from holdfast.subscribe.settings import SubscribeSettings
from holdfast.subscribe.wire.request import SubscribeRequest
from holdfast.subscribe.wire.schema import subscribe_pb2 as wire
from holdfast.types import PartitionId

START_MS = 1_700_000_000_000
Result = TypeVar("Result")


class _Skip(selectors.SelectSelector):
    """Waits for nothing: time jumps to where the loop would have woken."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[Any]:
        if timeout is None:
            raise RuntimeError("everybody waits, and nobody for the time")
        self.now += max(timeout, 0)
        return super().select(0)


class SimulatedLoop(asyncio.SelectorEventLoop):
    """An event loop in which time passes only when everybody waits."""

    def __init__(self) -> None:
        self._skip = _Skip()
        super().__init__(self._skip)

    def time(self) -> float:
        return self._skip.now


def simulate(work: Coroutine[Any, Any, Result]) -> Result:
    """Run in simulated time; whatever is left over at the end is an error."""
    with asyncio.Runner(loop_factory=SimulatedLoop) as runner:
        return runner.run(work)


class LoopClock:
    """The loop's time."""

    def now_ms(self) -> int:
        return START_MS + int(asyncio.get_running_loop().time() * 1000)

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()


class SlowCalls:
    """Calls that take some time, each another."""

    executor = None

    def __init__(self, chance: SeededChance, longest_s: float) -> None:
        self._chance = chance
        self._longest_s = longest_s

    async def run(self, call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        await asyncio.sleep(self._chance.fraction() * self._longest_s)
        with made_on_purpose():
            return call(*args, **kwargs)

    async def local(self, call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return await self.run(call, *args, **kwargs)

    async def pause(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def block(self, seconds: float) -> None:
        pass

    def close(self) -> None:
        pass


@dataclass
class SimTopic:
    topic: Topic
    logs: tuple[PartitionLog, ...]


@dataclass
class SimTopics:
    """What the server looks topics up in."""

    topics: dict[str, SimTopic]
    on_change: list[Callable[[], None]] = field(default_factory=list)

    def all(self) -> list[SimTopic]:
        return list(self.topics.values())

    def find(self, name: str) -> SimTopic | None:
        return self.topics.get(name)


class Simulation:
    """One seed's world."""

    def __init__(self, seed: int) -> None:
        self.chance = SeededChance(seed)
        self.world = LogWorld(seed)
        self.clock = LoopClock()
        self.calls = SlowCalls(self.chance, 0.004)
        self.written: dict[str, int] = {}
        self.streams = 0
        self.breaks_left = self.chance.bits(2)
        self.logs: Logs
        self.site: ServerContext

    async def open(self, names: list[str]) -> None:
        self.logs = await self.world.open()
        topics = {}
        for number, name in enumerate(names):
            home = PartitionId(UUID(int=number + 1), 0)
            topics[name] = SimTopic(Topic(name, home.topic_id, 1), (await self.logs.partition(home),))
        settings = SubscribeSettings(heartbeat_ms=500)
        self.topics = SimTopics(topics)
        self.site = ServerContext(self.topics, "sim", "memory://sim", self.calls, self.clock, settings)  # type: ignore[arg-type]

    def log(self, name: str) -> PartitionLog:
        return self.topics.topics[name].logs[0]

    async def write(self, name: str, count: int, live: bool) -> None:
        """Batches with random pauses, times that may go back, and flushes in between."""
        for _ in range(count):
            if live:
                await asyncio.sleep(self.chance.fraction() * 0.02)
            first = self.written.get(name, 0)
            size = 1 + self.chance.bits(2)
            times = [self.clock.now_ms() - self.chance.bits(4 if live else 8) for _ in range(size)]
            records = [Record(b"/k", b"%d" % (first + each), time) for each, time in enumerate(times)]
            await self.log(name).append(build(records))
            self.written[name] = first + size
            if self.chance.bits(2) == 0:
                await self.log(name).flush()

    def subscription(self, asked: SubscribeRequest, objects: MemoryObjects | None = None) -> Subscription:
        means = Means(
            addresses={"": "sim"},
            objects={"": objects or self.world.objects},
            calls=self.calls,
            clock=self.clock,
            max_wait_ms=5,
            read_ahead_size=1 << 20,
            connect=self.connect,
        )
        return Subscription(means, asked, self.chance, owns_calls=False)

    async def connect(self, address: str, asked: SubscribeRequest) -> AsyncGenerator[wire.Message, None]:
        """The wire: takes its time, holds few messages, and breaks now and then."""
        queue: asyncio.Queue[bytes | Exception] = asyncio.Queue(4)

        async def write(message: bytes) -> None:
            if self.chance.bits(3) == 0:
                await asyncio.sleep(self.chance.fraction() * 0.01)
            await queue.put(message)

        async def serve() -> None:
            self.streams += 1
            try:
                await ServerStream(self.site, SubscribeRequest.from_message(asked.to_message()), write).run()
                await queue.put(ServerGone(address, "the end"))
            except Exception as failure:
                await queue.put(failure)
            finally:
                self.streams -= 1

        server = asyncio.ensure_future(serve())
        try:
            while True:
                message = await queue.get()
                if isinstance(message, Exception):
                    raise message
                if self.breaks_left and self.chance.bits(4) == 0:
                    self.breaks_left -= 1
                    raise ServerGone(address, "the wire broke")
                parsed = wire.Message.FromString(message)
                yield parsed
                if parsed.HasField("ended"):
                    return
        finally:
            server.cancel()
            with suppress(asyncio.CancelledError):
                await server
