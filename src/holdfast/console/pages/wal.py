"""Write-ahead log: its rounds as they happen, how long fsyncs take, and what a start after a crash would read again."""

from __future__ import annotations

import heapq
from typing import Any, Final

from holdfast.console.pages.figures import buckets, of_times
from holdfast.console.parts import Parts
from holdfast.console.routes import Visit
from holdfast.io.turns import Pace
from holdfast.log.partition.partition import PartitionLog

ROUNDS_MAX: Final = 240
PINS_MAX: Final = 20


async def wal(visit: Visit) -> dict[str, Any]:
    parts = visit.parts
    stat = parts.logs.stat()
    kept, why = parts.logs.kept_entries()
    recent = list(parts.rounds.rounds)[-ROUNDS_MAX:]
    return {
        "rounds_all": stat.wal.sync_count,
        "rounds": [{"at_ms": each.at_ms, "ms": round(each.seconds * 1000, 3), "size": each.size} for each in recent],
        "told": list(parts.logs.told),
        "pins": await _pins(parts),
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
        "kept_for": why,
        "tail_size": stat.tail_memory_size,
        "flushes": stat.flushed.flushes,
        "flushed_size": stat.flushed.size,
        "held_back": stat.held_back,
        "held_back_s": {reason: round(seconds, 1) for reason, seconds in stat.held_back_seconds.items()},
        "history": parts.history.shown("fsync_ms", "rounds", "wal_bytes"),
    }


async def _pins(parts: Parts) -> list[dict[str, Any]]:
    """The partitions whose oldest unflushed entries keep most of the log, the oldest first."""
    now, pace = parts.clock.monotonic(), Pace(parts.clock.monotonic)
    firsts = [
        (log.tail.first.index, f"{topic.name}-{number}", log)
        async for topic in pace.through(parts.topics())
        async for number, log in pace.through(enumerate(topic.logs))
        if isinstance(log, PartitionLog) and log.is_alive and log.tail.first is not None
    ]
    return [
        {
            "partition": name,
            "entry": index,
            "size": parts.logs.size_from(index),
            "own_size": log.tail.size,
            "age_s": round(max(now - log.tail.first.appended_at, 0), 1),
        }
        for index, name, log in heapq.nsmallest(PINS_MAX, firsts, key=lambda each: each[0])
        if log.tail.first is not None
    ]
