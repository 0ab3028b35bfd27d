"""Topics that are deleted: from the entry that says so until nothing of them is left in the store.

The entry stays in the write-ahead log as long as there are objects, so that a crash in between is finished later.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Iterable, Iterator
from uuid import UUID

from holdfast.errors import Unavailable
from holdfast.log import entry
from holdfast.log.ground import Ground
from holdfast.log.partition import PartitionLog
from holdfast.segment.garbage import collect_topic
from holdfast.segment.names import PartitionId
from holdfast.watermark import Watermark

log = logging.getLogger(__name__)

_PINS_NOTHING = -1

Opening = Callable[[UUID], Collection["asyncio.Future[PartitionLog]"]]  # Which partitions of a topic are being opened.


class Deletions:
    """Belongs to one event loop."""

    def __init__(self, ground: Ground, deleted: dict[UUID, int], opening: Opening) -> None:
        """`deleted` are the topics that the write-ahead log brought back, and where it says so."""
        self._ground = ground
        self._indexes = deleted
        self._opening = opening
        self._marking: dict[UUID, Watermark] = {}  # Topics whose deletion is not durable yet.
        self._leaving: dict[UUID, list[PartitionLog]] = {}  # Partitions of deleted topics; a flush may be under way.
        self._collecting: set[UUID] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    def __contains__(self, topic_id: object) -> bool:
        return topic_id in self._indexes

    def __iter__(self) -> Iterator[UUID]:
        return iter(self._indexes)

    def needed(self) -> list[int]:
        """The entries that have to stay."""
        return [index for index in self._indexes.values() if index != _PINS_NOTHING]

    def mark(self, topic_id: UUID) -> None:
        """From here on the topic is deleted; that becomes durable behind this."""
        durable = self._marking.setdefault(topic_id, Watermark())
        home = PartitionId(topic_id, 0)
        self._indexes[topic_id] = self._ground.journal.append(entry.DELETE_TOPIC, home, b"", durable.advance, 1)

    def leave(self, topic_id: UUID, partitions: Iterable[PartitionLog]) -> None:
        """These were open: what they still put into the store is waited for before anything is deleted there."""
        self._leaving.setdefault(topic_id, []).extend(partitions)

    async def marked(self, topic_id: UUID) -> None:
        """Wait until it is durable that a topic is deleted."""
        await self._marking[topic_id].reached(1)
        self._marking.pop(topic_id, None)

    def collect(self, topic_id: UUID | None = None) -> None:
        """Delete the objects of one topic that is deleted, or of all of them, in the background."""
        for each, index in self._indexes.items():
            wanted = topic_id in (None, each) and each not in self._marking
            if wanted and index != _PINS_NOTHING and each not in self._collecting:
                self._collecting.add(each)
                task = asyncio.ensure_future(self._delete_objects(each))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)

    async def _delete_objects(self, topic_id: UUID) -> None:
        """Delete until nothing is left; the entry that says so stays in the write-ahead log until then."""
        calls, settings = self._ground.calls, self._ground.settings
        await self._left(topic_id)
        delay_ms = settings.flush_retry_ms
        while True:
            try:
                if not await calls.run(collect_topic, self._ground.objects, topic_id):
                    break
            except Unavailable as failure:
                if delay_ms == settings.flush_retry_ms:
                    log.warning("topic %s is deleted, its objects not yet: %s", topic_id, failure)
                await calls.pause(delay_ms / 1000)
                delay_ms = min(delay_ms * 2, settings.flush_retry_ms_max)
        self._collecting.discard(topic_id)
        self._indexes[topic_id] = _PINS_NOTHING  # Known as deleted as long as we run.
        self._ground.on_change()

    async def _left(self, topic_id: UUID) -> None:
        """Wait until nobody puts anything for the topic any more: no open and no flush is under way."""
        opening = self._opening(topic_id)
        if opening:
            await asyncio.wait(opening)
        for partition in self._leaving.pop(topic_id, []):
            await partition.settled()

    def fail(self, failure: Exception) -> None:
        """The logs have stopped: whoever waits is told."""
        for marking in self._marking.values():
            marking.fail(failure)

    async def close(self) -> None:
        """Stop deleting; the next start goes on."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
