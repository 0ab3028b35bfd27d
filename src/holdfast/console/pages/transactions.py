"""Transactions: every transactional id by its state, and what an open one holds back."""

from __future__ import annotations

from typing import Any, Final

from holdfast.console.pages.asked import number_in
from holdfast.console.pages.topic import may_change
from holdfast.console.parts import Parts
from holdfast.console.routes import Visit
from holdfast.coordinator.transaction.transaction import Transaction, TransactionState
from holdfast.io.turns import Pace
from holdfast.log.partition.partition import PartitionLog
from holdfast.security.rules import Operation, ResourceType

ROWS_MAX: Final = 100
_PARTITIONS_MAX = 50


async def transactions(visit: Visit) -> dict[str, Any]:
    parts, wanted = visit.parts, visit.query.get("filter", "").lower()
    seen = [
        each
        async for each in Pace(parts.clock.monotonic).through(parts.transactions.all())
        if wanted in each.transactional_id.lower()
        and visit.visitor.sees(Operation.DESCRIBE, ResourceType.TRANSACTIONAL_ID, each.transactional_id)
    ]
    seen.sort(key=lambda each: (each.state is not TransactionState.ONGOING, each.started_at_ms, each.transactional_id))
    start = number_in(visit.query, "start", 0)
    return {
        "found": len(seen),
        "start": start,
        "ended": {outcome.title: count for outcome, count in parts.transactions.ended.items()},
        "rows": [_row(visit, each) for each in seen[start : start + ROWS_MAX]],
    }


def _row(visit: Visit, found: Transaction) -> dict[str, Any]:
    parts, visitor = visit.parts, visit.visitor
    now_ms = parts.clock.now_ms()
    is_open = found.state is TransactionState.ONGOING
    held = [
        {
            "topic": each.topic,
            "partition": each.partition,
            **_held(parts, each.topic, each.partition, found.producer_id),
        }
        for each in sorted(found.partitions)[:_PARTITIONS_MAX]
        if visitor.sees_topic(each.topic)
    ]
    return {
        "id": found.transactional_id,
        "state": found.state.title,
        "producer_id": found.producer_id,
        "epoch": found.epoch,
        "timeout_ms": found.timeout_ms,
        "started_ms": found.started_at_ms if is_open else None,
        "age_s": max(now_ms - found.started_at_ms, 0) // 1000 if is_open else None,
        "changed_ms": found.changed_at_ms,
        "partitions": held,
        "may": {
            "end": is_open and may_change(visit, Operation.WRITE, ResourceType.TRANSACTIONAL_ID, found.transactional_id)
        },
        "held_back": sum(each["held_back"] or 0 for each in held),
    }


def _held(parts: Parts, topic: str, number: int, producer_id: int) -> dict[str, Any]:
    """Where it begins there, and how many records read-committed consumers do not see because of it."""
    shown = parts.find_topic(topic)
    log = shown.logs[number] if shown and number < len(shown.logs) else None
    first = log.transactions.open.get(producer_id) if isinstance(log, PartitionLog) else None
    if first is None or not isinstance(log, PartitionLog):
        return {"first_offset": None, "held_back": None}
    return {"first_offset": first, "held_back": log.marks.high_watermark - first}
