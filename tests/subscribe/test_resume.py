"""Going on after failures: however long they last, and from what is known of each server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import pytest
from tests.log.log_world import in_loop
from tests.subscribe.place import OLD_MS, all_of, place_with, write
from tests.subscribe.stores import Gated, QuickCalls

from holdfast.errors import Corrupt
from holdfast.io.chance import SeededChance
from holdfast.io.clock import SystemClock
from holdfast.subscribe import Cursor, Subscription, subscribe
from holdfast.subscribe.client.connection import messages
from holdfast.subscribe.client.progress import LanePosition, Lanes, Positions
from holdfast.subscribe.client.session import Means
from holdfast.subscribe.errors import ServerGone
from holdfast.subscribe.merge.piece import NO_EPOCH, Position
from holdfast.subscribe.wire.request import Source, Start, SubscribeRequest
from holdfast.subscribe.wire.schema import subscribe_pb2 as wire


def failing(*failures: Exception) -> Subscription:
    """Every try meets the next failure, the last one for ever."""
    left = list(failures)

    async def connect(address: str, asked: SubscribeRequest) -> AsyncGenerator[wire.Message, None]:
        raise left.pop(0) if len(left) > 1 else left[0]
        yield  # type: ignore[unreachable]

    means = Means(
        addresses={"": "a"}, objects={}, calls=QuickCalls(), clock=SystemClock(),
        max_wait_ms=5, read_ahead_size=1, connect=connect,
    )  # fmt: skip
    return Subscription(means, SubscribeRequest(sources=(Source("t"),)), SeededChance(1), owns_calls=True)


@in_loop
async def test_a_server_may_be_away_for_hours() -> None:
    """S7: after thousands of tries the next one is made like the first."""
    gone = [ServerGone("a", "away")] * 1500
    subscription = failing(*gone, Corrupt("the end of the test"))
    with pytest.raises(Corrupt):
        await asyncio.wait_for(anext(aiter(subscription)), 60)
    assert subscription.stats.errors >= 1500


@in_loop
async def test_damage_is_tried_again_also_after_other_failures() -> None:
    """S7: what looks damaged gets all its tries, though the server was away before."""
    away = [ServerGone("a", "away")] * 10
    subscription = failing(*away, Corrupt("torn"), *away, Corrupt("stays"))
    with pytest.raises(Corrupt, match="stays"):
        await asyncio.wait_for(anext(aiter(subscription)), 60)


def test_what_is_skipped_leaves_the_epoch_open() -> None:
    """S1, A2: behind skipped offsets the epoch is not known; the one before them would look like a divergence."""
    lanes = Lanes()
    standing = Positions(lanes)
    number = lanes.add(LanePosition("", "t", 0, UUID(int=1), "c"))
    standing.begin(number, Position(5, 3, 100))
    standing.move({number: Position(5, NO_EPOCH, 100)})
    assert next(iter(standing.cursor().places.values())).position == Position(5, 3, 100), "Nothing was skipped."
    standing.move({number: Position(50, NO_EPOCH, 100)})
    assert next(iter(standing.cursor().places.values())).position == Position(50, NO_EPOCH, 100)


@in_loop
async def test_a_cursor_behind_skipped_offsets_can_be_used(tmp_path: Path) -> None:
    """S1, S7: retention passed the cursor and the end of its epoch: the cursor at log start is no divergence."""
    async with place_with(tmp_path) as place:
        (log,) = await place.topic("t")
        await write(log, [OLD_MS] * 4)
        first = subscribe(place.address, "t", since=0, until="now", segment_refs=False)
        async with first:
            await anext(aiter(first))
        log.epochs.note(log.epochs.current + 1, 4)  # As after a restart.
        await write(log, [OLD_MS] * 4)
        await log.flush()
        await log.delete_records(6)
        stream = messages(place.address, SubscribeRequest(sources=(Source("t"),), start=Start(cursor=first.cursor)))
        start = (await anext(stream)).opened.starts[0]
        await stream.aclose()
        assert (start.offset, start.epoch) == (6, NO_EPOCH)
        (key, seen), *_ = first.cursor.places.items()
        at_start = Cursor({key: seen._replace(position=Position(start.offset, start.epoch, start.order_time))})
        assert [event.offset for event in await all_of(place, "t", since=None, cursor=at_start)] == [6, 7]


@in_loop
async def test_a_server_that_was_away_at_first_starts_where_it_was_asked_to(tmp_path: Path) -> None:
    """S1: while one of two servers has never answered, the other's cursor does not make it start at its beginning."""
    async with place_with(tmp_path / "one") as one, place_with(tmp_path / "two") as other:
        for place in (one, other):
            (log,) = await place.topic("t")
            await write(log, [OLD_MS + each for each in range(10)])
        failed = False

        async def connect(address: str, asked: SubscribeRequest) -> AsyncGenerator[wire.Message, None]:
            nonlocal failed
            if address == other.address and not failed:
                failed = True
                while not subscription._lanes.rows:
                    await asyncio.sleep(0.001)
                raise ServerGone(address, "not yet")
            async for message in messages(address, asked):
                yield message

        addresses = {"eu": one.address, "us": other.address}
        subscription = subscribe(addresses, "t", since=OLD_MS + 7, until="now", segment_refs=False, calls=QuickCalls())
        subscription._means = replace(subscription._means, connect=connect)
        events = [event async for event in subscription]
        assert failed
        assert [(event.source, event.offset) for event in events] == [
            (source, offset) for offset in (7, 8, 9) for source in ("eu", "us")
        ]


