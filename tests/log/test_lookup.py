"""Finding records by time, wherever they are."""

from __future__ import annotations

import pytest
from tests.log.log_world import HOME, LogWorld, batch, fill, in_loop, numbered, read_all, turns
from tests.log.slot import by_hand

PLACES = pytest.mark.parametrize("place", ["tail", "spilled", "segments", "both"])


@PLACES
@in_loop
async def test_look_up_by_timestamp(place: str) -> None:
    """K2: the first record at or after a time, also when times are out of order, and only at or above log start."""
    world = LogWorld(segment_size_max=200, tail_size_max=64 if place == "spilled" else 1 << 20)
    partition = await (await world.open()).partition(HOME)
    times = [100, 105, 50, 300, 301, 20, 200, 400, 10, 250]
    for number, time in enumerate(times):
        await partition.append(batch(b"x", b"y", timestamp=time))
        if place == "segments" or (place == "both" and number == 4):
            while await partition.flush():
                pass
    all_times = [time + plus for time in times for plus in (0, 1)]
    for log_start in (0, 1, 8, 15, 16):
        await partition.delete_records(log_start)
        for wanted in range(0, 420, 1):
            expected = next(
                ((at, time) for at, time in enumerate(all_times) if at >= log_start and time >= wanted), None
            )
            assert await partition.find_timestamp(wanted) == expected
        highest = max(all_times[log_start:])
        assert await partition.find_max_timestamp() == (all_times.index(highest, log_start), highest)


@in_loop
async def test_look_up_in_an_empty_log() -> None:
    """K2: nothing is found where nothing is, at once and after everything was deleted."""
    partition = await (await LogWorld().open()).partition(HOME)
    assert await partition.find_timestamp(0) is None
    assert await partition.find_max_timestamp() is None
    await fill(partition, 3)
    await partition.delete_records(-1)
    assert await partition.find_timestamp(0) is None
    assert await partition.find_max_timestamp() is None
    assert partition.marks.log_start == 3


@in_loop
async def test_look_ups_find_only_what_is_readable() -> None:
    """A2: a record that is not durable yet is not found."""
    world = LogWorld()
    partition = await (await world.open()).partition(HOME)
    await fill(partition, 1)
    found = []
    world.disk.during_sync = lambda: found.append(by_hand(partition.find_max_timestamp()))
    [(header, data)] = partition.check_batches(batch(b"later", timestamp=1_800_000_000_000))
    partition.append_one(header, data)
    await turns()
    world.disk.during_sync = None
    assert found == [(0, 1_700_000_000_000)]
    assert await partition.find_max_timestamp() == (1, 1_800_000_000_000)
    assert await read_all(partition) == [*numbered(0, 1), (1, b"later")]
