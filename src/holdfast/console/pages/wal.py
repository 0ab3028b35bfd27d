"""Write-ahead log: its rounds as they happen, how long fsyncs take, and what a start after a crash would read again."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from typing import Any, Final

from holdfast.console.pages.figures import buckets, of_times
from holdfast.console.parts import Parts
from holdfast.console.routes import Visit
from holdfast.console.survey import TopicRow
from holdfast.io.turns import Pace
from holdfast.log.partition.partition import PartitionLog

ROUNDS_MAX: Final = 240
PINS_MAX: Final = 20
CHUNKS_MAX: Final = 20
SPEED_SIZE_MIN: Final = 1 << 20  # Bytes that a start must have read to tell how fast it reads.


async def wal(visit: Visit) -> dict[str, Any]:
    parts = visit.parts
    stat = parts.logs.stat()
    kept, why = parts.logs.kept_entries()
    recent = list(parts.rounds.rounds)[-ROUNDS_MAX:]
    pins = await _pins(parts)
    return {
        "rounds_all": stat.wal.sync_count,
        "rounds": [{"at_ms": each.at_ms, "ms": round(each.seconds * 1000, 3), "size": each.size} for each in recent],
        "told": list(parts.logs.told),
        "pins": pins,
        "chunk_rows": _chunks(parts, stat.wal.chunk_starts, pins),
        "fsync": of_times(parts.syncs),
        "buckets": buckets(parts.syncs),
        "chunks": stat.wal.chunks,
        "open_chunk": stat.wal.open_chunk,
        "open_chunk_size": stat.wal.open_chunk_size,
        "size": stat.wal.on_disk_size,
        "size_max": parts.log_settings.wal_size_max,
        "queued_size": stat.wal.queued_size,
        "end": stat.wal.end,
        "durable": stat.wal.durable,
        "kept_size": kept,
        "kept_for": f"{pins[0]['partition']} is the first to need it" if pins and pins[0]["size"] == kept else why,
        "replay_s": _replay_s(parts, kept),
        "tail_size": stat.tail_memory_size,
        "flushes": stat.flushed.flushes,
        "flushed_size": stat.flushed.size,
        "held_back": stat.held_back,
        "held_back_s": {reason: round(seconds, 1) for reason, seconds in stat.held_back_seconds.items()},
        "history": parts.history.shown("fsync_ms", "rounds", "wal_bytes"),
    }


def _replay_s(parts: Parts, kept: int) -> float | None:
    """How long a start would read them, at the speed of the last one; None: that one had too little to tell."""
    size, seconds = parts.logs.recovered
    return kept / size * seconds if size >= SPEED_SIZE_MIN and seconds else None


def _chunks(parts: Parts, starts: Sequence[int], pins: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The oldest chunks, each with the partitions whose oldest unflushed entry is in it."""
    sizes = [parts.logs.size_from(each) for each in [*starts[: CHUNKS_MAX + 1]]]
    sizes += [0] if len(starts) <= CHUNKS_MAX else []
    ends = [*starts[1:], 2**63 - 1]
    return [
        {
            "first": start,
            "size": sizes[at] - sizes[at + 1],
            "pinned_by": [each["partition"] for each in pins if start <= each["entry"] < ends[at]],
        }
        for at, start in enumerate(starts[:CHUNKS_MAX])
    ]


async def _pins(parts: Parts) -> list[dict[str, Any]]:
    """The partitions whose oldest unflushed entries keep most of the log, the oldest first.

    Topics are gone through by the age of their oldest entry, as far as there may be an older one in them.
    """
    now, pace = parts.clock.monotonic(), Pace(parts.clock.monotonic)
    rows = sorted((each for each in (await parts.survey.look()).values() if each.unflushed), key=_oldest_at)
    oldest: list[tuple[int, str, PartitionLog]] = []
    async for row in pace.through(rows):
        if len(oldest) == PINS_MAX and row.oldest_at > _appended_at(oldest[-1][2]):
            break
        topic = parts.find_topic(row.name)
        firsts = [
            (log.tail.first.index, f"{row.name}-{number}", log)
            async for number, log in pace.through(enumerate(topic.logs if topic else ()))
            if isinstance(log, PartitionLog) and log.is_alive and log.tail.first is not None
        ]
        oldest = heapq.nsmallest(PINS_MAX, [*oldest, *firsts], key=lambda each: each[0])
    return [
        {
            "partition": name,
            "entry": index,
            "size": parts.logs.size_from(index),
            "own_size": log.tail.size,
            "age_s": round(max(now - _appended_at(log), 0), 1),
        }
        for index, name, log in oldest
        if log.tail.first is not None
    ]


def _oldest_at(row: TopicRow) -> float:
    return row.oldest_at


def _appended_at(log: PartitionLog) -> float:
    return log.tail.first.appended_at if log.tail.first is not None else float("-inf")
