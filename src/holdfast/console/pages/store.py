"""Store: how long its calls take, what waits to be deleted, and its objects by name, with what they say."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from itertools import islice
from typing import Any, Final
from uuid import UUID

from holdfast.console.pages.figures import of_times
from holdfast.console.parts import PageNotFound
from holdfast.console.routes import Visit
from holdfast.errors import Rejected
from holdfast.io.objects import NotFound, Objects
from holdfast.segment.names import parse_segment_name

OBJECTS_MAX: Final = 200
SHOWN: Final = ("meta/", "manifests/", "segments/", "owner/")  # What is in auth/ is nobody's to see.
_TEXT_SIZE_MAX = 256 << 10
OBJECTS_ASKED: Final = {
    "prefix": "`meta/`, `manifests/…`, `segments/…` or `owner/`",
    "after": "the name before",
    "name": "of one object",
}


async def store(visit: Visit) -> dict[str, Any]:
    parts = visit.parts
    times, stat = parts.store, parts.logs.stat()
    calls = [
        {"operation": operation, "kind": kind, "failures": times.failures[operation, kind], **of_times(each)}
        for (operation, kind), each in sorted(times.times.items())
    ]
    cache = stat.cache
    return {
        "url": parts.store_url,
        "calls": calls,
        "sizes": dict(times.sizes),
        "cache": {
            "size": cache.size,
            "hits": cache.hits,
            "misses": cache.misses,
            "evicted": cache.evicted,
            "failed": cache.failed,
        },
        "cache_size_max": parts.log_settings.cache_size_max,
        "deletions": {"count": stat.deletions.count, "age_s": round(stat.deletions.age_s, 1)},
        "garbage": parts.logs.garbage,
        "flushes": stat.flushed.flushes,
        "flushed_size": stat.flushed.size,
        "damage": {"met": stat.damage.met, "mended": stat.damage.mended},
        "owner": {"looks": parts.logs.owner.looks, "failures": parts.logs.owner.failures},
    }


async def objects(visit: Visit) -> dict[str, Any]:
    """Names and sizes below a prefix; or, of one object that is JSON, what it says."""
    name = visit.query.get("name", "")
    prefix = visit.query.get("prefix", "") or "meta/"
    if not (name or prefix).startswith(SHOWN):
        raise Rejected(f"only what begins with {', '.join(SHOWN)} is shown")
    calls, kept = visit.parts.calls, visit.parts.logs.objects
    if name:
        return {"name": name, **await calls.run(_content, kept, name)}
    found = await calls.run(_listed, kept, prefix, visit.query.get("after", ""))
    names = {each.topic_id: each.name for each in visit.parts.topics() if visit.visitor.sees_topic(each.name)}
    for row in found["rows"]:
        row["segment_of"] = _segment_of(row["name"], names)
    return {"prefix": prefix, **found}


def _listed(objects: Objects, prefix: str, after: str) -> dict[str, Any]:
    rows = [
        {"name": each.name, "size": each.size, "modified_ms": each.modified_ms}
        for each in islice(objects.list(prefix, after), OBJECTS_MAX + 1)
    ]
    shown = rows[:OBJECTS_MAX]
    return {"rows": shown, "next": shown[-1]["name"] if len(rows) > OBJECTS_MAX else None}


def _segment_of(name: str, names: Mapping[UUID, str]) -> list[str | int] | None:
    """Topic, partition and first offset: where its batches are shown; None for what is no segment of a topic seen."""
    found = parse_segment_name(name)
    if found is None or found.home.topic_id not in names:
        return None
    return [names[found.home.topic_id], found.home.partition, found.offsets.start]


def _content(objects: Objects, name: str) -> dict[str, Any]:
    if not name.endswith(".json"):
        raise Rejected("a segment holds records: the pages of its partition show it")
    try:
        data = objects.get(name, 0, _TEXT_SIZE_MAX)
    except NotFound:
        raise PageNotFound(f"there is no object {name}") from None
    text = data.decode("utf-8", "replace")
    with contextlib.suppress(ValueError):  # Cut, or of several lines.
        pretty = json.dumps(json.loads(text), indent=2, ensure_ascii=False)
        text = pretty if len(pretty) <= 4 * _TEXT_SIZE_MAX else text
    return {"size": len(data), "is_cut": len(data) == _TEXT_SIZE_MAX, "text": text}
