"""Share groups at the leader of a partition, where each partition has its leader: what it gives out, and to whom.

led = LedShares(states, leads, settings, counts, clock=clock, pause=pause)
partition = await led.partition("jobs", home, log)
given = partition.acquire("m", AvailableRange(0, 9), 500, whole=True)

What has become of records is kept by the group's coordinator, which may be another broker (`ShareStates`). Who has
acquired what is known here only: when the partition moves, that is gone, and the next leader gives it to others. A
leader that is not the latest is refused by the coordinator: nothing that it takes from then on is ever answered.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from typing import Protocol

from holdfast.coordinator.group.errors import InvalidGroupId
from holdfast.coordinator.runtime.errors import CoordinatorStopped
from holdfast.coordinator.runtime.fields import check_text
from holdfast.coordinator.runtime.timers import Alarm, LoopAlarm, Timers
from holdfast.coordinator.share.durable_share import DurableSharePartition, ShareCounts, is_same_state
from holdfast.coordinator.share.errors import ShareStateAway, ShareStateOld
from holdfast.coordinator.share.first_offset import first_offset
from holdfast.coordinator.share.partition import Acquired, AvailableRange, Image, ShareLimits
from holdfast.coordinator.share.records import StoredState
from holdfast.coordinator.share.settings import ShareConfigs, ShareSettings
from holdfast.errors import HoldfastError, Unavailable
from holdfast.io.clock import Clock
from holdfast.log.errors import LedElsewhere
from holdfast.log.partition.partition import PartitionLog
from holdfast.types import PartitionId

log = logging.getLogger(__name__)

_AGAIN_S, _AGAIN_S_MAX = 0.1, 1.0
_WAIT_S = 20.0  # So long a member waits for its verdicts to be durable: the coordinator may be on its way.
_SWEEP_MS = 60_000
_UNUSED_MS = 600_000


class ShareStates(Protocol):
    """What coordinators keep. An Unavailable: nobody knows what became of the question."""

    async def read(self, group_id: str, home: PartitionId, leader_epoch: int) -> StoredState: ...

    async def write(self, group_id: str, home: PartitionId, state: StoredState) -> None: ...


class PartitionsLed(Protocol):
    """What this broker leads, as far as it knows."""

    def has(self, data: PartitionLog) -> bool:
        """Whether a partition is led here, and not on its way to another."""

    async def look(self) -> None:
        """Wait until it is looked whether all is still so, if this process may have been stopped since it was."""


Pause = Callable[[float], Awaitable[None]]


class LedKeeper:
    """The state of one partition in one group, told to the group's coordinator. Belongs to one event loop.

    While one is on its way no other follows it; the next covers everything that has changed meanwhile. After a state
    whose fate nobody knows, the coordinator is asked anew first: then what is late counts no more, wherever it arrives.
    """

    def __init__(
        self,
        states: ShareStates,
        group_id: str,
        partition: PartitionLog,
        state: StoredState,
        image: Callable[[], Image],
        on_over: Callable[[], None],
        pause: Pause,
    ) -> None:
        self._states = states
        self._group_id = group_id
        self._partition = partition
        self._epochs = state.state_epoch, state.leader_epoch
        self._image = image
        self._on_over = on_over
        self._pause = pause
        self._changes = 0
        self._durable = 0
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()
        self._failure: BaseException | None = None
        self._task: asyncio.Future[None] | None = None

    @property
    def is_settled(self) -> bool:
        return self._durable == self._changes

    def changed(self) -> None:
        self._changes += 1
        if self._task is None and self._failure is None:
            self._task = asyncio.ensure_future(self._work())

    async def durable(self) -> None:
        if self._failure is not None:
            raise self._failure
        if self.is_settled:
            return
        wait: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((self._changes, wait))
        try:
            await asyncio.wait_for(wait, _WAIT_S)
        except TimeoutError:
            raise ShareStateAway(self._group_id, "its coordinator does not answer") from None

    def stop(self, failure: BaseException) -> None:
        """Tell nobody anything more."""
        if self._failure is None:
            self._failure = failure
            self._wake()
        if self._task is not None:
            self._task.cancel()

    async def _work(self) -> None:
        try:
            await self._tell_all()
        except HoldfastError as failure:
            self._fail(failure)
        except BaseException:
            self._fail(CoordinatorStopped())
            raise
        finally:
            self._task = None

    async def _tell_all(self) -> None:
        is_known, pause_s = True, _AGAIN_S
        while not self.is_settled:
            changes, image = self._changes, self._image()
            try:
                if not is_known:
                    await self._begin_again()
                is_known = False
                await self._states.write(self._group_id, self._partition.home, StoredState(image, *self._epochs))
            except Unavailable as failure:
                log.debug("share group %s, %s: told again: %s", self._group_id, self._partition.home.path, failure)
                if not self._partition.is_alive:
                    raise LedElsewhere(self._partition.home.path) from None
                await self._pause(pause_s)
                pause_s = min(2 * pause_s, _AGAIN_S_MAX)
            else:
                is_known, pause_s = True, _AGAIN_S
                self._durable = changes
                self._wake()

    async def _begin_again(self) -> None:
        state_epoch, leader_epoch = self._epochs
        found = await self._states.read(self._group_id, self._partition.home, leader_epoch)
        if not is_same_state(found.state_epoch, state_epoch):
            raise ShareStateOld(self._group_id, self._partition.home.path)
        self._epochs = found.state_epoch, leader_epoch

    def _fail(self, failure: BaseException) -> None:
        self._failure = self._failure or failure
        self._wake()
        self._on_over()

    def _wake(self) -> None:
        while self._waiting and (self._waiting[0][0] <= self._durable or self._failure is not None):
            _, wait = self._waiting.popleft()
            if wait.done():
                continue
            if self._failure is None:
                wait.set_result(None)
            else:
                wait.set_exception(self._failure)


class LedSharePartition(DurableSharePartition):
    """One partition as one group reads it, at its leader."""

    def __init__(
        self,
        group: LedShareGroup,
        data: PartitionLog,
        state: StoredState,
        states: ShareStates,
        leads: PartitionsLed,
        pause: Pause,
    ) -> None:
        self.log = data
        self.used_at = 0
        self._leads = leads
        self.keeper = LedKeeper(states, group.id, data, state, lambda: self.rules.image(), lambda: self.retire(), pause)
        super().__init__(group, data.home, state.image, lambda _: self.keeper)

    async def look(self) -> None:
        await self._leads.look()

    def acquire(self, member: str, found: AvailableRange, count_max: int, *, whole: bool) -> list[Acquired]:
        """Nothing, if it is not ours any more: the next leader gives it out, and may have done so."""
        return super().acquire(member, found, count_max, whole=whole) if self._leads.has(self.log) else []

    def let_go(self) -> None:
        """It is not ours any more, or is read anew: what was acquired here is nobody's."""
        self.retire()
        self.keeper.stop(LedElsewhere(self.home.path))


