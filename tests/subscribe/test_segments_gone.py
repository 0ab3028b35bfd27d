"""Referenced segments that are gone, replaced or damaged, and stores that fail: skipped, found again, or retried."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.log.log_world import in_loop
from tests.subscribe.place import OLD_MS, Place, place_with, write
from tests.subscribe.stores import Gated, QuickCalls, ReadOnly

from holdfast.errors import Corrupt, HoldfastError, Unavailable
from holdfast.io.chance import SeededChance
from holdfast.io.objects import Objects
from holdfast.io.objects.faulty import FaultyObjects, by_chance
from holdfast.log.partition.partition import PartitionLog
from holdfast.segment.manifest.info import SegmentInfo
from holdfast.subscribe import NOW, Event, Subscription, subscribe
from holdfast.subscribe.client.retry import TRIES_MAX


async def segments_of(place: Place, count: int, size: int = 10) -> tuple[PartitionLog, list[SegmentInfo]]:
    """A topic with so many segments of so many records."""
    (log,) = await place.topic("t")
    for number in range(count):
        await write(log, [OLD_MS + size * number + each for each in range(size)], first=size * number)
        await log.flush()
    return log, list(log.manifest.segments)


def following(place: Place, objects: Any, **options: Any) -> Subscription:
    options = {"since": 0, "until": NOW, "calls": QuickCalls(), **options}
    return subscribe(place.address, "t", objects=objects, **options)


async def all_from(subscription: Subscription) -> list[Event]:
    return [event async for event in subscription]


async def gated(place: Place, meanwhile: Any) -> tuple[Subscription, list[Event]]:
    """References are sent; then something happens to the segments; only then the client reads them."""
    store = Gated(place.objects)
    subscription = following(place, store)
    found = asyncio.ensure_future(all_from(subscription))
    await asyncio.get_running_loop().run_in_executor(None, store.waiting.wait, 60)
    await meanwhile()
    store.gate.set()
    return subscription, await asyncio.wait_for(found, 60)


@in_loop
async def test_what_retention_took_is_skipped_and_counted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """S7: a referenced segment below log start is skipped, with a counter and a warning."""
    async with place_with(tmp_path) as place:
        log, segments = await segments_of(place, 6)

        async def expire() -> None:
            await log.delete_records(30)
            for each in segments[:3]:
                place.objects.delete(each.name)

        subscription, events = await gated(place, expire)
        assert [event.offset for event in events] == list(range(30, 60))
        assert subscription.stats.skipped == 30
        assert subscription.stats.errors == 0
        warned = [each.getMessage() for each in caplog.records if each.levelname == "WARNING"]
        assert warned, "Offsets were skipped without a word."
        assert all("t-0" in line for line in warned), warned


@in_loop
async def test_what_is_gone_counts_once(tmp_path: Path) -> None:
    """S7: offsets that retention took are counted once, though the next try meets them again, on the server."""
    async with place_with(tmp_path) as place:
        log, segments = await segments_of(place, 6)
        store = Gated(place.objects)
        failed = False

        def fail_once(name: str, _: int, data: bytes) -> bytes:
            nonlocal failed
            if name == segments[0].name and not failed:
                while subscription.stats.skipped < 20:  # In a thread: the others have met what is gone.
                    time.sleep(0.001)
                failed = True
                raise Unavailable("planned fault")
            return data

        store._answer = fail_once
        subscription = following(place, store)
        found = asyncio.ensure_future(all_from(subscription))
        await asyncio.get_running_loop().run_in_executor(None, store.waiting.wait, 60)
        await log.delete_records(30)
        for each in segments[1:3]:
            place.objects.delete(each.name)
        store.gate.set()
        assert [event.offset for event in await asyncio.wait_for(found, 60)] == list(range(30, 60))
        assert failed
        assert subscription.stats.skipped == 30


@in_loop
async def test_what_compaction_replaced_is_read_from_the_replacement(tmp_path: Path) -> None:
    """S7: a referenced segment that was merged into another one is read from that one, each record once."""
    async with place_with(tmp_path) as place:
        log, segments = await segments_of(place, 12)

        async def replace() -> None:
            assert await log.compact() == 12
            for each in segments:
                place.objects.delete(each.name)

        subscription, events = await gated(place, replace)
        assert [event.offset for event in events] == list(range(120))
        assert (subscription.stats.skipped, subscription.stats.errors) == (0, 0)


@in_loop
async def test_what_is_listed_but_not_there_is_corrupt(tmp_path: Path) -> None:
    """S7: a segment that the newest manifest still lists is lost: after some tries that is said, not skipped."""
    async with place_with(tmp_path) as place:
        _, segments = await segments_of(place, 4)

        async def lose() -> None:
            place.objects.delete(segments[2].name)

        with pytest.raises(Corrupt, match="lists it"):
            await gated(place, lose)


@in_loop
async def test_a_store_that_fails_is_asked_again_from_the_cursor(tmp_path: Path) -> None:
    """S7: errors and time-outs of the store surface, and the follower goes on from its cursor: all of it, once."""
    async with place_with(tmp_path) as place:
        await segments_of(place, 12)
        store: Objects = FaultyObjects(place.objects, by_chance(SeededChance(5), 0.15, 0.15))
        subscription = following(place, store)
        events = await asyncio.wait_for(all_from(subscription), 60)
        assert [event.offset for event in events] == list(range(120))
        assert subscription.stats.errors > 0
        assert "planned fault" in subscription.stats.last_error


@in_loop
async def test_torn_and_damaged_answers_are_asked_for_again(tmp_path: Path) -> None:
    """S7: a wrong byte is found by its crc, surfaces, and is retried; nothing wrong is ever delivered."""

    def wrong_once(name: str, number: int, data: bytes) -> bytes:
        if name.startswith("segments/") and number == 1 and int(name.split("/")[3][:20]) % 40 == 0:
            middle = len(data) // 3
            return data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]
        return data

    async with place_with(tmp_path) as place:
        await segments_of(place, 8)
        subscription = following(place, ReadOnly(place.objects, wrong_once))
        events = await asyncio.wait_for(all_from(subscription), 60)
        assert [event.offset for event in events] == list(range(80))
        assert [event.value for event in events] == [b"v%d" % number for number in range(80)]
        assert subscription.stats.errors >= 1


@in_loop
async def test_what_lies_before_damage_is_handed_out(tmp_path: Path) -> None:
    """S5, S7: small segments are decoded together; one that cannot be read holds back none that comes before it."""

    def wrong(name: str, _: int, data: bytes) -> bytes:
        damaged = name.startswith("segments/") and int(name.split("/")[3][:20]) == 20
        return data[:90] + bytes([data[90] ^ 1]) + data[91:] if damaged else data

    async with place_with(tmp_path) as place:
        await segments_of(place, 4)
        subscription = following(place, ReadOnly(place.objects, wrong))
        with pytest.raises(Corrupt, match="segments/"):
            await asyncio.wait_for(all_from(subscription), 60)
        assert subscription.stats.events == 20


@in_loop
async def test_an_object_that_ends_too_early(tmp_path: Path) -> None:
    """S7: a torn object surfaces, and is tried again from the cursor; one that stays torn is raised with its name."""

    def torn(tries: float) -> Callable[[str, int, bytes], bytes]:
        def answer(name: str, number: int, data: bytes) -> bytes:
            if not name.startswith("segments/") or number > 2 * tries:
                return data
            return data[: len(data) // 2] if number % 2 else b""  # Half of it, and then nothing more.

        return answer

    async with place_with(tmp_path) as place:
        await segments_of(place, 4)
        subscription = following(place, ReadOnly(place.objects, torn(1)))
        assert [event.offset for event in await asyncio.wait_for(all_from(subscription), 60)] == list(range(40))
        assert subscription.stats.errors >= 1
        with pytest.raises(HoldfastError, match="segments/"):
            await asyncio.wait_for(all_from(following(place, ReadOnly(place.objects, torn(math.inf)))), 60)


@in_loop
async def test_damage_that_stays_is_raised(tmp_path: Path) -> None:
    """S7: what is damaged at every try is said to be, with the place."""

    def wrong(name: str, _: int, data: bytes) -> bytes:
        return data[:90] + bytes([data[90] ^ 1]) + data[91:] if name.startswith("segments/") else data

    async with place_with(tmp_path) as place:
        await segments_of(place, 2)
        with pytest.raises(Corrupt, match="segments/"):
            await asyncio.wait_for(all_from(following(place, ReadOnly(place.objects, wrong))), 60)


@in_loop
async def test_damage_that_stays_is_raised_though_others_move(tmp_path: Path) -> None:
    """S7: what is damaged at every try is raised, also where another partition has news between any two of them."""
    told = -1  # Nothing is handed out before the first failure.

    def wrong(name: str, _: int, data: bytes) -> bytes:
        nonlocal told
        if not name.startswith("segments/") or int(name.split("/")[3][:20]) != 10:
            return data
        while subscription.stats.events <= told and not subscription._closed.is_set():
            time.sleep(0.001)  # In a thread: something is handed out between two failures.
        told = subscription.stats.events
        return data[:90] + bytes([data[90] ^ 1]) + data[91:]

    async with place_with(tmp_path) as place:
        await segments_of(place, 2)
        (other,) = await place.topic("u")
        await write(other, [OLD_MS])
        options: Any = {"since": 0, "objects": ReadOnly(place.objects, wrong), "calls": QuickCalls()}
        subscription = subscribe(place.address, ["t", "u"], **options)

        async def follow() -> None:
            async with subscription:
                async for _ in subscription.batches():
                    assert subscription.stats.errors < 3 * TRIES_MAX, "it is tried for ever"
                    await write(other, [OLD_MS])

        with pytest.raises(Corrupt, match="segments/"):
            await asyncio.wait_for(follow(), 60)
        assert subscription.stats.errors >= TRIES_MAX - 1
        assert subscription.cursor.places, "whoever repairs it can go on"


@in_loop
async def test_short_reads_are_completed(tmp_path: Path) -> None:
    """S7: a store that gives less than it was asked for is asked for the rest."""
    async with place_with(tmp_path) as place:
        await segments_of(place, 5)
        short = ReadOnly(place.objects, lambda name, _, data: data[: max(len(data) // 2, 1)] if "seg" in name else data)
        subscription = following(place, short)
        assert [event.offset for event in await all_from(subscription)] == list(range(50))
        assert subscription.stats.errors == 0


@in_loop
async def test_large_segments_are_read_in_parts(tmp_path: Path) -> None:
    """S5: a segment larger than one read comes in parts, in order, also from the middle on."""
    async with place_with(tmp_path) as place:
        (log,) = await place.topic("t")
        times = range(OLD_MS, OLD_MS + 400)
        for first in range(0, 400, 8):
            await write(log, times[first : first + 8], key="/" + "k" * 60_000, first=first)
        await log.flush()
        assert log.manifest.segments[0].size > 16 << 20
        assert [event.offset for event in await all_from(following(place, place.objects))] == list(range(400))
        late = following(place, place.objects, since=OLD_MS + 333)
        assert [event.offset for event in await all_from(late)] == list(range(333, 400))


@in_loop
async def test_a_store_that_cannot_be_opened_from_here(tmp_path: Path) -> None:
    """S5: when the server's store is a directory of another machine, the server sends everything itself."""
    async with place_with(tmp_path) as place:
        await segments_of(place, 3)
        place.objects.url = "file:///nowhere/at/all"
        object.__setattr__(place.site, "store_url", "file:///nowhere/at/all")
        subscription = subscribe(place.address, "t", since=0, until=NOW)
        assert [event.offset for event in await all_from(subscription)] == list(range(30))
        assert subscription.stats.segments == 0


@in_loop
async def test_the_server_skips_what_retention_took(tmp_path: Path) -> None:
    """S7: a cursor below log start goes on at log start, and the client counts what is gone."""
    async with place_with(tmp_path) as place:
        log, _ = await segments_of(place, 4)
        first = following(place, place.objects, segment_refs=False)
        async with first:
            await anext(aiter(first))
        await log.delete_records(25)
        for refs in (False, True):
            rest = following(place, place.objects, since=None, cursor=first.cursor, segment_refs=refs)
            assert [event.offset for event in await all_from(rest)] == list(range(25, 40))
            assert rest.stats.skipped == 24
