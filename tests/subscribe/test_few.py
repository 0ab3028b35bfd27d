"""The short ways of a few events give what the long ways give."""

from __future__ import annotations

import asyncio
import random

import numpy as np
import pytest
from tests.log.log_world import in_loop
from tests.subscribe.pieces import a_piece, rows_of

from holdfast.errors import Unavailable
from holdfast.io.clock import ManualClock
from holdfast.record.build import build
from holdfast.record.errors import CorruptBatch
from holdfast.record.marker import Marker, MarkerKind, build_marker
from holdfast.record.records import Record
from holdfast.segment.manifest.info import Aborted
from holdfast.subscribe.filter import Filter
from holdfast.subscribe.merge.gather import gather
from holdfast.subscribe.merge.merge import Merge, MergeState
from holdfast.subscribe.merge.piece import OLD_MS, Range, decode_piece
from holdfast.subscribe.merge.pump import COLLECT_COUNT, Pump
from holdfast.subscribe.merge.rows import FewRows, ManyRows
from holdfast.subscribe.merge.small_batch import few_piece
from holdfast.subscribe.server.packing import one_by_one, pack, singles
from holdfast.subscribe.wire.schema import subscribe_pb2 as wire


def some_batches(chance: random.Random) -> tuple[list[bytes], int]:
    """A few small batches with everything in them that a log can hold, and the offset behind them."""
    found, offset = [], chance.randrange(5)
    for _ in range(chance.randrange(1, 4)):
        records = []
        for _ in range(chance.randrange(1, 4)):
            headers = tuple(
                ("name" * chance.randrange(2), chance.choice((None, b"v"))) for _ in range(chance.randrange(3))
            )
            key, value = chance.choice((None, b"", b"/a/b", b"/c")), chance.choice((None, b"", b"value"))
            records.append(Record(key, value, chance.randrange(-1, 50), headers, offset))
            offset += chance.randrange(1, 3)
        kind = {"codec": chance.choice((0, 1, 4)), "producer_id": chance.choice((-1, 7))}
        if kind["producer_id"] >= 0:
            kind |= {"producer_epoch": 0, "base_sequence": 0, "transactional": True}
        found.append(bytes(build(records, base_offset=records[0].offset, leader_epoch=chance.randrange(3), **kind)))
        offset = records[-1].offset + 1
    return found, offset


def facts(piece) -> tuple:  # type: ignore[no-untyped-def, type-arg]
    rows = piece.rows
    columns = piece.columns
    values = [
        (columns.offset[row], columns.timestamp[row], columns.key.__getitem__(row), columns.value.__getitem__(row))
        for row in rows
    ]
    headers = [
        [
            (columns.headers.keys.__getitem__(each), columns.headers.values.__getitem__(each))
            for each in range(columns.headers.ends[row], columns.headers.ends[row + 1])
        ]
        for row in rows
    ]
    numbers = [getattr(piece, name).tolist() for name in ("lanes", "times", "epochs", "types")]
    return values, headers, numbers, piece.after


@pytest.mark.parametrize("seed", range(60))
def test_one_by_one_gives_the_same_piece(seed: int) -> None:
    """S1, S4: whichever way a few records are decoded, rows, order times, epochs and positions are the same."""
    chance = random.Random(seed)
    batches, end = some_batches(chance)
    start = chance.randrange(end)
    aborted = [Aborted(7, chance.randrange(end), chance.randrange(end), 0)] if chance.random() < 0.5 else []
    chosen = Filter.of("/a") if chance.random() < 0.3 else None
    wanted = Range(2, start, chance.randrange(start, end + 2), aborted, chosen)
    assert facts(few_piece(batches, wanted)) == facts(decode_piece(batches, wanted))


def test_markers_are_no_events_one_by_one() -> None:
    """S1: a marker is hidden, and its time counts."""
    data = [bytes(build_marker(Marker(MarkerKind.COMMIT, 7, 0, 0, 99)))]
    wanted = Range(0, 0, 1)
    assert facts(few_piece(data, wanted)) == facts(decode_piece(data, wanted))
    assert len(few_piece(data, wanted)) == 0


def test_damage_is_noticed_one_by_one() -> None:
    """S7: a wrong crc is told with its place, whichever way a batch is decoded."""
    data = bytearray(build([Record(b"/k", b"v", 1)]))
    data[-1] ^= 1
    with pytest.raises(CorruptBatch, match="here"):
        few_piece([bytes(data)], Range(0, 0, 1, place="here"))