@in_loop
async def test_a_cursor_that_knows_both_topics_of_a_name(tmp_path: Path) -> None:
    """S1: a topic was made again while it was followed: the cursor knows both, and a new partition is no surprise."""
    async with place_with(tmp_path) as place:
        (log,) = await place.topic("t")
        await write(log, [OLD_MS])
        first = subscribe(place.address, "t", since=0, until="now", segment_refs=False)
        assert len([event async for event in first]) == 1
        (key, seen), *_ = first.cursor.places.items()
        both = Cursor({key: seen, key._replace(topic_id=UUID(int=1)): seen})
        await place.context.topics.add_partitions("t", 2)
        await write(place.context.topics.get("t").partition(1), [OLD_MS])
        assert [event.partition for event in await all_of(place, "t", since=None, cursor=both)] == [1]


@in_loop
@pytest.mark.parametrize("live", [False, True])
async def test_what_the_server_told_of_a_lane_is_not_lost_behind_its_segments(tmp_path: Path, live: bool) -> None:
    """S5, S6: a marker that came while segments were read moves the cursor once they are, though no row follows."""
    async with place_with(tmp_path) as place:
        (log,) = await place.topic("t")
        await write(log, [OLD_MS] * 10, key="/shown")
        await log.flush()
        await write(log, [OLD_MS] * 5, key="/hidden")
        store = Gated(place.objects)
        until = None if live else "now"
        subscription = subscribe(place.address, "t", since=0, until=until, filter="/shown", objects=store)
        events = asyncio.ensure_future(_count(subscription))
        await asyncio.get_running_loop().run_in_executor(None, store.waiting.wait, 60)
        while subscription._session is None or not any(each._held for each in subscription._session._incoming):
            await asyncio.sleep(0.001)
        store.gate.set()
        async with asyncio.timeout(30):
            while live and [each.position.offset for each in subscription.cursor.places.values()] != [15]:
                await asyncio.sleep(0.001)
        if live:
            await subscription.close()
        assert await asyncio.wait_for(events, 30) == 10
        assert [each.position.offset for each in subscription.cursor.places.values()] == [15]


async def _count(subscription: Subscription) -> int:
    count = 0
    async for batch in subscription.batches():
        count += len(batch)
    return count


@in_loop
async def test_the_point_holds_without_its_partition(tmp_path: Path) -> None:
    """S1: what lies below the point of a cursor is late, also when the partition that reached it is not asked for."""
    async with place_with(tmp_path) as place:
        (one,), (other,) = await place.topic("a"), await place.topic("b")
        await write(one, [OLD_MS + 100])
        first = subscribe(place.address, ["a", "b"], since=0, until="now", segment_refs=False)
        assert [event.topic async for event in first] == ["a"]
        await write(other, [OLD_MS + 50, OLD_MS + 200])
        await other.flush()
        for refs in (False, True):
            events = await all_of(place, "b", since=None, cursor=first.cursor, segment_refs=refs)
            assert [(event.timestamp - OLD_MS, event.late) for event in events] == [(50, True), (200, False)], refs
