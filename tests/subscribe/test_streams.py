"""Subscriptions over a real gRPC port: order, modes, bounds, cursors, filters."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.log.log_world import in_loop
from tests.subscribe.filter_cases import CASES, KEYS
from tests.subscribe.place import MODES, OLD_MS, Place, all_of, place_with, write

from holdfast.record.build import build
from holdfast.record.records import Record
from holdfast.subscribe import NOW, Cursor, Event, Source, subscribe
from holdfast.subscribe.errors import NoSuchSource


async def three_sources(place: Place, per_batch: int = 10, batches: int = 5) -> list[int]:
    """Interleaved timestamps over three topics, some in segments, some in the tail. The times in order."""
    logs = [(await place.topic(name))[0] for name in ("a", "b", "c")]
    for number, log in enumerate(logs):
        for batch in range(batches):
            first = batch * per_batch
            times = [OLD_MS + number + 3 * (first + each) for each in range(per_batch)]
            await write(log, times, key=f"/{number}", first=first)
            if batch < batches - 1 - number:
                await log.flush()
    return list(range(OLD_MS, OLD_MS + 3 * per_batch * batches))


@in_loop
async def test_every_mode_gives_the_same_strict_order(tmp_path: Path) -> None:
    """S1, S5: three sources come in strict order, whether the server sends them or the client reads the segments.
    The test of S1."""
    async with place_with(tmp_path) as place:
        times = await three_sources(place)
        for mode in MODES:
            events = await all_of(place, ["a", "b", "c"], **mode)
            assert [event.timestamp for event in events] == times, mode
            assert not any(event.late for event in events)
            assert [event.offset for event in events if event.topic == "b"] == list(range(50))
            by_pattern = await all_of(place, "?", **mode)
            assert by_pattern == events
        assert events[3] == Event(place.context.cluster_id, "a", 0, 1, times[3], b"/0", b"v1")


@in_loop
async def test_a_cursor_goes_on_exactly(tmp_path: Path) -> None:
    """S1: stopped after any event and resumed from its cursor: the same order, nothing left out, nothing twice."""
    async with place_with(tmp_path) as place:
        await three_sources(place, per_batch=4)
        whole = await all_of(place, "*")
        for mode in (MODES[1], MODES[3]):
            for count in (1, 2, 7, 30, 59, 60):
                first = subscribe(place.address, "*", since=0, until=NOW, objects=place.objects, **mode)
                got = []
                async with first:
                    async for event in first:
                        got.append(event)
                        if len(got) == count:
                            break
                cursor = str(first.cursor)
                rest = await all_of(place, "*", since=None, cursor=cursor, **mode)
                assert got + rest == whole, (mode, count)
                assert Cursor.parse(cursor).point is not None


@in_loop
async def test_every_batch_has_its_cursor(tmp_path: Path) -> None:
    """S1: Arrow batches with the documented columns, each with the cursor behind it."""
    async with place_with(tmp_path) as place:
        await three_sources(place, per_batch=100)
        subscription = subscribe(place.address, "*", since=0, until=NOW, objects=place.objects)
        seen: list[tuple[int, str]] = [(0, "")]
        async for batch in subscription.batches():
            assert batch.batch.schema.names == [
                "source", "topic", "partition", "offset", "timestamp", "timestamp_type",
                "key", "value", "headers", "late",
            ]  # fmt: skip
            seen.append((seen[-1][0] + len(batch), str(batch.cursor)))
        assert seen[-1][0] == 1500
        whole = await all_of(place, "*")
        for count, cursor in seen[1:]:
            assert await all_of(place, "*", since=None, cursor=cursor) == whole[count:]


@in_loop
async def test_since_and_until(tmp_path: Path) -> None:
    """S1: since a point in time, until a bound; a source that is not there is an error, not silence."""
    async with place_with(tmp_path) as place:
        times = await three_sources(place)
        for mode in MODES:
            since, until = times[40], times[101]
            events = await all_of(place, "*", since=since, until=until, **mode)
            assert [event.timestamp for event in events] == times[40:101], mode
            assert await all_of(place, "*", since=times[-1] + 1, **mode) == []
            assert [e.partition for e in await all_of(place, Source("a", (0,)), **mode)] == [0] * 50
        with pytest.raises(NoSuchSource):
            await all_of(place, ["a", "nothing"])
        with pytest.raises(NoSuchSource):
            await all_of(place, "z*")
        with pytest.raises(NoSuchSource):
            await all_of(place, Source("a", (1,)))


@in_loop
async def test_filters_on_both_sides(tmp_path: Path) -> None:
    """S6: the same table of cases, filtered by the server, and by a client that reads segments. The test of S6."""
    async with place_with(tmp_path) as place:
        (log,) = await place.topic("t")
        await log.append(build([Record(key, b"v", OLD_MS) for key in KEYS]))
        await log.flush()
        for chosen, expected in CASES:
            for mode in (MODES[1], MODES[3]):
                events = await all_of(place, "t", filter=chosen, **mode)
                assert {event.key for event in events} == expected, (chosen, mode)
        assert len(await all_of(place, "t")) == len(KEYS), "Without a filter nobody looks at keys."
