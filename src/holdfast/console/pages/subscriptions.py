"""Subscriptions that are open here, syncs that write here or say what they do, archives of what is here."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from holdfast.cluster.sync_points import SyncedPartition
from holdfast.console.followers import archived_behind
from holdfast.console.routes import Visit
from holdfast.io.turns import Pace

ROWS_MAX: Final = 200


async def subscriptions(visit: Visit) -> dict[str, Any]:
    parts, sees = visit.parts, visit.visitor.sees_topic
    counts, followers = parts.subscriptions, parts.followers
    await followers.look()
    pace = Pace(parts.clock.monotonic)
    some = list(counts.open)[:ROWS_MAX]
    opened = [{"lag": each.lag_records(), **each.described()} async for each in pace.through(some)]
    for row in opened:
        row["topics"] = [topic for topic in row["topics"] if sees(topic)]
    by_id = {each.topic_id: each for each in parts.topics()}
    archives = [(each, *await archived_behind(each, by_id, sees, pace)) for each in followers.archives]
    points = [each async for each in pace.through(list(followers.points.values())) if sees(each.topic)]
    return {
        "open": len(counts.open),
        "events": counts.events,
        "size": counts.sent_size,
        "rows": sorted(opened, key=lambda each: -each["lag"]),
        "checkpoints": (await _by_topic(points, pace))[:ROWS_MAX],
        "syncs": [_seen(visit, each) for each in followers.metrics],
        "archives": [
            {
                "target": each.about,
                "at_ms": each.at_ms,
                "is_good": each.is_good,
                "said": each.said,
                "host": each.host,
                "topics": sorted(behind)[:ROWS_MAX],
                "lag": sum(behind.values()) if behind else None,
                "gone": gone,
            }
            for each, behind, gone in archives
        ],
        "archives_why": followers.archives_why,
    }


async def _by_topic(points: Iterable[SyncedPartition], pace: Pace) -> list[dict[str, Any]]:
    """What syncs have saved here, by the cluster and the topic it comes from."""
    found: dict[tuple[str, str], list[SyncedPartition]] = {}
    async for each in pace.through(points):
        found.setdefault((each.source, each.topic), []).append(each)
    return [
        {
            "source": source,
            "topic": topic,
            "partitions": len(some),
            "lag": None if any(each.lag is None for each in some) else sum(each.lag or 0 for each in some),
            "saved_at_ms": max(each.saved_at_ms for each in some),
        }
        for (source, topic), some in sorted(found.items())
    ]


def _seen(visit: Visit, sync: dict[str, Any]) -> dict[str, Any]:
    """Without the topics that the visitor may not describe."""
    sees = visit.visitor.sees_topic
    directions = [
        each | {"topics": [{"topic": name, **said} for name, said in each["topics"].items() if sees(name)][:ROWS_MAX]}
        for each in sync["directions"]
    ]
    return sync | {"directions": directions}
