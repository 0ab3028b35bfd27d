"""One group and its offsets over the log: what changes is written, and answers wait until it is durable.

While a group's record is on its way to the disk, no other one follows it; the next one covers everything that has
changed meanwhile. So a burst of members that leave costs a few records, not one each.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable

from holdfast.coordinator.group.answers import GroupState
from holdfast.coordinator.group.classic.member import Answer, Result, Ticket
from holdfast.coordinator.group.consumer.migration import Group
from holdfast.coordinator.group.errors import RebalanceInProgress
from holdfast.coordinator.group.offsets import Changes, OffsetTable
from holdfast.coordinator.group.records import group_key, offset_record
from holdfast.coordinator.runtime.errors import CoordinatorStopped
from holdfast.coordinator.runtime.timers import Timers
from holdfast.coordinator.runtime.writer import PartitionWriter
from holdfast.errors import HoldfastError
from holdfast.io.clock import Clock
from holdfast.record.records import Record

Ask = Callable[[Ticket, int], list[Answer]]


class DurableGroup:
    """One group. Belongs to one event loop."""

    def __init__(
        self,
        group: Group,
        offsets: OffsetTable,
        writer: PartitionWriter,
        timers: Timers,
        clock: Clock,
        *,
        since_ms: int | None = None,
        keys: Iterable[bytes] = (),
    ) -> None:
        """`keys` are those of the records that the group has."""
        self.group = group
        self.offsets = offsets
        self.is_stored = since_ms is not None  # The log may have a record of it.
        self.since_ms = clock.now_ms() if since_ms is None else since_ms  # When it came into its state.
        self.on_change: Callable[[DurableGroup], None] = lambda _: None
        self.successor: Callable[[Group, int], Group | None] = lambda *_: None  # Who goes on in a group's place.
        self._keys = set(keys)
        self._leftover: set[bytes] = set()  # Keys of a group whose place another kind has taken.
        self._revisions_before = 0  # Of groups that were here before this one.
        self._writer = writer
        self._timers = timers
        self._clock = clock
        self._written = group.revision  # The revision that is in the log …
        self._durable = group.revision  # … and that is durable there.
        self._held: deque[tuple[int, Answer]] = deque()  # Answers, and the revision that must be durable first.
        self.asked_at = timers.now()  # When somebody was here last.
        self._ending = False  # No record of the group may follow any more.
        self._failure: BaseException | None = None
        timers.call_at(group.deadline, self.tick)

    # Membership

    async def ask(self, ask: Ask) -> Result:
        """Let the group do something, and wait for the answer."""
        ticket: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self.heard()
        self._run(lambda now: ask(ticket, now))
        return await ticket

    def heard(self) -> None:
        """Somebody was here."""
        self.asked_at = self._timers.now()

    async def settled(self) -> None:
        """Wait until everything the group has decided is durable."""
        await self.ask(lambda ticket, _: [Answer(ticket, None)])

    def tick(self, now: int) -> None:
        """Do what is due."""
        del now
        self._run(self.group.tick)

    def end(self, failure: HoldfastError) -> None:
        """Answer whoever waits, and take no more."""
        self._run(lambda _: self.group.end(failure))

    def _run(self, step: Callable[[int], list[Answer]]) -> None:
        before, now = self.group.state, self._timers.now()
        answers = step(now)
        successor = self.successor(self.group, now)
        if successor is not None:
            self._replace(successor)
        if self.group.state is not before:
            self.since_ms = self._clock.now_ms()
        self._held.extend((self._revision, answer) for answer in answers)
        self._write()
        self._release()
        if self.group.state is GroupState.DEAD:
            self._timers.forget(self.tick)
        self._timers.call_at(self.group.deadline, self.tick)
        self.on_change(self)

    def move(self, successor: Group) -> None:
        """Let a group of the other kind take this one's place. It is written with what is asked of it next."""
        answers = self._replace(successor)
        self._held.extend((self._revision, answer) for answer in answers)

    def _replace(self, successor: Group) -> list[Answer]:
        """All that is stored of the group before is taken back in the same write as the first of its successor."""
        answers = self.group.end(RebalanceInProgress(self.group.id))
        self._revisions_before = self._revision + 1 - successor.revision
        self._leftover |= self._keys
        self.group = successor
        return answers

    @property
    def _revision(self) -> int:
        return self._revisions_before + self.group.revision

    # The group's record

    def _write(self) -> None:
        revision = self._revision
        is_on_the_way = self._written > self._durable
        if self._ending or is_on_the_way or revision == self._written:
            return
        now_ms = self._clock.now_ms()
        changes = self.group.changes(self.since_ms)
        changes = {**dict.fromkeys(sorted(self._leftover - changes.keys())), **changes}
        records = [Record(key, value, now_ms) for key, value in changes.items()]
        try:
            self._writer.append(records, lambda _, failure: self._note_durable(revision, failure))
        except HoldfastError as failure:
            self._fail(failure)
            return
        self._written = revision
        self._leftover.clear()
        for key, value in changes.items():
            (self._keys.discard if value is None else self._keys.add)(key)
        self.is_stored = True

    def _note_durable(self, revision: int, failure: BaseException | None) -> None:
        if failure is not None:
            self._fail(failure)
            return
        self._durable = revision
        self._write()
        self._release()
        self.on_change(self)

    def _release(self) -> None:
        """Send the answers that wait for nothing any more. Once the log has stopped, nothing else may be told."""
        while self._held and (self._held[0][0] <= self._durable or self._failure is not None):
            _, (ticket, result) = self._held.popleft()
            _send(ticket, result if self._failure is None else self._failure)

    def _fail(self, failure: BaseException) -> None:
        """The log has stopped: whoever waits is told, and whoever comes later."""
        self._ending = True
        self._failure = failure
        answers = self.group.end(CoordinatorStopped())
        self._held.extend((self._revision, answer) for answer in answers)
        self._timers.forget(self.tick)
        self._release()

    # Offsets

    def change_offsets(self, changes: Changes) -> asyncio.Future[None]:
        """Write offsets, or take them back; done once that is durable and shown. Happens also if nobody waits."""
        now_ms = self._clock.now_ms()
        records = [offset_record(self.group.id, partition, value, now_ms) for partition, value in changes.items()]
        finished: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def done(at: int, failure: BaseException | None) -> None:
            if failure is None:
                self.offsets.finish(changes, at)
            _send(finished, failure)
            self.on_change(self)

        self._writer.append(records, done)
        self.offsets.begin(changes)
        self.is_stored = True
        return finished

    # The end

    def delete(self) -> asyncio.Future[None]:
        """Take back everything that is stored; done once that is durable."""
        changes: Changes = dict.fromkeys(self.offsets.known())
        now_ms = self._clock.now_ms()
        records = [offset_record(self.group.id, partition, None, now_ms) for partition in changes]
        deleted: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def done(at: int, failure: BaseException | None) -> None:
            if failure is not None:
                self._fail(failure)
            else:
                self.offsets.finish(changes, at)
                self._durable = self._revision
                self._release()
            _send(deleted, failure)

        keys = sorted({group_key(self.group.id), *self._keys})
        self._writer.append([*records, *(Record(key, None, now_ms) for key in keys)], done)
        self.offsets.begin(changes)
        self._ending = True
        self._timers.forget(self.tick)
        return deleted

    @property
    def is_unused(self) -> bool:
        """Nobody would miss it."""
        return self.group.is_unused and self.offsets.is_unused and not self._held


def _send(ticket: Ticket, result: object) -> None:
    """Answer, unless whoever asked has gone."""
    assert isinstance(ticket, asyncio.Future)
    if ticket.done():
        return
    if isinstance(result, BaseException):
        ticket.set_exception(result)
    else:
        ticket.set_result(result)
