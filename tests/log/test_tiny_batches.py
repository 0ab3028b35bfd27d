"""Batches of one tiny record: what they cost in memory once their bytes have left it, and while recovering."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.log.log_world import HOME, OTHER, LogWorld, batch, fill, in_loop, numbered, read_all, turns
from tests.log.tiny_batches import HOMES, MEMORY_MAX

from holdfast.log.partition.run import RUN_COUNT_MAX, Run
from holdfast.log.partition.tail_batch import TailBatch
from holdfast.record.batch import read_header
from holdfast.wal import WalSettings

MANY = 1_200_000
BYTES_MAX = 40  # For each spilled batch of 78 bytes, all told.
SLACK = 24 << 20  # Bytes: read windows, the interpreter's own pools, threads.


def measured(what: str, folder: Path, count: int) -> dict[str, Any]:
    words = [sys.executable, "-m", "tests.log.tiny_batches", what, str(folder), str(count)]
    done = subprocess.run(words, capture_output=True, text=True, cwd=Path(__file__).parents[2])
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.slow
def test_a_million_batches_of_one_record(tmp_path: Path) -> None:
    """D11, O6: a spilled batch of 78 bytes takes at most 40 in memory, and a start takes no more than the limit.
    The test of D11."""
    listed = measured("list", tmp_path, MANY)
    assert listed["size"] == 78
    assert listed["rss"] - MEMORY_MAX <= BYTES_MAX * MANY, listed
    assert listed["counted"] <= BYTES_MAX * MANY, listed
    recovered = measured("recover", tmp_path, MANY)
    assert recovered["peak"] <= 2 * MEMORY_MAX + BYTES_MAX * MANY / 2 + SLACK, recovered
    assert recovered["counted"] <= 2 * MEMORY_MAX + BYTES_MAX * MANY / 2, recovered


def test_what_is_counted_is_what_is_taken(tmp_path: Path) -> None:
    """D11: some ten thousand of them, listed and recovered, by the figures that the limits are held against."""
    count = 30_000
    listed = measured("list", tmp_path, count)
    assert listed["counted"] <= BYTES_MAX * count
    recovered = measured("recover", tmp_path, count)
    assert recovered["counted"] <= 2 * MEMORY_MAX
    assert len(HOMES) > 1  # Their entries lie between each other's.


def test_a_run_of_batches_of_all_kinds_comes_back() -> None:
    """D11, L2: every fact of every batch, from every offset on, whatever its size, time, epoch and place."""
    batches = []
    base = 1 << 40
    for number in range(RUN_COUNT_MAX):
        data = memoryview(batch(*[b"x" * (number % 7)] * (1 + number % 3), timestamp=number * (-1) ** number << 20))
        header = read_header(data)._replace(base_offset=base, leader_epoch=number // 100)
        batches.append(TailBatch(header, None, 5 + number * number, number % 5, 77))
        base = batches[-1].end
    run = Run(batches)
    facts = [[getattr(each, name) for name in TailBatch.__slots__] for each in batches]
    for number, first in enumerate(batches):
        for offset in (first.base, first.end - 1):
            found = [[getattr(each, name) for name in TailBatch.__slots__] for each in run.batches(offset)]
            assert found == facts[number:]
    assert (run.base, run.end, len(run)) == (batches[0].base, base, RUN_COUNT_MAX)
    assert (run.epoch_min, run.epoch_max, run.plain) == (0, 2, True)
    assert run.max_timestamp == max(each.max_timestamp for each in batches)


@in_loop
async def test_producers_wait_when_the_lists_of_what_was_spilled_fill_the_memory() -> None:
    """D11: nothing that stays in memory is without a limit; a flush makes room again."""
    world = LogWorld(
        tail_size_max=1 << 20, wal=WalSettings(chunk_size_max=1 << 20, zero_ahead_size=512), wal_size_max=1 << 24
    )
    logs = await world.open()
    partition = await logs.partition(HOME)
    await fill(partition, 50)
    assert logs.has_room
    logs._use.listed_size += 16 << 20  # As millions of spilled batches would.
    logs._use.size += 16 << 20
    partition.append_one(read_header(memoryview(data := batch(b"one more"))), memoryview(data))
    await turns()
    assert not logs.has_room
    logs._use.listed_size -= 16 << 20
    logs._use.size -= 16 << 20
    await partition.flush()
    assert logs.has_room
    await logs.close()


@in_loop
async def test_neighbours_and_strangers_are_read_back_right() -> None:
    """D11, L2: entries of two partitions between each other, near and far, read back in one go or in several."""
    world = LogWorld(tail_size_max=64)
    logs = await world.open()
    first, second = await logs.partition(HOME), await logs.partition(OTHER)
    for number in range(40):
        await fill(first, 1 + number % 3, start=first.marks.log_end)
        await fill(second, number % 9, start=second.marks.log_end)
    for partition in (first, second):
        assert len(partition.tail.runs) == 1
        assert await read_all(partition) == numbered(0, partition.marks.log_end)
    await logs.close()
