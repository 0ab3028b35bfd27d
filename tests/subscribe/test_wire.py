"""What goes over the wire: packed and single events, markers, heartbeats, transactions, errors, topics that change."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.log.log_world import in_loop
from tests.subscribe.place import MODES, OLD_MS, all_of, place_with, write

from holdfast.io.clock import SystemClock
from holdfast.record.build import build
from holdfast.record.marker import Marker, MarkerKind
from holdfast.record.records import Record
from holdfast.subscribe import NOW, Cursor, Event, Filter, Source, subscribe
from holdfast.subscribe.client.connection import messages
from holdfast.subscribe.errors import BadCursor, CursorDiverged, SourceGone
from holdfast.subscribe.wire.request import Start, SubscribeRequest


@in_loop
async def test_old_events_are_packed_for_those_who_ask(tmp_path: Path) -> None:
    """S3: what goes together shares messages of at most 256, for clients that take them; for others all go alone.
    The test of S3."""
    async with place_with(tmp_path) as place:
        (log,) = await place.topic("t")
        now_ms = SystemClock().now_ms()
        for first in range(0, 1000, 100):
            await write(log, [OLD_MS + number for number in range(first, first + 100)])
        await write(log, [now_ms + number for number in range(5)])
        counts = {}
        for batches in (False, True):
            asked = SubscribeRequest(sources=(Source("t"),), start=Start(0), until_now=True, batches=batches)
            kinds = [each.WhichOneof("kind") async for each in messages(place.address, asked)]
            counts[batches] = {kind: kinds.count(kind) for kind in set(kinds)}
            assert kinds[0] == "opened"
            assert kinds[-1] == "ended"
        assert counts[False]["event"] == 1005
        assert "batch" not in counts[False]
        assert counts[True].get("event", 0) <= 1, "Only one that comes alone goes alone."
        assert 4 <= counts[True]["batch"] <= 6, "At most 256 events share a message."


@in_loop
async def test_messages_are_bounded_by_size(tmp_path: Path) -> None:
    """S3: at most 1 MiB in one message; an event larger than that goes alone."""
    async with place_with(tmp_path) as place:
        (log,) = await place.topic("t", max_message_bytes="8000000")
        for size in (400_000, 400_000, 400_000, 5_000_000, 10):
            await log.append(build([Record(b"/k", b"x" * size, OLD_MS)]))
        asked = SubscribeRequest(sources=(Source("t"),), start=Start(0), until_now=True, batches=True)
        found = [each async for each in messages(place.address, asked)]
        sizes = [each.ByteSize() for each in found if each.WhichOneof("kind") in ("batch", "event")]
        assert len(sizes) in (4, 5)  # The first one is taken alone, if it comes alone.
        assert [size <= 1 << 20 for size in sizes].count(False) == 1, sizes
        assert [len(event.value or b"") for event in await all_of(place, "t")] == [400_000] * 3 + [5_000_000, 10]


@in_loop
async def test_only_what_is_committed_is_delivered(tmp_path: Path) -> None:
    """S1, K4: up to the last stable offset, without aborted records and markers, from the tail and from segments."""
    async with place_with(tmp_path) as place:
        (log,) = await place.topic("t")
        at = OLD_MS
        for number, kind in ((7, MarkerKind.ABORT), (8, MarkerKind.COMMIT), (9, None)):
            at += 10
            records = [Record(b"/k", f"p{number}".encode(), at)]
            batch = build(records, producer_id=number, producer_epoch=0, base_sequence=0, transactional=True)
            await log.append(batch)
            if kind is not None:
                log.append_marker(Marker(kind, number, 0, 0, at + 1))
        await write(log, [at + 20])
        for flushed in (False, True):
            for mode in MODES:
                events = await all_of(place, "t", **mode)
                assert [event.value for event in events] == [b"p8"], (flushed, mode)
            await log.flush()


@in_loop
async def test_a_cursor_that_saw_another_history_is_told(tmp_path: Path) -> None:
    """A2, S1: a cursor ahead of the log, or of a topic that was made again, is an error with its facts."""
    async with place_with(tmp_path) as place:
        (log,) = await place.topic("t")
        await write(log, [OLD_MS, OLD_MS + 1])
        subscription = subscribe(place.address, "t", since=0, until=NOW)
        assert len([event async for event in subscription]) == 2
        (key, seen), *_ = subscription.cursor.places.items()
        ahead = Cursor({key: seen._replace(position=seen.position._replace(offset=9))})
        with pytest.raises(CursorDiverged) as found:
            await all_of(place, "t", since=None, cursor=ahead)
        assert (found.value.offset, found.value.end) == (9, 2)
        with pytest.raises(BadCursor):
            await all_of(place, "t", since=None, cursor="nonsense")
        await place.context.topics.delete(place.context.topics.get("t"))
        await place.topic("t")
        with pytest.raises(BadCursor, match="made again"):
            await all_of(place, "t", since=None, cursor=subscription.cursor)


@in_loop
async def test_markers_carry_the_cursor_and_heartbeats_come(tmp_path: Path) -> None:
    """S1, S6: when the filter lets nothing through the cursor still moves; an idle stream is never silent for long."""
    async with place_with(tmp_path, heartbeat_ms=200) as place:
        (log,) = await place.topic("t")
        for _ in range(3):
            await write(log, [OLD_MS] * 50, key="/hidden")
        asked = SubscribeRequest(sources=(Source("t"),), start=Start(0), filter=Filter.of("/shown"), batches=True)
        beats = 0
        positions: list[int] = []
        async for message in messages(place.address, asked):
            assert message.WhichOneof("kind") in ("opened", "marker", "live")
            positions += [each.offset for each in message.marker.positions]
            beats += message.HasField("marker") and not message.marker.positions
            if beats == 2:
                break
        assert positions[-1] == 150
        hidden = subscribe(place.address, "t", since=0, until=NOW, filter="/shown", objects=place.objects)
        assert [event async for event in hidden] == []
        assert [place.position.offset for place in hidden.cursor.places.values()] == [150]


@in_loop
async def test_topics_and_partitions_that_come_later_are_followed(tmp_path: Path) -> None:
    """S1: a pattern is looked at again whenever topics change."""
    async with place_with(tmp_path) as place:
        (log,) = await place.topic("t-1")
        subscription = subscribe(place.address, "t-*", since=0)
        found = asyncio.Queue[Event]()

        async def follow() -> None:
            async for event in subscription:
                await found.put(event)

        task = asyncio.ensure_future(follow())
        await write(log, [OLD_MS])
        assert (await asyncio.wait_for(found.get(), 30)).topic == "t-1"
        (other,) = await place.topic("t-0")
        await write(other, [OLD_MS + 5])
        assert (await asyncio.wait_for(found.get(), 30)).topic == "t-0"
        await place.context.topics.add_partitions("t-1", 2)
        await write(place.context.topics.get("t-1").partition(1), [OLD_MS + 9])
        event = await asyncio.wait_for(found.get(), 30)
        assert (event.topic, event.partition) == ("t-1", 1)
        await place.context.topics.delete(place.context.topics.get("t-0"))
        await write(log, [OLD_MS + 10])
        assert (await asyncio.wait_for(found.get(), 30)).offset == 1
        await subscription.close()
        await task


@in_loop
async def test_a_topic_that_is_deleted_is_told(tmp_path: Path) -> None:
    """S1: whoever asked for a topic by name hears that it is gone."""
    async with place_with(tmp_path) as place:
        await place.topic("t")
        subscription = subscribe(place.address, "t", since=0)
        task = asyncio.ensure_future(anext(aiter(subscription)))
        while not subscription.stats.live:
            await asyncio.sleep(0.01)
        await place.context.topics.delete(place.context.topics.get("t"))
        with pytest.raises(SourceGone):
            await asyncio.wait_for(task, 30)
