"""Overview: is all well, how much is going on, who is held back and why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from holdfast.console.parts import Parts
from holdfast.console.routes import Visit
from holdfast.console.survey import TopicRow
from holdfast.log.stat import LogsStat
from holdfast.protocol.codes import Code
from holdfast.units import counted

_APIS = 12
SERIES = ("produce_bytes", "fetch_bytes", "records", "requests", "errors", "fsync_ms", "wal_bytes", "tail_bytes")


async def overview(visit: Visit) -> dict[str, Any]:
    parts = visit.parts
    rows = (await parts.survey.look()).values()
    stat = parts.logs.stat()
    return {
        "findings": [{"level": level, "text": text} for level, text in findings(parts, rows, stat)],
        "figures": _figures(parts, rows, stat),
        "apis": _apis(parts),
        "brokers": [_broker(parts), *_others(parts)],
        "history": parts.history.shown(*SERIES),
    }


def findings(parts: Parts, rows: Iterable[TopicRow], stat: LogsStat) -> Iterator[tuple[str, str]]:
    """What is to be known, the worst first; the first is the headline."""
    rows = list(rows)
    told = list(_wrong(parts, rows, stat))
    if not told:
        yield "ok", "Every acknowledged record is readable."
    yield from sorted(told, key=lambda each: each[0] != "bad")
    unflushed, oldest = sum(each.unflushed for each in rows), max((each.oldest_unflushed_s for each in rows), default=0)
    if unflushed:
        within_s = parts.log_settings.flush_age_ms_max // 1000
        yield (
            "info",
            (
                f"{counted(unflushed, 'partition')} {'has' if unflushed == 1 else 'have'} records that are in no "
                f"segment yet, the oldest for {oldest:.0f} s: the "
                f"write-ahead log has them, and a flush comes after {within_s} s at the latest."
            ),
        )


def _wrong(parts: Parts, rows: list[TopicRow], stat: LogsStat) -> Iterator[tuple[str, str]]:
    logs = parts.logs
    if logs.failure is not None:
        yield "bad", f"The logs have stopped: {logs.failure}"
    if not logs.owner.is_owner:
        yield "bad", "Another broker has taken the store over: nothing is acknowledged here any more."
    failed, damaged = sum(each.failed for each in rows), sum(each.damaged for each in rows)
    if failed:
        told = "the list of topics says which, holdfast repair what to do."
        yield "bad", f"{counted(failed, 'partition')} cannot be served: {told}"
    if damaged:
        are = "is" if damaged == 1 else "are"
        yield "bad", f"{counted(damaged, 'stored object')} {are} damaged or gone: holdfast verify names them."
    if logs.is_disk_low:
        yield "bad", "The disk is almost full: producers are refused until there is room."
    if stat.held_back is not None:
        yield "warn", f"Producers are held back by {_REASONS[stat.held_back]}."
    if (away_s := store_away_s(parts)) is not None:
        yield "warn", f"The store has not answered for {away_s:.0f} s: {_bearable(parts, stat)}"
    late_s = 2 * parts.log_settings.flush_age_ms_max / 1000
    late = sum(each.oldest_unflushed_s > late_s for each in rows)
    if late:
        yield "warn", f"{late} topics have not been flushed for more than {late_s:.0f} s: the store may be away."
    held = sum(each.held_back for each in rows)
    if held:
        yield "warn", f"{held} records wait for a transaction to be decided: read-committed consumers stand still."


def store_away_s(parts: Parts) -> float | None:
    """How long every call of the store has failed; None: the last one has not."""
    return parts.store.away_s(parts.clock.monotonic())


def bearable_s(parts: Parts, stat: LogsStat) -> float | None:
    """How long producers may go on before the write-ahead log is full; None: nobody produces, or it is not known."""
    speed = parts.history.last("produce_bytes")
    room = max(parts.log_settings.wal_size_max - stat.wal.on_disk_size, 0)
    return room / speed if speed else None


def _bearable(parts: Parts, stat: LogsStat) -> str:
    left_s = bearable_s(parts, stat)
    if left_s is None:
        return "nobody produces now; what is acknowledged stays in the write-ahead log."
    return f"as much as is produced now fits into the write-ahead log for {left_s:.0f} s more, then producers wait."


_REASONS = {
    "wal": "the write-ahead log, which has its largest size",
    "queue": "the disk, which is slower than they are",
    "memory": "memory, which lists of unflushed batches fill",
}


def _figures(parts: Parts, rows: Iterable[TopicRow], stat: LogsStat) -> dict[str, Any]:
    rows = [each for each in rows if not each.is_internal]
    port, limit = parts.port(), parts.log_settings.wal_size_max
    return {
        "topics": len(rows),
        "partitions": sum(each.partitions for each in rows),
        "records": sum(each.records for each in rows),
        "size": sum(each.size for each in rows),
        "rate": round(sum(each.rate or 0 for each in rows), 1),
        "connections": port.connections,
        "wal_size": stat.wal.on_disk_size,
        "wal_size_max": limit,
        "until_held_back": max(limit - stat.wal.on_disk_size, 0),
        "bearable_s": None if (left_s := bearable_s(parts, stat)) is None else round(left_s),
        "store_away_s": store_away_s(parts),
        "store_failures": sum(parts.store.failures.values()),
        "tail_size": stat.tail_memory_size,
        "tail_size_max": parts.log_settings.tail_size_max,
        "cache_size": stat.cache.size,
        "cache_size_max": parts.log_settings.cache_size_max,
        "disk_free": parts.free_size(),
        "memory": resident_size(),
        "held_back_s": round(sum(stat.held_back_seconds.values()), 1),
        "store": parts.store_url,
        "data": parts.data_path,
    }


def resident_size() -> int | None:
    """Bytes of memory that the process has."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * 4096
    except (OSError, ValueError, IndexError):
        return None


def _apis(parts: Parts) -> list[dict[str, Any]]:
    most = sorted(parts.traffic.items(), key=lambda each: -each[1].requests)[:_APIS]
    errors: dict[str, dict[str, int]] = {}
    for (api, code), count in parts.errors.items():
        errors.setdefault(api, {})[Code(code).name] = count
    return [
        {
            "api": api,
            "requests": counts.requests,
            "errors": errors.get(api, {}),
            "received": counts.received_size,
            "sent": counts.sent_size,
            "mean_ms": round(counts.time.seconds / counts.time.count * 1000, 2) if counts.time.count else None,
        }
        for api, counts in most
    ]


def _others(parts: Parts) -> list[dict[str, Any]]:
    """Those that share the store, and are ready to take over."""
    return [
        {
            "node": each.life.broker,
            "id": None,
            "incarnation": each.life.incarnation,
            "place": each.life.name,
            "address": ", ".join(map(str, each.life.listeners.values())),
            "silent_s": round(each.silent_s, 1),
            "is_owner": False,
            "is_this": False,
        }
        for each in parts.brokers()
        if each.life.broker != parts.node_id
    ]


def _broker(parts: Parts) -> dict[str, Any]:
    broker, incarnation, place = parts.logs.owner.writer
    return {
        "node": parts.node_id,
        "id": broker,
        "incarnation": incarnation,
        "place": place,
        "claim": parts.logs.owner.claim,
        "is_owner": parts.logs.owner.is_owner,
        "is_this": True,
    }
