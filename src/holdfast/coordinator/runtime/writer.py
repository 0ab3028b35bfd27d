"""Appends to one internal partition, and tells in the order of the log when what was appended is durable.

What is handed in during one turn of the loop is appended together: commits of many consumers share a batch.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from holdfast.errors import HoldfastError
from holdfast.log.partition.partition import PartitionLog
from holdfast.record.build import build
from holdfast.record.errors import TooLarge
from holdfast.record.layout import HEADER_SIZE
from holdfast.record.records import Record

_RECORD_OVERHEAD = 40  # Bytes at most that a record's own frame adds to key and value.

Done = Callable[[int, BaseException | None], None]  # Told where the first record is, and what went wrong, if anything.


class _Waiting(NamedTuple):
    records: Sequence[Record]
    done: Done


class PartitionWriter:
    """Belongs to one event loop."""

    def __init__(self, log: PartitionLog) -> None:
        assert log.settings.durability == "fsync", "what is acknowledged here must survive"
        self._log = log
        self._door = asyncio.Lock()  # First come, first served.
        self._queue: list[_Waiting] = []
        self._waits: set[asyncio.Future[None]] = set()

    @property
    def record_size_max(self) -> int:
        """Bytes of key and value that one record may have."""
        return self._log.settings.batch_size_max - HEADER_SIZE - _RECORD_OVERHEAD

    async def room(self) -> None:
        """Wait until there is room in the log. Whoever came earlier goes on earlier."""
        async with self._door:
            await self._log.ground.room()

    def append(self, records: Sequence[Record], done: Done) -> None:
        """Append without waiting; `done` is called later, once everything is durable, or never will be."""
        self._log.check_alive()
        largest = max(_size(record) for record in records)
        if largest > self.record_size_max:
            raise TooLarge(largest, self.record_size_max)
        if not self._queue:
            asyncio.get_running_loop().call_soon(self._append_queue)
        self._queue.append(_Waiting(records, done))

    def _append_queue(self) -> None:
        queue, self._queue = self._queue, []
        log = self._log
        try:
            parts = self._parts([each.records for each in queue])
            places = [log.append_one(*each) for part in parts for each in log.check_batches(build(part))]
        except HoldfastError as failure:
            _tell(queue, 0, failure)
            return
        wait = log.durable.reached(places[-1].end_offset)
        self._waits.add(wait)

        def tell(future: asyncio.Future[None]) -> None:
            self._waits.discard(future)
            _tell(queue, places[0].base_offset, future.exception())

        wait.add_done_callback(tell)

    def _parts(self, units: Sequence[Sequence[Record]]) -> Iterator[list[Record]]:
        """Batches as large as is allowed. What was handed in together is in one batch, if one can hold it: so a crash
        leaves all of it, or nothing."""
        part: list[Record] = []
        left = self.record_size_max
        for unit in units:
            sizes = [_size(record) + _RECORD_OVERHEAD for record in unit]
            if part and sum(sizes) > left:
                yield part
                part, left = [], self.record_size_max
            for record, size in zip(unit, sizes, strict=True):
                if part and size > left:
                    yield part
                    part, left = [], self.record_size_max
                part.append(record)
                left -= size
        yield part

    async def drain(self) -> None:
        """Wait until everybody has been told."""
        while self._queue or self._waits:
            if self._waits:
                await asyncio.wait(self._waits)
            await asyncio.sleep(0)  # Callbacks run after the futures are done.


def _size(record: Record) -> int:
    return len(record.key or b"") + len(record.value or b"")


def _tell(queue: Sequence[_Waiting], at: int, failure: BaseException | None) -> None:
    for records, done in queue:
        done(at, failure)
        at += len(records)
