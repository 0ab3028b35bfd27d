"""Topics: the list, filtered, sorted and cut on this side, so that thousands stay usable."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from holdfast.console.pages.asked import number_in
from holdfast.console.pages.topic import may_change
from holdfast.console.routes import Visit
from holdfast.console.survey import TopicRow
from holdfast.io.turns import Pace
from holdfast.security.rules import CLUSTER_NAME, Operation, ResourceType

ROWS_MAX: Final = 100
SORTS: Final = ("name", "partitions", "records", "size", "rate", "newest_ms", "oldest_unflushed_s")


async def topics(visit: Visit) -> dict[str, Any]:
    query = visit.query
    wanted, with_internal = query.get("filter", "").lower(), query.get("internal") == "true"
    rows = await visit.parts.survey.look()
    now = visit.parts.clock.monotonic
    seen = [each async for each in Pace(now).through(rows.values()) if visit.visitor.sees_topic(each.name)]
    found = [each for each in seen if wanted in each.name.lower() and (with_internal or not each.is_internal)]
    sort = query.get("sort", "name")
    by, is_down = sort.removeprefix("-"), sort.startswith("-")
    found.sort(key=lambda each: _key(each, by), reverse=is_down)
    start = number_in(query, "start", 0)
    shown = found[start : start + ROWS_MAX]
    readers = await visit.parts.readers.look()
    return {
        "found": len(found),
        "all": len(seen),
        "start": start,
        "may": {"create": may_change(visit, Operation.CREATE, ResourceType.CLUSTER, CLUSTER_NAME)},
        "rows": [each.shown() | _readers(visit, readers.get(each.name, {})) for each in shown],
    }


def _readers(visit: Visit, lags: Mapping[str, int]) -> dict[str, Any]:
    """Groups that read it, as far as the visitor may know of them, and the largest of their lags."""
    seen = {group: lag for group, lag in lags.items() if visit.visitor.sees_group(group)}
    return {
        "groups": len(seen),
        "lag": max(seen.values(), default=None),
        "behind": max(seen, key=seen.__getitem__, default=None),
    }


def _key(row: TopicRow, by: str) -> Any:
    value = getattr(row, by if by in SORTS else "name")
    return (value is not None, value), row.name
