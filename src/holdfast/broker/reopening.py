"""Partitions that could not be opened because of an object in the store are tried again, at a pace that stays bounded.

Somebody may have put the object back, or the store was misread. Those whose records are in quarantine need a repair,
and those of internal topics a start: their coordinators have begun without them.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterator
from itertools import islice

from holdfast.broker.topics import INTERNAL, OpenTopic, Topics
from holdfast.errors import Corrupt, HoldfastError
from holdfast.log.errors import Quarantined

log = logging.getLogger(__name__)

PAUSE_S_MIN = 5.0
PAUSE_S_MAX = 300.0
AT_A_TIME = 100  # Of one round, one after the other: a store of which much is damaged has others to serve.


class Reopening:
    """Goes round what is failed. Belongs to one event loop."""

    def __init__(self, topics: Topics) -> None:
        self._topics = topics
        self._passed = 0  # How many of the failed ones had their turn, since the first.

    async def run(self, pause: Callable[[float], Awaitable[None]]) -> None:
        """From now on; for a task of its own, which the caller cancels."""
        pause_s = PAUSE_S_MIN
        while True:
            await pause(pause_s)
            try:
                healed = await self.try_all()
            except Exception:  # Whatever it is, the next round must come.
                log.exception("partitions that are failed could not be tried again")
                healed = 0
            pause_s = PAUSE_S_MIN if healed else min(2 * pause_s, PAUSE_S_MAX)

    async def try_all(self) -> int:
        """One round; how many are whole again."""
        failed = list(self._failed())
        start = self._passed if self._passed < len(failed) else 0
        self._passed = start + AT_A_TIME
        return sum([await self._try(opened, number) for opened, number in islice(failed, start, start + AT_A_TIME)])

    def _failed(self) -> Iterator[tuple[OpenTopic, int]]:
        for opened in self._topics.all():
            if opened.topic.name in INTERNAL:
                continue
            for number, found in enumerate(opened.logs):
                if isinstance(found, Corrupt) and not isinstance(found, Quarantined):
                    yield opened, number

    async def _try(self, opened: OpenTopic, number: int) -> bool:
        where = f"{opened.topic.name}-{number}"
        try:
            is_whole = await self._topics.reopen(opened.topic, number)
        except HoldfastError as failure:
            log.debug("%s is failed as before: %s", where, failure)
            return False
        if is_whole:
            facts = {"event": "partition_whole", "topic": opened.topic.name, "partition": number}
            log.warning("%s is whole again, and served", where, extra={"facts": facts})
        return is_whole
