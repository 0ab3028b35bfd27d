"""The internal topic of a coordinator: which partition holds a key, how all are loaded and followed, and which are in
quarantine.

One that is corrupt does not stop the others: whoever asks for a key in it hears of that, until it is repaired.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from functools import lru_cache

from holdfast.coordinator.runtime.errors import CoordinatorQuarantined, NewerRecord, NotCoordinator
from holdfast.errors import Corrupt, HoldfastError
from holdfast.log.errors import LedElsewhere, NotOpen
from holdfast.log.partition.partition import PartitionLog

log = logging.getLogger(__name__)

_LOADS_MAX = 8  # Internal partitions read at the same time.

InternalLogs = Sequence[PartitionLog | NotOpen]  # One that is not open is there as the reason why.
Load = Callable[[int, PartitionLog], Awaitable[None]]


class InternalTopic:
    """The partitions of one internal topic, in order; their number must never change. Belongs to one event loop."""

    def __init__(self, of: str, logs: InternalLogs = ()) -> None:
        """`of` says what is kept there: groups, transactions."""
        self._of = of
        self.count = 0
        self.served: dict[int, PartitionLog] = {}
        self.loading: set[int] = set()  # Those that have just come here.
        self._quarantined: dict[int, CoordinatorQuarantined] = {}
        self.open(logs)

    def open(self, logs: InternalLogs) -> None:
        """Take the partitions, once there are any."""
        self.count = len(logs)
        for number, each in enumerate(logs):
            if isinstance(each, Corrupt):
                self._quarantine(number, each)
            elif isinstance(each, PartitionLog):
                self.open_one(number, each)

    def open_one(self, number: int, log: PartitionLog) -> None:
        """Serve a partition from here on."""
        assert log.settings.durability == "fsync", "what is acknowledged here must survive"
        self.served[number] = log

    def close_one(self, number: int) -> None:
        """Another broker has a partition."""
        self.served.pop(number, None)
        self._quarantined.pop(number, None)

    def number_of(self, key: str) -> int:
        """The partition that holds a key."""
        return partition_of(key, self.count)

    def check(self, key: str) -> None:
        """Raises if the partition of a key is in quarantine."""
        self.check_number(self.number_of(key))

    def check_number(self, number: int) -> None:
        if number in self._quarantined:
            raise self._quarantined[number]
        if number not in self.served:
            raise NotCoordinator(number)

    def quarantined(self, key: str | None = None) -> CoordinatorQuarantined | None:
        """Why a key cannot be served, or why a list of all keys is not whole; None if all is well."""
        if key is None:
            return next(iter(self._quarantined.values()), None)
        return self._quarantined.get(self.number_of(key)) if self.count else None

    async def load(self, load: Load) -> None:
        """Load all partitions, several at a time; one that is corrupt goes to quarantine. May be tried again."""
        at_once = asyncio.Semaphore(_LOADS_MAX)

        async def load_one(number: int, partition: PartitionLog) -> None:
            async with at_once:
                await self.load_one(number, partition, load)

        tasks = (load_one(number, partition) for number, partition in list(self.served.items()))
        for result in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(result, BaseException):
                raise result

    async def load_one(self, number: int, partition: PartitionLog, load: Load) -> None:
        """Load one; if it is corrupt it goes to quarantine."""
        try:
            await load(number, partition)
        except NewerRecord:  # Nothing is damaged: an upgrade reads it, and a repair would not.
            raise
        except Corrupt as failure:
            self._quarantine(number, failure)

    async def follow(self, logs: InternalLogs, open_one: Load, close_one: Callable[[int], None]) -> None:
        """Serve these partitions from here on, and no others.

        One that cannot be read now does not hold up the others. Raises why: it is to be tried again.
        """
        self.count = len(logs)
        failures = []
        for number, each in enumerate(logs):
            served = self.served.get(number)
            if served is each:
                continue
            if served is not None or isinstance(each, LedElsewhere):
                close_one(number)
            if isinstance(each, PartitionLog) and not self.has_quarantined(number):
                try:
                    await open_one(number, each)
                except HoldfastError as failure:
                    failures.append(failure)
        if failures:
            raise failures[0]

    async def take(self, number: int, partition: PartitionLog, load: Load, close_one: Callable[[int], None]) -> None:
        """Serve one that has just come here, and load it. If that fails it is as if it had not come."""
        self.open_one(number, partition)
        self.loading.add(number)
        try:
            await self.load_one(number, partition, load)
        except BaseException:
            close_one(number)
            raise
        finally:
            self.loading.discard(number)

    def has_quarantined(self, number: int) -> bool:
        return number in self._quarantined

    def _quarantine(self, number: int, why: Corrupt) -> None:
        """Serve nothing of a partition. What is open in it stays open: nobody may guess how it ended."""
        self.served.pop(number, None)
        failure = CoordinatorQuarantined(self._of, number, why)
        self._quarantined[number] = failure
        facts = {"event": "coordinator_quarantined", "of": self._of, "partition": number}
        log.error("%s", failure, extra={"facts": facts})


def partition_of(group_id: str, partition_count: int) -> int:
    """Which internal partition holds a group, or another text; the same one as in Kafka."""
    hashed = java_hash(group_id)
    return (0 if hashed == -(1 << 31) else abs(hashed)) % partition_count


@lru_cache(10_000)  # The same groups ask again and again.
def java_hash(text: str) -> int:
    """Java's String.hashCode: over UTF-16 units, in 32 bits, signed."""
    data = text.encode("utf-16-be", "surrogatepass")
    hashed = 0
    for at in range(0, len(data), 2):
        hashed = (31 * hashed + int.from_bytes(data[at : at + 2], "big")) & 0xFFFFFFFF
    return hashed - (1 << 32) if hashed >= 1 << 31 else hashed
