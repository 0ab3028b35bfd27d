"""The bound in time: each partition ends where its order time reaches it, and the stream when all have, or its time is
over."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec, TypeVar

import pytest
from tests.log.log_world import in_loop
from tests.subscribe.place import MODES, OLD_MS, a_place, all_of, place_with, write

from holdfast.io.calls import ThreadCalls
from holdfast.io.objects.memory import MemoryBucket, MemoryObjects
from holdfast.log.settings import LogSettings
from holdfast.subscribe import Event, subscribe

P = ParamSpec("P")
T = TypeVar("T")

HOUR_MS = 3_600_000
PATIENCE_S = 30


def values(events: list[Event]) -> list[tuple[str, int]]:
    return [(event.topic, event.offset) for event in events]


@in_loop
@pytest.mark.parametrize("mode", [MODES[1], MODES[3]])
async def test_a_record_from_the_future_ends_only_its_own_partition(tmp_path: Path, mode: dict[str, bool]) -> None:
    """S1: a record behind the bound says nothing of other partitions: what they bring before it still comes."""
    async with place_with(tmp_path) as place:
        (ahead,), (other,) = await place.topic("ahead"), await place.topic("other")
        await all_of(place, "*")  # Everything is loaded.
        now_ms = place.site.clock.now_ms()
        until = now_ms + 800
        await write(ahead, [now_ms, now_ms + HOUR_MS])
        await ahead.flush()
        subscription = subscribe(place.address, "*", since=0, until=until, objects=place.objects, **mode)

        following = asyncio.ensure_future(_all(subscription))
        while not subscription.stats.live and not following.done():
            await asyncio.sleep(0.001)
        await write(other, [now_ms, now_ms + 1])
        events = await asyncio.wait_for(following, PATIENCE_S)
        assert sorted(values(events)) == [("ahead", 0), ("other", 0), ("other", 1)]
        assert place.site.clock.now_ms() > until


@in_loop
async def test_nor_does_one_server_end_another(tmp_path: Path) -> None:
    """S1: with two servers a record behind the bound on one of them does not end the other."""
    async with place_with(tmp_path / "one") as one, place_with(tmp_path / "two") as two:
        (ahead,), (other,) = await one.topic("t"), await two.topic("t")
        await asyncio.gather(all_of(one, "t"), all_of(two, "t"))  # Everything is loaded.
        now_ms = one.site.clock.now_ms()
        await write(ahead, [now_ms + HOUR_MS])
        subscription = subscribe(
            {"one": one.address, "two": two.address}, "t", since=0, until=now_ms + 800, segment_refs=False
        )
        following = asyncio.ensure_future(_all(subscription))
        while len(subscription.cursor.places) < 2 and not following.done():
            await asyncio.sleep(0.001)
        await write(other, [now_ms])
        assert [event.source for event in await asyncio.wait_for(following, PATIENCE_S)] == ["two"]


async def _all(subscription) -> list[Event]:  # type: ignore[no-untyped-def]
    return [event async for event in subscription]


@in_loop
@pytest.mark.parametrize("mode", MODES)
async def test_timestamps_that_go_back_across_the_bound(tmp_path: Path, mode: dict[str, bool]) -> None:
    """S1: what lies behind a partition's first record at the bound lies behind it; the cursor leaves none out."""
    async with place_with(tmp_path) as place:
        (one,), (other,) = await place.topic("a"), await place.topic("b")
        for first in (0, 2):
            await write(one, [OLD_MS + 10, OLD_MS + 50, OLD_MS + 20][first : first + 2])
            await one.flush()
        await write(other, [OLD_MS + 30, OLD_MS + 39])
        await other.flush()
        await write(other, [OLD_MS + 35, OLD_MS + 40])
        whole = await all_of(place, "*", **mode)
        assert values(whole) == [("a", 0), ("b", 0), ("b", 1), ("b", 2), ("b", 3), ("a", 1), ("a", 2)]
        bounded = subscribe(place.address, "*", since=0, until=OLD_MS + 40, objects=place.objects, **mode)
        first_part = await _all(bounded)
        assert first_part == whole[:4]
        rest = await all_of(place, "*", since=None, cursor=bounded.cursor, **mode)
        assert first_part + rest == whole


@in_loop
async def test_it_ends_when_all_partitions_have_passed_the_bound(tmp_path: Path) -> None:
    """S1: nobody waits for the clock when nothing from before the bound can come any more."""
    async with place_with(tmp_path) as place:
        now_ms = place.site.clock.now_ms()
        logs = [(await place.topic(name))[0] for name in "ab"]
        await write(logs[0], [now_ms, now_ms + 2 * HOUR_MS])
        subscription = subscribe(place.address, "*", since=0, until=now_ms + HOUR_MS, segment_refs=False)
        following = asyncio.ensure_future(_all(subscription))
        while not subscription.stats.live and not following.done():
            await asyncio.sleep(0.001)
        await write(logs[1], [now_ms + 1, now_ms + HOUR_MS])
        events = await asyncio.wait_for(following, PATIENCE_S)
        assert values(events) == [("a", 0), ("b", 0)]


class Gated(ThreadCalls):
    """Reads of the write-ahead log wait for the test."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = asyncio.Event()
        self.asked = asyncio.Event()

    async def local(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        if getattr(call, "__name__", "") == "read_back":
            self.asked.set()
            await self.gate.wait()
        return await super().local(call, *args, **kwargs)


@in_loop
async def test_what_is_being_read_when_its_time_is_over_still_comes(tmp_path: Path) -> None:
    """S1: a record that was acknowledged before the bound is not left out because reading it takes long."""
    calls = Gated()
    objects = MemoryObjects(MemoryBucket())
    async with a_place(tmp_path, objects, calls, LogSettings(tail_size_max=1)) as place:
        (log,) = await place.topic("t")
        await all_of(place, "t")  # Everything is loaded.
        now_ms = place.site.clock.now_ms()
        until = now_ms + 1000
        subscription = subscribe(place.address, "t", since=0, until=until, segment_refs=False)
        following = asyncio.ensure_future(_all(subscription))
        while not subscription.stats.live and not following.done():
            await asyncio.sleep(0.001)
        await write(log, [now_ms])
        await asyncio.wait_for(calls.asked.wait(), PATIENCE_S)
        assert place.site.clock.now_ms() < until, "the machine is too slow for this test"
        while place.site.clock.now_ms() < until + 100:
            await asyncio.sleep(0.01)
        calls.gate.set()
        assert values(await asyncio.wait_for(following, PATIENCE_S)) == [("t", 0)]