def test_few_rows_are_what_many_are() -> None:
    """S1, S4: rows, their positions and their messages are the same as Python values and as Arrow."""
    merge = Merge(0.0)
    merge.set_ranks(np.arange(2, dtype=np.int32))
    for number in range(2):
        merge.push(merge.add(number), a_piece(number, [number + 2 * each for each in range(5)], first=3))
        merge.lanes[number].state = MergeState.ENDED
    taken = merge.take(0)
    assert taken is not None
    (batch,) = gather(taken)
    few, many = FewRows(taken), ManyRows(batch)
    for count in (1, 4, 10):
        one, other = few.first(count), many.first(count)
        assert one.record_batch.equals(other.record_batch)
        assert [each.tolist() for each in one.marks()] == [each.tolist() for each in other.marks()]
        assert (len(one), one.late, one.last_timestamp) == (len(other), other.late, other.last_timestamp)
    assert list(map(wire.Message.FromString, singles(taken))) == list(map(wire.Message.FromString, one_by_one(batch)))


def test_a_packed_message_is_what_the_schema_says() -> None:
    """S3: messages are framed by hand; the classes of the schema read what was meant."""
    merge = Merge(0.0)
    merge.set_ranks(np.zeros(1, np.int32))
    merge.push(merge.add(0), a_piece(0, range(300)))
    merge.lanes[0].state = MergeState.ENDED
    taken = merge.take(0)
    assert taken is not None
    (batch,) = gather(taken)
    for data in pack(batch, batches=True):
        message = wire.Message.FromString(data)
        assert message.WhichOneof("kind") == "batch"
        assert message.SerializeToString() == data
    kinds = [wire.Message.FromString(data).WhichOneof("kind") for data in pack(batch, batches=False)]
    assert kinds == ["event"] * 300


@in_loop
@pytest.mark.parametrize(("age_ms", "waits_ms"), [(9, 0), (5, 0), (2, 3), (0, 5), (-50_000, 5), (OLD_MS, 5)])
async def test_news_waits_from_its_own_time_on(age_ms: int, waits_ms: int) -> None:
    """S1, S4: on its way news has waited already; history, and a clock that is ahead, wait from their arrival on."""
    clock, merge = ManualClock(), Merge(0.005)
    merge.set_ranks(np.arange(2, dtype=np.int32))
    one, other = merge.add(0), merge.add(1)
    one.state = other.state = MergeState.IDLE
    await Pump(merge, clock).put(one, a_piece(0, [clock.now_ms() - age_ms]))
    assert rows_of(merge.take(waits_ms / 1000 - 1e-6)) == []
    assert len(rows_of(merge.take(waits_ms / 1000 + 1e-6))) == 1


@in_loop
async def test_messages_of_a_backlog_are_handed_on_together() -> None:
    """S2, S4: while a stream is behind, its messages are taken some at a time; what comes live goes at once."""
    clock, merge = ManualClock(), Merge(0.005)
    pump = Pump(merge, clock, collects=True)
    merge.set_ranks(np.zeros(1, np.int32))
    stream = merge.add(-1)
    taking = asyncio.ensure_future(pump.take(1.0, lambda: False))
    for number in range(COLLECT_COUNT - 1):
        await pump.put(stream, a_piece(0, [number], first=number), 64)
    await asyncio.sleep(0)
    assert not taking.done(), "The next message is on its way."
    await pump.put(stream, a_piece(0, [99], first=99), 64)
    assert len(rows_of(await asyncio.wait_for(taking, 60))) == COLLECT_COUNT
    taking = asyncio.ensure_future(pump.take(1.0, lambda: False))
    await pump.put(stream, a_piece(0, [100], first=100), 64)
    pump.set_state(stream, MergeState.IDLE)
    assert len(rows_of(await asyncio.wait_for(taking, 60))) == 1, "The clock stands still: nobody has waited."


@in_loop
async def test_a_failure_is_told_behind_what_came_before_it() -> None:
    """S5, S7: what waited for a backlog's next message goes before the failure; what others bring later does not."""
    clock, merge = ManualClock(), Merge(0.005)
    pump = Pump(merge, clock, collects=True)
    merge.set_ranks(np.arange(2, dtype=np.int32))
    stored, stream = merge.add(0), merge.add(-1)
    taking = asyncio.ensure_future(pump.take(1.0, lambda: False))
    await pump.put(stream, a_piece(1, [9]), 64)
    await asyncio.sleep(0)
    await pump.put(stored, a_piece(0, range(5)))
    pump.end(Unavailable("the next read failed"))
    await pump.put(stored, a_piece(0, [5], first=5))
    rows = rows_of(await asyncio.wait_for(taking, 60))
    assert [(lane, offset) for lane, offset, _, _ in rows] == [(0, each) for each in range(5)]
    with pytest.raises(Unavailable, match="the next read"):
        await pump.take(1.0, lambda: False)
