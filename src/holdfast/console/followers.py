"""Those that follow this cluster's log from elsewhere, as far as they report here: syncs and archives.

A sync that writes here leaves its checkpoints here; one that has a port for metrics says more there, of both ways. An
archive that was run with `--report` leaves how far it has come. Each is looked at again after a few seconds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlsplit
from uuid import UUID

from holdfast.client.fetch import fetch
from holdfast.cluster.reports import Report, archive_reports
from holdfast.cluster.sync_points import CHECKPOINTS, SyncedPartition, decode_sync_point
from holdfast.console.readers import FindTopic, log_of
from holdfast.console.survey import ShownTopic
from holdfast.errors import HoldfastError
from holdfast.io.calls import BlockingCalls
from holdfast.io.clock import Clock
from holdfast.io.objects import Objects
from holdfast.io.turns import Pace
from holdfast.log.errors import OutOfRange
from holdfast.log.partition.partition import PartitionLog
from holdfast.record.batch import split
from holdfast.record.errors import UNREADABLE
from holdfast.record.records import read_records
from holdfast.types import PartitionId, TopicPartition

POINTS_MAX: Final = 20_000  # Partitions that syncs write to.
_AGE_S: Final = 2.0
_READ_SIZE: Final = 512 << 10
_LOOK_SIZE: Final = 8 << 20  # Bytes of checkpoints for one look; the next goes on.
_METRICS_SIZE: Final = 4 << 20
_PREFIX: Final = "holdfast_sync_"


class Followers:
    """Belongs to one event loop."""

    def __init__(
        self,
        addresses: Sequence[str],
        objects: Objects,
        find_topic: FindTopic,
        calls: BlockingCalls,
        asking: BlockingCalls,
        clock: Clock,
    ) -> None:
        """`asking` makes the calls to others, who may be slow."""
        self._addresses = addresses
        self._objects = objects
        self._calls, self._asking = calls, asking
        self._now = clock.monotonic
        self._looking = asyncio.Lock()
        self._again_at = float("-inf")
        self._written = _SyncPoints(find_topic, calls)
        self.points: Mapping[tuple[str, str, int], SyncedPartition] = self._written.known
        self.metrics: list[dict[str, Any]] = []
        self.archives: list[Report] = []
        self.archives_why = ""

    async def look(self) -> None:
        """Renew what is known, unless it is of a moment ago."""
        async with self._looking:
            if self._now() < self._again_at:
                return
            await self._written.follow()
            self.metrics = await asyncio.gather(*(self._asking.run(_directions, each) for each in self._addresses))
            try:
                self.archives, self.archives_why = await self._calls.run(_archives, self._objects), ""
            except HoldfastError as failure:
                self.archives_why = str(failure)
            self._again_at = self._now() + _AGE_S


def _archives(objects: Objects) -> list[Report]:
    return list(archive_reports(objects))


class _SyncPoints:
    """The checkpoints of syncs that write here, read on from where the last look has ended."""

    def __init__(self, find_topic: FindTopic, calls: BlockingCalls) -> None:
        self._find_topic = find_topic
        self._calls = calls
        self._home: PartitionId | None = None
        self._next = 0
        self.known: dict[tuple[str, str, int], SyncedPartition] = {}

    async def follow(self) -> None:
        log = log_of(self._find_topic, TopicPartition(CHECKPOINTS, 0))
        if log is None or log.home != self._home:
            self.known.clear()
            self._home, self._next = (None, 0) if log is None else (log.home, log.marks.log_start)
        size = 0
        while log is not None and self._next < log.marks.high_watermark and size < _LOOK_SIZE:
            size += await self._piece(log)

    async def _piece(self, log: PartitionLog) -> int:
        """How many bytes there were, or that there is no more to come."""
        try:
            read = await log.read(self._next, None, _READ_SIZE)
        except OutOfRange:
            self._next = log.marks.log_start
            return _LOOK_SIZE
        except HoldfastError:
            return _LOOK_SIZE
        for point in await self._calls.local(_points_in, read.buffers, self._next):
            key = point.source, point.topic, point.partition
            if key in self.known or len(self.known) < POINTS_MAX:
                self.known[key] = point
        self._next = max(read.next_offset, self._next)
        return sum(map(len, read.buffers)) or _LOOK_SIZE


def _points_in(buffers: Sequence[memoryview], start: int) -> list[SyncedPartition]:
    found: list[SyncedPartition] = []
    for buffer in buffers:
        for header, batch in split(buffer):
            if header.is_control:
                continue
            try:
                records = [each for each in read_records(batch) if (each.offset or 0) >= start]
            except UNREADABLE:
                continue
            points = (decode_sync_point(each.key, each.value) for each in records)
            found += [each for each in points if each is not None]
    return found


async def archived_behind(
    report: Report, by_id: Mapping[UUID, ShownTopic], sees: Callable[[str], bool], pace: Pace
) -> tuple[dict[str, int], int]:
    """By topic, offsets that an archive has yet to take; and how many of its partitions are there no more."""
    behind: dict[str, int] = {}
    gone = 0
    async for home, offset in pace.through(_next_offsets(report.facts.get("next"))):
        topic = by_id.get(home.topic_id)
        log = topic.logs[home.partition] if topic and home.partition < len(topic.logs) else None
        if topic is None or not isinstance(log, PartitionLog):
            gone += 1
        elif sees(topic.name):
            behind[topic.name] = behind.get(topic.name, 0) + max(log.last_stable - offset, 0)
    return behind, gone


def _next_offsets(said: Any) -> Iterator[tuple[PartitionId, int]]:
    for name, offset in said.items() if isinstance(said, dict) else ():
        topic_id, _, partition = name.partition("/")
        try:
            yield PartitionId(UUID(hex=topic_id), int(partition)), int(offset)
        except (ValueError, TypeError):
            continue


def _directions(address: str) -> dict[str, Any]:
    """What a sync says of itself at its port for metrics."""
    try:
        status, body = fetch(urlsplit(f"http://{address}"), "/metrics", {}, _METRICS_SIZE, f"the sync at {address}")
        if status != 200:
            return {"address": address, "why": f"the sync at {address} answers {status}", "directions": []}
        return {"address": address, "why": "", "directions": list(_parsed(body.decode("utf-8", "replace")).values())}
    except (HoldfastError, ValueError) as failure:
        return {"address": address, "why": str(failure), "directions": []}


_OF_DIRECTION: Final = {
    "errors_total": "errors",
    "checkpoints_total": "checkpoints",
    "last_checkpoint_timestamp_seconds": "last_checkpoint_s",
}
_OF_TOPIC: Final = {
    "lag_records": "lag",
    "lag_seconds": "lag_s",
    "records_total": "records",
    "held_partitions": "held",
}


def _parsed(text: str) -> dict[str, dict[str, Any]]:
    from prometheus_client.parser import text_string_to_metric_families

    found: dict[str, dict[str, Any]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            name, labels = sample.name.removeprefix(_PREFIX), sample.labels
            if not sample.name.startswith(_PREFIX) or "direction" not in labels:
                continue
            direction = labels["direction"]
            row = found.setdefault(direction, {"direction": direction, "topics": {}})
            if name in _OF_DIRECTION:
                row[_OF_DIRECTION[name]] = sample.value
            elif name in _OF_TOPIC:
                row["topics"].setdefault(labels.get("topic", ""), {})[_OF_TOPIC[name]] = sample.value
    return found
