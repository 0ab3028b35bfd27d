"""One life of a broker: it is opened on what the life before left behind, used, and ends by a crash or cleanly.

Everything but the sockets is real. Nothing runs in a thread, so the same seed gives the same run; the disk, the store,
the clock and chance are simulated, and the background works when the schedule says so.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, contextmanager
from typing import TYPE_CHECKING, Any

from tests.sim import frames
from tests.sim.clock import BrokerClock
from tests.sim.store import ProcessObjects

from holdfast.broker.api.produce_errors import ProduceRefused
from holdfast.broker.running import AllSettings, BrokerEnvironment, Opened, opened
from holdfast.errors import HoldfastError, Unavailable
from holdfast.io.disk.simulated import PowerCut, SimulatedDisk
from holdfast.log.errors import PartitionDeleted
from holdfast.protocol.api import Key

if TYPE_CHECKING:
    from tests.sim.model import Model

STUCK_S = 20  # Nothing here waits for time to pass: who does nothing at all for so many seconds waits for ever.
BUSY_S = 200.0  # Of the processor, for one life: who works for longer goes round in circles. On a busy machine no clock
# on the wall tells either from one that has had no turn.
_IDLE_S = 0.01  # Of the processor, in one second: what the watching itself may take.
_FLUSHES = 200  # Far more than there can be partitions with something to flush.
DAY_MS = 86_400_000
AGES_MS = (0, 0, 0, 1000, 2 * DAY_MS, 6 * DAY_MS)


async def _first_of(*futures: asyncio.Future[None]) -> None:
    """Wait for one of these; fails when nothing moves any more, or everything moves for ever."""
    began, idle = time.process_time(), 0
    while True:
        before = time.process_time()
        done, _ = await asyncio.wait(futures, timeout=1, return_when=asyncio.FIRST_COMPLETED)
        if done:
            return
        now = time.process_time()
        idle = idle + 1 if now - before < _IDLE_S else 0
        assert idle < STUCK_S, "The broker is stuck."
        assert now - began < BUSY_S, "The broker goes round in circles."


class Held:
    """A client's connection: what comes behind a request that waits for room has to wait, too."""

    def __init__(self) -> None:
        self.count = 0

    def __bool__(self) -> bool:
        return self.count > 0


