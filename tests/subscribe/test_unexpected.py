"""What nobody expected: it surfaces after some tries at one place, with its cause; and one cluster has one name."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.log.log_world import in_loop
from tests.subscribe.place import OLD_MS, Place, a_place, place_with, write
from tests.subscribe.stores import QuickCalls
from tests.subscribe.test_resume import failing

from holdfast.errors import Corrupt, HoldfastError, Unavailable
from holdfast.io.clock import ManualClock
from holdfast.io.objects.memory import MemoryBucket, MemoryObjects
from holdfast.subscribe import Filter, Source, subscribe
from holdfast.subscribe.client.connection import messages
from holdfast.subscribe.client.retry import LASTING_S, TRIES_MAX, Defects
from holdfast.subscribe.errors import BadFilter, BadRequest, NoSuchSource, ServerFailed, ServerGone
from holdfast.subscribe.stats import Stats
from holdfast.subscribe.wire.request import Start, SubscribeRequest
from holdfast.subscribe.wire.schema import subscribe_pb2 as wire


class Broken(MemoryObjects):
    """A store that fails once it is told to; if not told otherwise, in a way that nothing is prepared for."""

    def __init__(self, failure: Exception | None = None) -> None:
        super().__init__(MemoryBucket())
        self.failure = failure or ZeroDivisionError("a number that nobody thought of")
        self.left = 0

    def get(self, name: str, start: int = 0, end: int | None = None) -> bytes:
        if name.startswith("segments/") and self.left:
            self.left -= 1
            raise self.failure
        return super().get(name, start, end)


async def _stored(place: Place) -> None:
    (log,) = await place.topic("t")
    await write(log, [OLD_MS, OLD_MS + 1])
    await log.flush()


@in_loop
async def test_what_the_server_did_not_expect_surfaces_with_its_cause(tmp_path: Path) -> None:
    """S7: an error in the server that stays is raised after some tries, with what it was; one that passes is not."""
    store = Broken()
    async with a_place(tmp_path, store) as place:
        await _stored(place)
        store.left = 2
        subscription = subscribe(place.address, "t", since=0, until="now", segment_refs=False, calls=QuickCalls())
        assert len([event async for event in subscription]) == 2
        assert subscription.stats.errors >= 1
    store = Broken()
    async with a_place(tmp_path / "other", store) as place:
        await _stored(place)
        store.left = 1000
        subscription = subscribe(place.address, "t", since=0, until="now", segment_refs=False, calls=QuickCalls())
        with pytest.raises(ServerFailed, match="ZeroDivisionError: a number that nobody thought of") as found:
            await asyncio.wait_for(anext(aiter(subscription)), 60)
        assert found.value.address == place.address
        assert subscription.stats.errors == TRIES_MAX - 1


@in_loop
@pytest.mark.parametrize("failure", [Unavailable("503: slow down"), Corrupt("a crc is wrong")])
async def test_faults_of_the_servers_store_are_tried_again(tmp_path: Path, failure: HoldfastError) -> None:
    """S7: what the server cannot read now surfaces, and the follower goes on from its cursor: all of it, once."""
    store = Broken(failure)
    async with a_place(tmp_path, store) as place:
        await _stored(place)
        store.left = 2
        subscription = subscribe(place.address, "t", since=0, until="now", segment_refs=False, calls=QuickCalls())
        assert [event.offset async for event in subscription] == [0, 1]
        assert subscription.stats.errors >= 1
        assert str(failure) in subscription.stats.last_error


@in_loop
async def test_progress_between_failures_starts_the_count_anew(tmp_path: Path) -> None:
    """S6, S7: tries count for one place: a cursor that moves, though nothing passes the filter, is another place."""
    async with place_with(tmp_path) as place:
        (log,) = await place.topic("t")
        tries = 0

        async def connect(address: str, asked: SubscribeRequest) -> AsyncGenerator[wire.Message, None]:
            nonlocal tries
            tries += 1
            await write(log, [OLD_MS], key="/hidden")
            async for message in messages(address, asked):
                yield message
                if tries <= 3 * TRIES_MAX and message.marker.positions:
                    while subscription.cursor.places[next(iter(subscription.cursor.places))].position.offset < tries:
                        await asyncio.sleep(0)
                    raise ServerFailed(address, "again")

        subscription = subscribe(
            place.address, "t", since=0, until="now", filter="/shown", segment_refs=False, calls=QuickCalls()
        )
        subscription._means = replace(subscription._means, connect=connect)
        assert [event async for event in subscription] == []
        assert subscription.stats.errors == 3 * TRIES_MAX


@in_loop
async def test_a_server_that_is_away_takes_no_tries() -> None:
    """S7: being away is not failing: only what the server itself did not expect counts."""
    away = [ServerGone("a", "away")] * 50
    subscription = failing(*[ServerFailed("a", "x")] * (TRIES_MAX - 1), *away, ServerFailed("a", "the last"))
    with pytest.raises(ServerFailed, match="the last"):
        await asyncio.wait_for(anext(aiter(subscription)), 60)
    assert subscription.stats.errors == TRIES_MAX - 1 + 50


def test_the_same_failure_between_events_has_to_last() -> None:
    """S7: what the server did not expect, and comes back between events, is raised after minutes; a pause ends it."""
    clock = ManualClock()
    defects, failure = Defects(clock), ServerFailed("a", "x")

    def lasts(seconds: float) -> bool:
        clock.advance(seconds)
        defects.moved()
        return defects.lasts(failure)

    assert not any(lasts(10) for _ in range(int(LASTING_S) // 10))
    assert not lasts(1000)
    assert not any(lasts(10) for _ in range(int(LASTING_S) // 10 - 1))
    assert lasts(10)
    assert not any(defects.lasts(ServerGone("a", "away")) for _ in range(3 * TRIES_MAX))


@in_loop
@pytest.mark.parametrize("letter", ["x", "\u6f22", "\U0001f30a", "\x01"])
async def test_long_words_reach_the_client_cut(tmp_path: Path, letter: str) -> None:
    """S7: gRPC carries about 8 KiB with the end of a call: what is wrong is said shorter, and stays the same error."""
    store = Broken(Corrupt("damage " + letter * 20_000))
    async with a_place(tmp_path, store) as place:
        await _stored(place)
        filtered = replace(SubscribeRequest(sources=(Source("t"),)), filter=Filter.of("/k"))
        object.__setattr__(filtered.filter, "paths", ("no slash " + letter * 20_000,))
        with pytest.raises(BadFilter, match="no slash") as bad:
            await asyncio.wait_for(anext(messages(place.address, filtered)), 60)
        with pytest.raises(NoSuchSource, match="names no topic") as none:
            await asyncio.wait_for(
                anext(messages(place.address, SubscribeRequest(sources=(Source(letter * 20_000),)))), 60
            )
        store.left = 1000
        with pytest.raises(Corrupt, match="damage") as damage:
            async for _ in messages(place.address, SubscribeRequest(sources=(Source("t"),), start=Start(0))):
                pass
        assert all(20 < len(str(each.value)) < 8192 for each in (bad, none, damage))


@in_loop
async def test_damage_in_a_place_whose_name_is_no_text_is_raised(tmp_path: Path) -> None:
    """S7: a path may have bytes that are no UTF-8. It is still damage, and not a server that seems to be gone."""
    store = Broken(Corrupt("damage in /data-\udcff/objects"))
    async with a_place(tmp_path, store) as place:
        await _stored(place)
        store.left = 1000
        with pytest.raises(Corrupt, match="damage in /data-\\?/objects"):
            async for _ in messages(place.address, SubscribeRequest(sources=(Source("t"),), start=Start(0))):
                pass


@in_loop
async def test_one_cluster_under_two_names_is_refused(tmp_path: Path) -> None:
    """S1: each record of a cluster comes once, so that a cluster cannot have two names; nothing comes before that."""
    async with place_with(tmp_path) as place:
        await _stored(place)
        for refs in (False, True):
            subscription = subscribe(
                {"eu": place.address, "us": place.address}, "t", since=0, until="now", segment_refs=refs,
                objects=place.objects,
            )  # fmt: skip
            with pytest.raises(BadRequest, match="one cluster"):
                [event async for event in subscription]
            assert subscription.stats.events == 0


def test_ranges_that_are_gone_are_joined() -> None:
    """S7: ranges that overlap, touch or come again, in any order, count each offset once."""
    stats = Stats()
    for start, end in ((20, 30), (0, 10), (10, 12), (0, 10), (25, 35), (5, 22), (40, 40)):
        stats.skip(1, start, end)
    stats.skip(2, 0, 5)
    assert stats.skipped == 35 + 5
