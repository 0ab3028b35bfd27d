"""What is left of deleted topics when nobody deletes it any more.

Whoever is asked to delete a topic deletes its objects, and so does every life that has led a partition of it, when no
flush of its own is under way (`log.background.deletions`). If such a life ends before it has done that, objects stay of
which no row and no log says anything; and what it had put may arrive after others have deleted. So the eldest life
looks for them: when it becomes the eldest, when a life is gone and settled, and once more when nothing that one has put
can be under way any more.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from uuid import UUID

from holdfast.cluster.metadata import Metadata
from holdfast.io.versions import GRACE_S
from holdfast.log.context import Environment
from holdfast.segment.garbage import collect_topic

log = logging.getLogger(__name__)

_AT_A_TIME = 4
_NEVER = float("inf")


class Leftovers:
    """As one life knows of them. Belongs to one event loop."""

    def __init__(self, environment: Environment, life: int, check: Callable[[], None]) -> None:
        """`check` raises if what we know of the metadata is not true any more: a store may be put back."""
        self._environment = environment
        self._life = life
        self._check = check
        self._gone = -1  # How many lives had gone, and were settled, when we looked last.
        self._has_gone = True  # A life, since we looked last: as far as we know, before we came.
        self._again_at = _NEVER

    async def look(self, metadata: Metadata) -> int:
        """Delete what is left, if it is time, and say how many objects that were. Tried again if it fails."""
        lives, now = metadata.lives, self._environment.clock.boottime()
        gone = lives.last - len(lives.by_broker) - len(lives.over)
        self._has_gone |= gone > self._gone
        self._gone = gone
        is_eldest = bool(lives.eldest_first) and lives.eldest_first[0].life == self._life
        if not is_eldest or not (self._has_gone or now >= self._again_at):
            return 0
        count = await self._delete(metadata)
        self._again_at = now + 2 * GRACE_S if self._has_gone else _NEVER
        self._has_gone = False
        return count

    async def _delete(self, metadata: Metadata) -> int:
        """Of all topics; what fails with one keeps none of the others, and is raised in the end."""
        there = {each.topic_id for each in metadata.topics.values()}
        deleted = [each for each in metadata.deleted if each not in there]
        found: list[int | BaseException] = []
        for first in range(0, len(deleted), _AT_A_TIME):
            await self._environment.calls.run(self._check)
            some = map(self._delete_topic, deleted[first : first + _AT_A_TIME])
            found += await asyncio.gather(*some, return_exceptions=True)
        count = sum(each for each in found if isinstance(each, int))
        if count:
            facts = {"event": "leftovers_deleted", "objects": count}
            log.warning(
                "%d objects of deleted topics were left in the store, and are gone", count, extra={"facts": facts}
            )
        for each in found:
            if isinstance(each, BaseException):
                raise each
        return count

    async def _delete_topic(self, topic_id: UUID) -> int:
        return await self._environment.calls.run(collect_topic, self._environment.objects, topic_id)
