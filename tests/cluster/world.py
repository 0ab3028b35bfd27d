"""Members of one cluster in one loop, on one store, in time that passes only when everybody waits."""

from __future__ import annotations

import asyncio
import heapq
import random
from collections.abc import Iterator, Sequence

from holdfast.cluster.member import Member, Self
from holdfast.cluster.metadata_log import MetadataLog
from holdfast.cluster.settings import ClusterSettings
from holdfast.io.address import Address
from holdfast.io.calls import InlineCalls
from holdfast.io.chance import SeededChance
from holdfast.io.clock import ManualClock
from holdfast.io.objects import ObjectInfo, Objects, StoreFailed
from holdfast.io.objects.memory import MemoryBucket, MemoryObjects
from holdfast.io.versions import VersionRetries
from holdfast.types import Buffer

SETTINGS = ClusterSettings(member=True)
_TURNS = 60  # Of the loop, in which everybody gets as far as its next pause.


class Wire(Objects):
    """A broker's way to the store, which can be cut."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self.url = objects.url
        self.is_cut = False
        self.is_deaf = False  # Puts arrive, and their answers do not.
        self.count = 0

    def _reach(self, action: str, name: str) -> Objects:
        self.count += 1
        if self.is_cut:
            raise StoreFailed(action, name, "it is cut off")
        return self._objects

    def put_if_absent(self, name: str, data: Sequence[Buffer]) -> None:
        self._reach("put", name).put_if_absent(name, data)

    def put(self, name: str, data: Sequence[Buffer]) -> None:
        self._reach("put", name).put(name, data)
        if self.is_deaf:
            raise StoreFailed("put", name, "its answer is lost")

    def get(self, name: str, start: int = 0, end: int | None = None) -> bytes:
        return self._reach("get", name).get(name, start, end)

    def list(self, prefix: str, after: str = "") -> Iterator[ObjectInfo]:
        return self._reach("list", prefix).list(prefix, after)

    def delete(self, name: str) -> None:
        self._reach("delete", name).delete(name)

    def size(self, name: str) -> int:
        return self._reach("size", name).size(name)


class World:
    """The store, the time, and everybody in it."""

    def __init__(self, seed: int = 0) -> None:
        self.random = random.Random(seed)
        self.clock = ManualClock()
        self.objects = MemoryObjects(MemoryBucket(), clock=self.clock)
        self._waking: list[tuple[float, int, asyncio.Future[None], Calls]] = []
        self._count = 0

    async def pass_time(self, seconds: float) -> None:
        """Everybody does what is due meanwhile."""
        end = self.clock.boottime() + seconds
        while True:
            for _ in range(_TURNS):
                await asyncio.sleep(0)
            if not self._waking or self._waking[0][0] > end:
                break
            at, number, future, calls = heapq.heappop(self._waking)
            if calls.is_stopped:
                heapq.heappush(self._waking, (at + 0.5, number, future, calls))
                continue
            self.clock.advance(max(0.0, at - self.clock.boottime()))
            if not future.done():
                future.set_result(None)
        self.clock.advance(max(0.0, end - self.clock.boottime()))

    def wake_at(self, at: float, calls: Calls) -> asyncio.Future[None]:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._count += 1
        heapq.heappush(self._waking, (at, self._count, future, calls))
        return future


class Calls(InlineCalls):
    """One broker's: they take no time, but for pauses; and none is made while it is stopped."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.is_stopped = False

    async def pause(self, seconds: float) -> None:
        late = self._world.random.random() * seconds / 10
        await self._world.wake_at(self._world.clock.boottime() + seconds + late, self)


class Broker:
    """A member, and what becomes of it: it joins, waits, leads, and joins again when it was ended."""

    def __init__(self, world: World, number: int, place: str = "", port: int = 0) -> None:
        self.world = world
        self.number = number
        self._port = port or number
        self.calls = Calls(world)
        self.wire = Wire(world.objects)
        self._place = place or f"place-{number}"
        self.member: Member | None = None
        self.failure: BaseException | None = None
        self.was_seen: bool | None = None
        self._task = asyncio.ensure_future(self._live())

    async def _live(self) -> None:
        try:
            patience = VersionRetries(self.world.clock, SeededChance(self.number), lambda _: None)
            log = await self.calls.run(MetadataLog, self.wire, "c", "", patience, "")
            me = Self(self.number, "", self._place, f"b{self.number}", {"L": Address("h", self._port)})
            member = Member(log, self.wire, me, SETTINGS, self.calls, self.world.clock)
            await member.join()
            self.member = member
            member.start()
            self.was_seen = await member.until_we_lead()
            self._leading = asyncio.ensure_future(member.lead_on(self._over))
        except Exception as failure:
            self.failure = failure

    def _over(self, failure: BaseException) -> None:
        self.failure = failure

    @property
    def leads(self) -> bool:
        """As it believes itself."""
        return self.member is not None and self.member.leads and self.failure is None

    def stop(self) -> None:
        """SIGSTOP, or a machine that sleeps."""
        self.calls.is_stopped = True

    def go_on(self) -> None:
        self.calls.is_stopped = False

    async def leave(self) -> None:
        assert self.member is not None
        await self.member.leave()