class LedShareGroup:
    """The partitions of one group that are led here."""

    def __init__(self, group_id: str, timers: Timers, settings: ShareSettings, counts: ShareCounts) -> None:
        self.id = group_id
        self.timers = timers
        self.counts = counts
        self.partitions: dict[PartitionId, LedSharePartition] = {}
        self._settings = settings

    @property
    def configs(self) -> ShareConfigs:
        return self._settings.configs_of(self.id)

    @property
    def limits(self) -> ShareLimits:
        return self.configs.limits

    async def room(self) -> None:
        """Coordinators wait for room in their logs."""


class LedShares:
    """All groups that read partitions which are led here. Belongs to one event loop."""

    def __init__(
        self,
        states: ShareStates,
        leads: PartitionsLed,
        settings: ShareSettings,
        counts: ShareCounts,
        *,
        clock: Clock,
        pause: Pause,
        alarm: Alarm | None = None,
    ) -> None:
        self.timers = Timers(clock, alarm or LoopAlarm())
        self._states = states
        self._leads = leads
        self._settings = settings
        self._counts = counts
        self._clock = clock
        self._pause = pause
        self._groups: dict[str, LedShareGroup] = {}
        self._opening: dict[tuple[str, PartitionLog], asyncio.Future[LedSharePartition]] = {}
        self.timers.call_at(self.timers.now() + _SWEEP_MS, self._sweep_on)

    def find(self, group_id: str) -> LedShareGroup:
        """A group. Whether there is such a one says its coordinator when a partition is opened."""
        if not group_id:
            raise InvalidGroupId(group_id)
        check_text("group id", group_id)
        return self._groups.get(group_id) or LedShareGroup(group_id, self.timers, self._settings, self._counts)

    async def partition(self, group_id: str, home: PartitionId, data: PartitionLog) -> LedSharePartition:
        """A partition as a group reads it. Where the group begins is durable before anything is given to anybody."""
        found = self._known(group_id, home, data) or await self._opened(self.find(group_id), data)
        found.used_at = self.timers.now()
        await found.durable()
        return found

    def _known(self, group_id: str, home: PartitionId, data: PartitionLog) -> LedSharePartition | None:
        group = self._groups.get(group_id)
        found = group.partitions.get(home) if group is not None else None
        if found is not None and (found.is_deleted or found.log is not data):
            self.forget(group_id, home)
            return None
        return found

    async def _opened(self, group: LedShareGroup, data: PartitionLog) -> LedSharePartition:
        """Once, for all who ask at the same time."""
        key = group.id, data
        task = self._opening.get(key)
        if task is None:
            task = self._opening[key] = asyncio.ensure_future(self._open(group, data))
            task.add_done_callback(lambda done: self._done(key, done))
        return await asyncio.shield(task)

    def _done(self, key: tuple[str, PartitionLog], done: asyncio.Future[LedSharePartition]) -> None:
        del self._opening[key]
        if not done.cancelled():
            done.exception()  # Whoever asked may have gone.

    async def _open(self, group: LedShareGroup, data: PartitionLog) -> LedSharePartition:
        state = await self._states.read(group.id, data.home, data.epochs.current)
        is_new = state.image.start < 0
        if is_new:
            state = state._replace(image=Image(await first_offset(group.configs, data, self._clock), ()))
        if not self._leads.has(data):
            raise LedElsewhere(data.home.path)
        group = self._groups.setdefault(group.id, group)
        found = LedSharePartition(group, data, state, self._states, self._leads, self._pause)
        self.forget(group.id, data.home)
        group.partitions[data.home] = found
        self._groups[group.id] = group
        if is_new:
            found.begin()
        return found

    async def expect(self, group_id: str, logs: Iterable[PartitionLog]) -> None:
        """A member begins a session: what nobody has anything of is read anew, for an operator may have changed it."""
        group = self.find(group_id)
        for each in [each for each in group.partitions.values() if each.is_idle and each.keeper.is_settled]:
            self.forget(group_id, each.home)
        waits = (self.partition(group_id, each.home, each) for each in logs)
        await asyncio.gather(*waits, return_exceptions=True)  # What went wrong is told when it is read.

    def release(self, group_id: str, member_id: str) -> None:
        """A member has closed its session: what it has not judged was not delivered, and is free."""
        for partition in list(self.find(group_id).partitions.values()):
            partition.release(member_id, delivered=False)

    def forget(self, group_id: str, home: PartitionId) -> None:
        """A partition is no more, or not ours."""
        group = self._groups.get(group_id)
        found = group.partitions.pop(home, None) if group is not None else None
        if found is not None:
            found.let_go()
        if group is not None and not group.partitions:
            del self._groups[group_id]

    def sweep(self) -> None:
        """Let go of partitions that are led elsewhere, and of those that nobody has asked for for long."""
        before = self.timers.now() - _UNUSED_MS
        for group in list(self._groups.values()):
            for each in list(group.partitions.values()):
                is_unused = each.used_at < before and each.is_idle and each.keeper.is_settled
                if each.is_deleted or is_unused or not self._leads.has(each.log):
                    self.forget(group.id, each.home)

    def _sweep_on(self, now: int) -> None:
        self.sweep()
        self.timers.call_at(now + _SWEEP_MS, self._sweep_on)

    async def close(self) -> None:
        self.timers.stop()
        for task in self._opening.values():
            task.cancel()
        for group in list(self._groups.values()):
            for each in list(group.partitions.values()):
                self.forget(group.id, each.home)
