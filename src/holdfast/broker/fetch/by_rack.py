"""Reads by rack (KIP-392): old records come from a broker in the reader's rack, all others from the leader.

The leader points a reader that is far behind to a broker in its rack. That one serves what is flushed, and where that
ends, or where it cannot read, points the reader back. Pointing back is an answer without an error: franz-go stays where
it is after an error, and all clients follow `preferred_read_replica` at once.

A reader that is back where it was pointed from got nothing there: it is served by the leader for a while.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from typing import NamedTuple

from holdfast.broker.fetch.partition import NONE_ABORTED, read_partition, size_of
from holdfast.broker.racks import Racks
from holdfast.broker.topics import Topics
from holdfast.errors import HoldfastError
from holdfast.io.clock import Clock
from holdfast.log.errors import LedElsewhere
from holdfast.log.logs import Logs
from holdfast.log.partition.partition import PartitionLog
from holdfast.log.partition.stored import StoredPartition
from holdfast.measure import RackCounts
from holdfast.protocol.codes import Code
from holdfast.protocol.hot.fetch import FetchPartition
from holdfast.protocol.hot.fetch_response import Fetched
from holdfast.segment.manifest.manifest import Manifest
from holdfast.types import PartitionId

log = logging.getLogger(__name__)

FAR_SIZE = 4 << 20  # Bytes of whole segments that lie before a reader who is pointed elsewhere.
_FAR_COUNT = 64  # Or so many segments, however small.
READERS_MAX = 256  # Partitions of others that are open at a time.
_POINTED_MAX = 10_000  # Readers that are remembered.
_BACK_S = 60.0  # Who is back within this, at the same offset, got nothing;
_STAY_S = 30.0  # and stays for so long.
_FRESH_S = 5.0  # What is told of a partition of others is no older: retention may have moved its start.
_END_S = 1.0  # At its end, it is looked at again after this.
_ANSWER_S = 10.0  # A store that takes longer is as good as away.
_SAID_S = 60.0  # One line about failures in so long.


class _Pointed(NamedTuple):
    """When and where a reader was last pointed elsewhere; or until when it stays."""

    who: object  # Kept, so that nobody else has its id.
    at: float
    offset: int
    stays_until: float = 0.0


class ReadsByRack:
    """Both sides of it. Belongs to one event loop."""

    def __init__(self, racks: Racks, topics: Topics, logs: Logs, clock: Clock, broker: int, counts: RackCounts) -> None:
        self._racks = racks
        self._topics = topics
        self._logs = logs
        self._clock = clock
        self._broker = broker
        self._pointed: OrderedDict[tuple[int, PartitionId], _Pointed] = OrderedDict()
        self._open: OrderedDict[PartitionId, StoredPartition] = OrderedDict()
        self._said_at = float("-inf")
        self.counts = counts
        topics.on_change.append(self._drop_unneeded)

    @property
    def open_count(self) -> int:
        """Partitions of others that are open."""
        return len(self._open)

    # Of the leader

    def point(
        self, who: object, rack: str, partition: PartitionLog, wanted: FetchPartition, *, committed: bool
    ) -> Fetched | None:
        """Where a reader is to go on; None if that is here. `who` is one object for each of its connections."""
        offset, manifest, home = wanted.fetch_offset, partition.manifest, partition.home
        if not manifest.log_start <= offset < _far_end(manifest) or wanted.last_fetched_epoch >= 0:
            return None
        if committed and offset >= manifest.last_stable:
            return None
        reader = self._racks.reader(home, self._broker, rack)
        if reader is None or reader == self._broker or self._stays(who, home, offset):
            return None
        self.counts.pointed += 1
        marks, aborted = partition.marks, NONE_ABORTED if committed else None
        told = marks.high_watermark, partition.last_stable, marks.log_start
        return Fetched(wanted.partition, 0, *told, aborted, preferred_read_replica=reader)

    def _stays(self, who: object, home: PartitionId, offset: int) -> bool:
        """Whether a reader is better served here. If not, it is noted that it is pointed elsewhere."""
        key, now = (id(who), home), self._clock.monotonic()
        before = self._pointed.pop(key, None)
        if before is not None and before.stays_until > now:
            note = before
        elif before is not None and before.offset == offset and now - before.at < _BACK_S:
            note = before._replace(stays_until=now + _STAY_S)
        else:
            note = _Pointed(who, now, offset)
        self._pointed[key] = note
        if len(self._pointed) > _POINTED_MAX:
            self._pointed.popitem(last=False)
        return note.stays_until > now

    # Of a broker that does not lead

    def is_ours(self, rack: str) -> bool:
        """Whether readers in this rack are served here what others lead."""
        return rack != "" and rack == self._racks.rack

    async def read(
        self, home: PartitionId, led: LedElsewhere, wanted: FetchPartition, limit: int, *, first: bool, committed: bool
    ) -> Fetched | None:
        """What is flushed of a partition that another broker leads, or that the reader is to go back to that one.

        None where nobody leads it, and nothing can be read either.
        """
        if 0 <= wanted.current_leader_epoch < led.epoch:
            return Fetched(wanted.partition, Code.FENCED_LEADER_EPOCH)
        if wanted.current_leader_epoch > led.epoch:
            return Fetched(wanted.partition, Code.UNKNOWN_LEADER_EPOCH)
        try:
            async with asyncio.timeout(_ANSWER_S):
                found = await self._read(self._stored(home), wanted, limit, first=first, committed=committed)
        except (HoldfastError, TimeoutError) as failure:
            self._note_failed(home, failure)
            found = None
        else:
            self.counts.sent_back["end"] += found is None
        if found is None and led.broker >= 0:
            return Fetched(wanted.partition, 0, preferred_read_replica=led.broker)
        return found

    async def _read(
        self, stored: StoredPartition, wanted: FetchPartition, limit: int, *, first: bool, committed: bool
    ) -> Fetched | None:
        offset = wanted.fetch_offset
        await stored.look(_FRESH_S)
        if offset >= stored.end(committed=committed):
            await stored.look(_END_S)
        start, end = stored.manifest.log_start, stored.end(committed=committed)
        if not start <= offset < end or wanted.last_fetched_epoch >= 0:
            return None  # The leader knows whether it is out of range.
        found = await read_partition(stored, wanted, limit, first=first, committed=committed)
        if found.error_code or (first and not found.records):  # All behind it was compacted away.
            return None
        self.counts.served_size += size_of(found)
        return found

    def _stored(self, home: PartitionId) -> StoredPartition:
        found = self._open.pop(home, None) or self._logs.stored(home)
        self._open[home] = found
        if len(self._open) > READERS_MAX:
            self._open.popitem(last=False)[1].forget()
        return found

    def _note_failed(self, home: PartitionId, failure: Exception) -> None:
        self.counts.sent_back["failed"] += 1
        now = self._clock.monotonic()
        if now - self._said_at > _SAID_S:
            self._said_at = now
            why = str(failure) or f"no answer within {_ANSWER_S:.0f} s"
            said = "%s cannot be read here: readers in this rack go back to its leader (%s)"
            log.warning(said, home.path, why, extra={"facts": {"event": "read_elsewhere_failed"}})

    def _drop_unneeded(self) -> None:
        """Topics are deleted, or we lead what we read for others."""
        for home in [each for each in self._open if not self._is_needed(each)]:
            self._open.pop(home).forget()

    def _is_needed(self, home: PartitionId) -> bool:
        topic = self._topics.find_id(home.topic_id)
        if topic is None or home.partition >= len(topic.logs):
            return False
        return isinstance(topic.logs[home.partition], LedElsewhere)


def _far_end(manifest: Manifest) -> int:
    """Below this, readers are far behind: whole segments of some size lie before them."""
    size, last = 0, manifest.segments.items[-_FAR_COUNT:]
    for each in reversed(last):
        size += each.size
        if size >= FAR_SIZE:
            return each.base
    return last[0].base if len(last) == _FAR_COUNT else 0
