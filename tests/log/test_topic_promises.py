"""K11: what a topic says of its segments and of its compaction holds, whatever the broker does by default."""

from __future__ import annotations

import random

from tests.log.log_world import HOME, NOW, OTHER, LogWorld, in_loop, turns

from holdfast.log.background.backlog import Soonest
from holdfast.log.logs import Logs
from holdfast.log.partition.partition import PartitionLog
from holdfast.log.settings import PartitionSettings
from holdfast.record.batch import split
from holdfast.record.build import build
from holdfast.record.records import Record, read_records

COMPACT = frozenset({"compact"})
HOUR_MS = 3_600_000


def keyed(*keys: bytes, timestamp: int = NOW) -> bytearray:
    return build([Record(key, b"v" * 50, timestamp) for key in keys])


async def keys_of(partition: PartitionLog) -> list[bytes | None]:
    found = await partition.read(0, None)
    batches = [batch for buffer in found.buffers for _, batch in split(buffer)]
    return [record.key for batch in batches for record in read_records(batch)]


async def tick(logs: Logs) -> None:
    await turns()
    logs._flusher.tick()
    await turns(100)


@in_loop
async def test_a_tail_becomes_a_segment_when_its_topic_says_so() -> None:
    """K11: segment.ms and segment.bytes, a second at the earliest; another topic's tail stays."""
    world = LogWorld()
    logs = await world.open()
    by_age = await logs.partition(HOME, PartitionSettings(segment_age_ms_max=5_000))
    other = await logs.partition(OTHER)
    for each in (other, by_age):
        await each.append(keyed(b"a"))
    world.clock.advance(4.9)
    await tick(logs)
    assert by_age.marks.flushed == 0
    world.clock.advance(0.2)
    await tick(logs)
    assert (by_age.marks.flushed, other.marks.flushed) == (1, 0)
    other.change_settings(PartitionSettings(segment_size_max=300))
    world.clock.advance(2)
    await tick(logs)
    assert other.marks.flushed == 0, "It has not got this size yet."
    for _ in range(3):
        await other.append(keyed(b"b"))
    await tick(logs)
    assert other.marks.flushed == 4
    await other.append(keyed(b"c", b"d", b"e", b"f", b"g"))
    await tick(logs)
    assert other.marks.flushed == 4, "However small segments may be, there is one a second at most."
    world.clock.advance(1.1)
    await tick(logs)
    assert other.marks.flushed == 9


@in_loop
async def test_records_are_compacted_as_soon_as_their_topic_promises() -> None:
    """K11: with small segments and a low ratio it is not the round of all partitions that counts."""
    world = LogWorld()
    logs = await world.open()
    settings = PartitionSettings(cleanup=COMPACT, segment_age_ms_max=1_000, dirty_ratio_min=0.01)
    partition = await logs.partition(HOME, settings)
    await partition.append(keyed(b"a", b"b", b"a", b"a"))
    world.clock.advance(1.1)
    await tick(logs)
    await logs._upkeep.compact_asked()
    assert await keys_of(partition) == [b"b", b"a"]
    assert not logs._upkeep._soon, "Nothing is left to do."


@in_loop
async def test_less_than_the_ratio_is_left_alone() -> None:
    """K11: min.cleanable.dirty.ratio, of the topic."""
    world = LogWorld()
    partition = await (await world.open()).partition(HOME, PartitionSettings(cleanup=COMPACT, dirty_ratio_min=0.9))
    await partition.append(keyed(*[b"%d" % number for number in range(40)]))
    await partition.flush()
    await partition.compact()
    await partition.append(keyed(b"1"))
    await partition.flush()
    assert not await partition.compact()
    partition.change_settings(PartitionSettings(cleanup=COMPACT, dirty_ratio_min=0.0))
    assert await partition.compact()
    assert (await keys_of(partition)).count(b"1") == 1


@in_loop
async def test_what_is_too_young_is_not_compacted() -> None:
    """K11: min.compaction.lag.ms: a reader who is not slower than that sees every record."""
    world = LogWorld()
    settings = PartitionSettings(cleanup=COMPACT, dirty_ratio_min=0.0, compaction_lag_ms_min=HOUR_MS)
    partition = await (await world.open()).partition(HOME, settings)
    await partition.append(keyed(b"a", b"a"))
    await partition.flush()
    world.clock.advance(1800)
    await partition.append(keyed(b"a", b"a", timestamp=world.clock.now_ms()))
    await partition.flush()
    assert not await partition.compact()
    world.clock.advance(1801)
    await partition.compact()
    assert await keys_of(partition) == [b"a", b"a", b"a"], "The first segment is old enough, the second is not."
    world.clock.advance(1801)
    await partition.compact()
    assert await keys_of(partition) == [b"a"]


@in_loop
async def test_what_is_dirty_for_long_is_compacted_however_little_it_is() -> None:
    """K11: max.compaction.lag.ms; the tail is flushed for it, and it is asked for again until it is time."""
    world = LogWorld()
    logs = await world.open()
    settings = PartitionSettings(cleanup=COMPACT, dirty_ratio_min=1.0, compaction_lag_ms_max=10_000)
    partition = await logs.partition(HOME, settings)
    await partition.append(keyed(*[b"%d" % number for number in range(40)], timestamp=NOW - HOUR_MS))
    await partition.flush()
    await partition.compact()
    await partition.append(keyed(b"1", timestamp=NOW + 5_000))
    world.clock.advance(10.1)
    await tick(logs)
    assert partition.marks.flushed == 41
    await logs._upkeep.compact_asked()
    assert (await keys_of(partition)).count(b"1") == 2
    world.clock.advance(5)
    await logs._upkeep.compact_asked()
    assert (await keys_of(partition)).count(b"1") == 1


def test_the_first_that_is_due_is_known_whatever_came_nearer_or_left() -> None:
    """K11: held against a plain sort."""
    chance = random.Random(5)
    times: dict[str, float | None] = {}
    soonest = Soonest[str](lambda name: times.get(name))
    for _ in range(20_000):
        name = f"tail {chance.randrange(50)}"
        drawn = chance.random()
        if drawn < 0.3:
            times[name] = None
        elif times.get(name) is None or drawn < 0.7:
            times[name] = chance.random()
        soonest.note(name)
        if chance.random() < 0.3:
            found = soonest.first()
            lowest = min((each for each in times.values() if each is not None), default=None)
            assert (None if found is None else found[0]) == lowest