class BrokerLife:
    """A broker in a loop of its own, and what became of it."""

    def __init__(
        self, around: BrokerEnvironment, settings: AllSettings, model: Model, chance: random.Random, *, faulty: bool
    ) -> None:
        self._around = around
        self._settings = settings
        self.model = model
        self.random = chance
        self.faulty = faulty  # The store or the disk may fail.
        self.counts: Counter[str] = Counter()
        self.problems: list[BaseException] = []
        self.is_shown = False  # Somebody was told the leader epoch of this life.
        self.is_closing = False  # It may be closed cleanly, as far as the next start can tell.
        self.is_usurped = False  # Another has taken its place.
        self.held = Held()  # For those who have no connection of their own.
        self.ages_ms: tuple[int, ...] = AGES_MS  # How old records are that clients write.
        self.held_back = 0  # Produce requests that wait for room.
        self._context: AbstractAsyncContextManager[Opened] | None = None
        self._opened: Opened | None = None
        self._crash: asyncio.Future[None] | None = None
        self._tasks: set[asyncio.Task[Any]] = set()

    # From start to end

    def run(self, use: Callable[[BrokerLife], Coroutine[Any, Any, None]], *, close: bool) -> None:
        """Open the broker, use it, and perhaps close it. Returns when it has crashed, failed or ended."""
        loop = asyncio.new_event_loop()
        loop.set_exception_handler(self._complain)
        self._crash = loop.create_future()
        try:
            loop.run_until_complete(self._watch(use, close=close))
        finally:
            self._end(loop)
        if self.problems:
            raise self.problems[0]

    async def _watch(self, use: Callable[[BrokerLife], Coroutine[Any, Any, None]], *, close: bool) -> None:
        """A crash in a callback of the loop is seen by nobody who waits: so it is waited for here."""
        assert self._crash is not None
        main = asyncio.ensure_future(self._open_and_use(use, close=close))
        await _first_of(main, self._crash)
        await turns(30)  # What is on its way to clients still reaches them.
        if main.done() and not main.cancelled():
            self._note(main.exception())

    async def _open_and_use(self, use: Callable[[BrokerLife], Coroutine[Any, Any, None]], *, close: bool) -> None:
        self._context = broker = opened(self._around, self._settings)  # Dropped, it would close itself.
        self._opened = await broker.__aenter__()
        self.counts["opened"] += 1
        await use(self)
        if close and not self.is_over:
            await self._answer_all()
            self.is_closing = True
            await broker.__aexit__(None, None, None)
            self.counts["closed"] += 1

    async def _answer_all(self) -> None:
        """As a server does before it stops: requests that were taken are answered, if that is possible soon."""
        for _ in range(50):
            if not self._tasks or self.is_over:
                return
            self.broker.context.logs._flusher.tick()
            await turns(20)

    def _end(self, loop: asyncio.AbstractEventLoop) -> None:
        """The process is gone: nothing of it goes on."""
        loop.set_exception_handler(lambda *_: None)
        assert isinstance(self._around.objects, ProcessObjects)
        self._around.objects.is_alive = False
        self._around.wal_directory.kill()  # type: ignore[attr-defined]
        tasks = asyncio.all_tasks(loop)
        for task in tasks:
            task.cancel()
        if tasks:
            loop.run_until_complete(asyncio.wait(tasks, timeout=STUCK_S))
        loop.close()

    def _complain(self, _: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        failure = context.get("exception")
        if isinstance(failure, PartitionDeleted):
            return  # A reader had given up its wait when the topic went.
        self._note(failure if failure is not None else AssertionError(str(context)))

    def _note(self, failure: BaseException | None) -> None:
        """What somebody met: the end of the process, a fault that was planned, or something that must not be."""
        if failure is None or isinstance(failure, asyncio.CancelledError):
            return
        if isinstance(failure, PowerCut):
            if self._crash is not None and not self._crash.done():
                self._crash.set_result(None)
                self.counts["crashed"] += 1
        elif (self.faulty or self.is_dead or self.is_closing or self.is_usurped) and isinstance(
            failure, OSError | HoldfastError
        ):
            self.counts["failed"] += 1
        else:
            self.problems.append(failure)

    # What clients and the schedule use

    @property
    def broker(self) -> Opened:
        assert self._opened is not None
        return self._opened

    @property
    def is_broken(self) -> bool:
        """The write-ahead log has failed: nothing can be acknowledged any more."""
        return self.broker.context.logs.failure is not None

    def version(self, *versions: int) -> int:
        """A version of Produce; by topic id where a request may wait so long that its topic has become another one."""
        return self.random.choice(versions) if self.broker.context.logs.has_room else 13

    @property
    def is_dead(self) -> bool:
        """The process has made its last call. What goes on in it for a moment is as good as other threads' work."""
        disk, objects = self._around.wal_directory, self._around.objects
        assert isinstance(disk, SimulatedDisk)
        assert isinstance(objects, ProcessObjects)
        return not objects.is_alive or (disk.crash_at is not None and disk.calls >= disk.crash_at)

    @property
    def may_fail(self) -> bool:
        """Whether a request may be refused for no fault of its own."""
        return self.faulty or self.is_broken or self.is_dead or self.is_closing or self.is_usurped

    @property
    def is_over(self) -> bool:
        """Nothing more can come of this life."""
        return bool(self.problems) or self.is_broken or (self._crash is not None and self._crash.done())

    @property
    def clock(self) -> BrokerClock:
        assert isinstance(self._around.clock, BrokerClock)
        return self._around.clock

    def stamp(self) -> int:
        """A client's time for a record: now, or of days ago, as somebody who writes what has happened long since."""
        return self.clock.true_ms() - self.random.choice(self.ages_ms)

    async def ask(self, key: Key, version: int, fields: Mapping[str, Any]) -> Any:
        """Send a request and wait for its answer."""
        wanted = frames.request(key, version, fields)
        found = frames.answer(wanted, await self.broker.broker.handle(wanted))
        if self.is_usurped:
            raise Unavailable("clients speak with another broker by now")
        return found

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Let a client do something while others do something else."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            self._note(task.exception())

    def produce(self, version: int, fields: Mapping[str, Any], tell: Callable[[Any], None], held: Held) -> None:
        """Send a produce request as a connection does: at once if there is room, else behind the others."""
        wanted = frames.request(Key.PRODUCE, version, fields)
        with self._closing_connections():
            if not self.broker.broker.start_produce(wanted, lambda buffers: self._tell(tell, wanted, buffers)):
                self.counts["held back"] += 1
                held.count += 1
                self.start(self._produce_later(wanted, tell, held))

    @contextmanager
    def _closing_connections(self) -> Iterator[None]:
        """A producer that wants no answers can be told of a deleted topic only by a connection that is closed."""
        try:
            yield
        except ProduceRefused:
            self.counts["closed connections"] += 1

    async def check_nobody_waits(self) -> None:
        """With a store that is well, whoever waits for room gets it, however long he has to wait for a flush."""
        for _ in range(_FLUSHES):
            if not self.held_back or self.is_over:
                return
            self.clock.advance(1.0)
            self.broker.context.logs._flusher.tick()
            await turns(20)
        assert not self.held_back, (
            f"Producers are stuck: {self.held_back} requests wait for room, and nothing disturbs."
        )

    async def _produce_later(self, wanted: Any, tell: Callable[[Any], None], held: Held) -> None:
        self.held_back += 1
        try:
            with self._closing_connections():
                self._tell(tell, wanted, await self.broker.broker.handle(wanted))
        finally:
            held.count -= 1
            self.held_back -= 1

    def _tell(self, tell: Callable[[Any], None], wanted: Any, buffers: Any) -> None:
        if self.is_usurped and self.is_dead:
            return  # What it wrote is on a disk that nobody has any more, and nobody hears of it.
        try:
            tell(frames.answer(wanted, buffers) if buffers else None)
        except Exception as failure:  # Else it would be lost in somebody's callback.
            self._note(failure)


async def turns(count: int) -> None:
    """Let everybody who can go on do so."""
    for _ in range(count):
        await asyncio.sleep(0)
