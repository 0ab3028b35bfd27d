"""From the backlog to live: no gap, no duplicate; late events marked; nobody waits for a source without news."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.log.log_world import in_loop
from tests.subscribe.place import OLD_MS, place_with, write

from holdfast.subscribe import Event, Subscription, subscribe

PATIENCE_S = 60


async def collect(subscription: Subscription, count: int) -> list[Event]:
    found: list[Event] = []
    async with subscription:
        async for event in subscription:
            found.append(event)
            if len(found) == count:
                break
    return found


@in_loop
@pytest.mark.parametrize("refs", [False, True])
async def test_the_switch_under_constant_writing(tmp_path: Path, refs: bool) -> None:
    """S5: from references to live while three sources are written and flushed all the time: no gap, no duplicate.
    The test of S5."""
    async with place_with(tmp_path) as place:
        logs = [(await place.topic(name))[0] for name in ("a", "b", "c")]
        for log in logs:
            await write(log, [OLD_MS] * 20)
            await log.flush()
        subscription = subscribe(place.address, "?", since=0, segment_refs=refs, objects=place.objects)
        found: list[Event] = []

        async def follow() -> None:
            async for event in subscription:
                found.append(event)  # noqa: PERF401, the test looks at it meanwhile

        async def keep_writing(number: int) -> None:
            """Until the stream is live, and for some time behind that."""
            left, batch = 20, 4
            while left:
                await write(logs[number], [OLD_MS + 5 * batch + each for each in range(5)])
                left -= subscription.stats.live
                batch += 1
                if batch % 5 == number:
                    await logs[number].flush()

        following = asyncio.ensure_future(follow())
        await asyncio.wait_for(asyncio.gather(*map(keep_writing, range(3))), PATIENCE_S)
        while len(found) < sum(log.marks.high_watermark for log in logs):
            await asyncio.sleep(0.001)
        await subscription.close()
        await following
        for name, log in zip("abc", logs, strict=True):
            assert [event.offset for event in found if event.topic == name] == list(range(log.marks.high_watermark))
        assert (subscription.stats.segments > 0) == refs
        assert subscription.stats.late == sum(event.late for event in found)


@in_loop
async def test_late_events_are_marked_and_counted(tmp_path: Path) -> None:
    """S1: a live event behind the emitted point is delivered at once, marked late, and counted."""
    async with place_with(tmp_path) as place:
        (one,), (other,) = await place.topic("a"), await place.topic("b")
        subscription = subscribe(place.address, "?", since=0)
        found = asyncio.ensure_future(collect(subscription, 3))
        await write(one, [OLD_MS + 100])
        while subscription.stats.events < 1:
            await asyncio.sleep(0.001)
        await write(other, [OLD_MS + 50])
        while subscription.stats.events < 2:
            await asyncio.sleep(0.001)
        await write(other, [OLD_MS + 200])
        events = await asyncio.wait_for(found, PATIENCE_S)
        assert [(event.topic, event.late) for event in events] == [("a", False), ("b", True), ("b", False)]
        assert subscription.stats.late == 1


@in_loop
async def test_a_source_without_news_delays_the_others_by_max_wait(tmp_path: Path) -> None:
    """S1, S4: with one of two sources idle, an event comes after max_wait_ms, by an event and not by a poll.
    The test of S4."""
    async with place_with(tmp_path, max_wait_ms=300) as place:
        (one,) = await place.topic("a")
        await place.topic("b")
        subscription = subscribe(place.address, "?", since=0)
        found = asyncio.ensure_future(collect(subscription, 1))
        while not subscription.stats.live:
            await asyncio.sleep(0.001)
        clock = asyncio.get_running_loop().time
        written = clock()
        await write(one, [OLD_MS])
        await asyncio.wait_for(found, PATIENCE_S)
        assert 0.3 <= clock() - written < 2.3, "It waits for the idle source, and no longer than it must."
        alone = subscribe(place.address, "a")
        found = asyncio.ensure_future(collect(alone, 1))
        while not alone.stats.live:
            await asyncio.sleep(0.001)
        written = clock()
        await write(one, [OLD_MS])
        await asyncio.wait_for(found, PATIENCE_S)
        assert clock() - written < 0.3, "A single source waits for nobody."


@in_loop
async def test_without_a_start_it_begins_now(tmp_path: Path) -> None:
    """S1: neither a time nor a cursor means from now on."""
    async with place_with(tmp_path) as place:
        (log,) = await place.topic("t")
        await write(log, [OLD_MS] * 10)
        subscription = subscribe(place.address, "t")
        found = asyncio.ensure_future(collect(subscription, 1))
        while not subscription.stats.live:
            await asyncio.sleep(0.001)
        await write(log, [OLD_MS])
        assert [event.offset for event in await asyncio.wait_for(found, PATIENCE_S)] == [10]


@in_loop
async def test_until_a_time_to_come(tmp_path: Path) -> None:
    """S1: a bound in the future ends the stream when it is there, though nothing comes any more."""
    async with place_with(tmp_path) as place:
        (log,) = await place.topic("t")
        now_ms = place.site.clock.now_ms()
        await write(log, [now_ms])
        subscription = subscribe(place.address, "t", since=0, until=now_ms + 500)
        assert len([event async for event in subscription]) == 1
        assert place.site.clock.now_ms() > now_ms + 500


@in_loop
async def test_two_clusters_in_one_order(tmp_path: Path) -> None:
    """S1: sources of several clusters are merged by the same key, and one cursor holds for all of them."""
    async with place_with(tmp_path / "one") as one, place_with(tmp_path / "two") as other:
        for number, place in enumerate((one, other)):
            (log,) = await place.topic("t")
            await write(log, [OLD_MS + number + 2 * each for each in range(20)])
            await log.flush()
            await write(log, [OLD_MS + number + 2 * each for each in range(20, 30)])
        addresses = {"eu": one.address, "us": other.address}
        stores = {"eu": one.objects, "us": other.objects}
        for refs in (False, True):
            options = {"segment_refs": refs, "objects": stores, "until": "now"}
            events = [event async for event in subscribe(addresses, "t", since=0, **options)]
            assert [event.timestamp for event in events] == [OLD_MS + each for each in range(60)]
            assert [event.source for event in events[:2]] == ["eu", "us"]
            first = subscribe(addresses, "t", since=0, **options)
            assert await collect(first, 25) == events[:25]
            rest = subscribe(addresses, "t", cursor=first.cursor, **options)
            assert [event async for event in rest] == events[25:]
