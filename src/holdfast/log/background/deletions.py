"""Topics that are deleted: from the entry that says so until nothing of them is left, in the list or in the store.

A deletion goes on by itself from the moment it is durable, whatever becomes of the call that asked for it: it is struck
off the list of topics, if somebody keeps one, and then its objects go. What fails is tried again, with growing pauses,
for as long as it takes; that is said and counted, and holds nobody back. It pins no entry: what is not done when the
write-ahead log is purged is in the log's user data (`Kept.deleted`), and goes on after a start.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from uuid import UUID

from holdfast.log import entry
from holdfast.log.context import LogContext
from holdfast.log.flushed_marks import FlushedMarks
from holdfast.log.metadata import check_deleted
from holdfast.log.partition.partition import PartitionLog
from holdfast.log.stat import DeletionsStat
from holdfast.segment.garbage import collect_topic
from holdfast.types import PartitionId
from holdfast.watermark import Watermark

log = logging.getLogger(__name__)

_AT_A_TIME = 4
_RETRY_MS_MAX = 60_000
_SAY_EVERY_S = 300.0
_GONE_MAX = 10_000  # Topics that are remembered although nothing is left of them.

Opening = Callable[[UUID], Collection["asyncio.Future[PartitionLog]"]]  # Which partitions of a topic are being opened.
Strike = Callable[[UUID], Awaitable[None]]  # Strikes a topic off a list that is kept elsewhere.


async def no_list(topic_id: UUID) -> None:
    """Nobody keeps a list of topics elsewhere."""


@dataclass(slots=True)
class Deletion:
    """One topic on its way out."""

    since: float
    durable: Watermark = field(default_factory=Watermark)
    tried: asyncio.Event = field(default_factory=asyncio.Event)  # It is struck off the list, or that has failed once.
    leaving: list[PartitionLog] = field(default_factory=list)  # They were open: a flush may be under way.


class Deletions:
    """Belongs to one event loop."""

    def __init__(self, ground: LogContext, deleted: Iterable[UUID], opening: Opening) -> None:
        """`deleted` are the topics that the write-ahead log brought back."""
        now = ground.clock.monotonic()
        self._ground = ground
        self._opening = opening
        self._under_way = {each: Deletion(now) for each in deleted}
        self._gone: dict[UUID, None] = {}  # Nothing is left of these.
        self._ready = deque(self._under_way)
        self._late: list[UUID] = []  # Those that have failed wait for the next attempt.
        self._retry_ms = ground.settings.flush_retry_ms
        self._retry: asyncio.Task[None] | None = None
        self._tasks: dict[UUID, asyncio.Task[None]] = {}
        self._strike: Strike | None = None  # None: not begun.
        self._ended = False
        self._say_at = 0.0

    def __contains__(self, topic_id: object) -> bool:
        return topic_id in self._under_way or topic_id in self._gone

    def __iter__(self) -> Iterator[UUID]:
        yield from self._under_way
        yield from self._gone

    @property
    def under_way(self) -> frozenset[UUID]:
        """Those that are not done."""
        return frozenset(self._under_way)

    def stat(self) -> DeletionsStat:
        now = self._ground.clock.monotonic()
        return DeletionsStat(
            len(self._under_way), max((now - each.since for each in self._under_way.values()), default=0.0)
        )

    def mark(self, topic_id: UUID, partitions: Iterable[PartitionLog]) -> None:
        """From here on the topic is deleted; that becomes durable behind this.

        The partitions were open: what they still put into the store is waited for before anything is deleted there.
        """
        check_deleted(self._under_way)
        deletion = Deletion(self._ground.clock.monotonic(), leaving=list(partitions))

        def go_on(number: int) -> None:
            deletion.durable.advance(number)
            self._ready.append(topic_id)
            self._start_some()

        self._ground.journal.append(entry.encode_prefix(entry.DELETE_TOPIC, PartitionId(topic_id, 0)), (b"",), go_on, 1)
        self._under_way[topic_id] = deletion

    async def marked(self, topic_id: UUID) -> None:
        """Wait until it is durable that a topic is deleted."""
        if topic_id in self._under_way:
            await self._under_way[topic_id].durable.reached(1)

    async def tried(self, topic_id: UUID) -> None:
        """Wait until a topic is struck off the list, or that has failed once: then it goes on without us."""
        if topic_id in self._under_way:
            await self._under_way[topic_id].tried.wait()

    def begin(self, strike: Strike) -> None:
        """Go on with what a start has brought back, and with all that comes."""
        self._strike = strike
        self._start_some()

    def _start_some(self) -> None:
        while self._ready and len(self._tasks) < _AT_A_TIME and self._strike is not None and not self._ended:
            topic_id = self._ready.popleft()
            self._tasks[topic_id] = asyncio.ensure_future(self._go_on(topic_id, self._strike))
            self._tasks[topic_id].add_done_callback(lambda _, each=topic_id: self._note_end(each))  # type: ignore[misc]

    def _note_end(self, topic_id: UUID) -> None:
        self._tasks.pop(topic_id, None)
        self._start_some()

    async def _go_on(self, topic_id: UUID, strike: Strike) -> None:
        """One attempt."""
        deletion = self._under_way[topic_id]
        try:
            await strike(topic_id)
            deletion.tried.set()
            await self._left(topic_id, deletion)
            while await self._ground.calls.run(collect_topic, self._ground.objects, topic_id):
                pass
        except Exception as failure:  # Whatever it is: nobody else goes on with it.
            self._put_off(topic_id, failure)
        else:
            self._finish(topic_id)
        finally:
            deletion.tried.set()

    async def _left(self, topic_id: UUID, deletion: Deletion) -> None:
        """Wait until nobody puts anything for the topic any more: no open and no flush is under way."""
        opening = self._opening(topic_id)
        if opening:
            await asyncio.wait(opening)
        for partition in deletion.leaving:
            await partition.settled()
        deletion.leaving.clear()

    def _put_off(self, topic_id: UUID, failure: Exception) -> None:
        self._late.append(topic_id)
        if self._retry is None:
            self._retry = asyncio.ensure_future(self._try_again())
        now = self._ground.clock.monotonic()
        if now < self._say_at:
            return
        self._say_at = now + _SAY_EVERY_S
        stat = self.stat()
        facts = {"event": "deletion_late", "count": stat.count, "age_s": round(stat.age_s), "topic_id": str(topic_id)}
        log.warning(
            "%d deleted topics are not gone from the store yet, the first for %d s, such as %s: %s; tried again",
            stat.count,
            stat.age_s,
            topic_id,
            str(failure) or repr(failure),
            extra={"facts": facts},
        )

    async def _try_again(self) -> None:
        await self._ground.calls.pause(self._retry_ms / 1000)
        self._retry_ms = min(self._retry_ms * 2, _RETRY_MS_MAX)
        self._retry = None
        late, self._late = self._late, []
        self._ready.extend(late)
        self._start_some()

    def _finish(self, topic_id: UUID) -> None:
        del self._under_way[topic_id]
        self._gone[topic_id] = None  # Still known as deleted: somebody may have a name of it in hand.
        if self._say_at and not self._under_way:
            self._say_at, self._retry_ms = 0.0, self._ground.settings.flush_retry_ms
            log.info("all deleted topics are gone from the store", extra={"facts": {"event": "deletions_done"}})
        self._ground.on_change()

    def forget_gone(self) -> None:
        """Forget the oldest of those of which nothing is left, once nothing is kept of them either."""
        if len(self._gone) > _GONE_MAX:
            kept = FlushedMarks.of(self._ground.journal.kept.flushed).topics
            for each in [each for each in self._gone if each not in kept][: len(self._gone) - _GONE_MAX]:
                del self._gone[each]

    def fail(self, failure: Exception) -> None:
        """The logs have stopped: whoever waits is told."""
        self._ended = True
        for deletion in self._under_way.values():
            deletion.durable.fail(failure)
            deletion.tried.set()

    async def close(self) -> None:
        """Stop deleting; the next start goes on."""
        self._ended = True
        tasks = [*self._tasks.values(), *([self._retry] if self._retry else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
