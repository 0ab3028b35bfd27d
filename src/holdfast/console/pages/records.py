"""Records: found by offset, time, key, text, JSON path or header; and one of them, whole. Timeline: several topics."""

from __future__ import annotations

from typing import Any, Final

from holdfast.console.pages.asked import number_in
from holdfast.console.parts import PageNotFound
from holdfast.console.routes import Visit
from holdfast.console.scan import ScanLane, lanes_at, search, start_of
from holdfast.console.schemas import TopicValues
from holdfast.console.search import SearchFilter, TransactionStates
from holdfast.console.shown import shown
from holdfast.errors import Rejected
from holdfast.log.errors import NotOpen
from holdfast.record.batch import split
from holdfast.record.records import read_records

ROWS: Final = 50
ROWS_MAX: Final = 200
_WHOLE_SIZE = 1 << 20
WANTED: Final = {
    "from": "`start`, `end`, `offset NUMBER` or `time WHEN` (`-10m`, or milliseconds since 1970); `end` is the default",
    "key": "the whole key",
    "text": "a part of the value, or of what it is by its schema",
    "json": "`path` or `path=value` in a value that is JSON, or was decoded by a schema: `customer.id=17`, `items[0]`",
    "header": "`name` or `name=value`",
    "state": "`all`, `committed`, `aborted` or `undecided`",
    "size": "so many bytes of value at least",
    "rows": "how many at most, up to 200",
    "cursor": "where an answer before has ended; `from` is not looked at",
}


async def records(visit: Visit) -> dict[str, Any]:
    return await _search(visit, [visit.names["topic"]])


async def timeline(visit: Visit) -> dict[str, Any]:
    return await _search(visit, topics_in(visit.query.get("topics", "")))


def topics_in(text: str) -> list[str]:
    return [each for each in text.split(",") if each]


async def _search(visit: Visit, topics: list[str]) -> dict[str, Any]:
    parts, query = visit.parts, visit.query
    wanted, count = SearchFilter.parse(query), number_in(query, "rows", ROWS, 1, ROWS_MAX)

    def may_read(topic: str) -> None:
        if topic not in topics:
            raise Rejected(f"the cursor is of {topic}, which was not asked for")

    if query.get("cursor"):
        lanes = lanes_at(parts, query["cursor"], may_read)
    else:
        lanes = [each for topic in topics for each in await _lanes(visit, topic, count)]
    found = await search(parts, lanes, wanted, count)
    return {"topics": topics, "lanes": [_lane(each) for each in lanes], **found}


def _lane(lane: ScanLane) -> dict[str, Any]:
    """How far it has looked: `next` is where it goes on."""
    end = lane.log.marks.high_watermark
    return {"topic": lane.topic, "partition": lane.number, "next": lane.next_offset, "end": end}


async def _lanes(visit: Visit, topic: str, count: int) -> list[ScanLane]:
    parts, query = visit.parts, visit.query
    logs = parts.topic(topic).logs
    only = query.get("partition", "")
    numbers = range(len(logs)) if not only else [number_in(query, "partition", 0, 0, len(logs) - 1)]
    now_ms, each_last = parts.clock.now_ms(), max(count // max(len(numbers), 1), 1)
    lanes = []
    for number in numbers:
        log = logs[number]
        if not isinstance(log, NotOpen):
            start = await start_of(log, query.get("from", ""), now_ms, each_last)
            lanes.append(ScanLane(topic, number, log, start))
    return lanes


async def record(visit: Visit) -> dict[str, Any]:
    """One record, with all of its value up to a mebibyte, as text and as bytes."""
    parts, names = visit.parts, visit.names
    log = parts.partition(names["topic"], names["partition"])
    offset = number_in(names, "offset", 0)
    missing = PageNotFound(f"there is no record at offset {offset} of {names['topic']}-{names['partition']}")
    if not log.marks.log_start <= offset < log.marks.high_watermark:
        raise missing
    read = await log.read(offset, 1)
    known = TransactionStates(log.aborted(offset, offset + 1), log.transactions.open)
    found = await parts.schemas.look(parts.calls, names["topic"], _whole, read.buffers, offset, known)
    if found is None:
        raise missing
    return {"topic": names["topic"], "partition": int(names["partition"]), **found}


def _whole(
    buffers: list[memoryview], offset: int, known: TransactionStates, values: TopicValues
) -> dict[str, Any] | None:
    for buffer in buffers:
        for header, batch in split(buffer):
            if header.base_offset <= offset < header.end_offset and not header.is_control:
                for each in read_records(batch):
                    if each.offset == offset:
                        raw = (each.value or b"")[: _WHOLE_SIZE // 16].hex()
                        state = known.state_of(header, offset)
                        found = shown(header, each, state, _WHOLE_SIZE, values)
                        return found | {"raw": raw, "epoch": header.leader_epoch}
    return None
