"""Producer ids never repeat."""

from __future__ import annotations

import asyncio

import pytest

from holdfast.coordinator.producer_ids import ProducerIds
from holdfast.errors import Unavailable


class CountedBlocks:
    """Blocks from a counter that survives, as long as the test holds on to it."""

    def __init__(self) -> None:
        self.next = 0
        self.taken = 0
        self.failing = False
        self.gate = asyncio.Event()
        self.gate.set()

    async def take(self, count: int) -> int:
        self.next += count  # Taken from here on, also if nobody hears of it.
        start = self.next - count
        await self.gate.wait()
        if self.failing:
            raise Unavailable("no answer")
        self.taken += 1
        return start


def test_ids_are_handed_out_one_by_one() -> None:
    """K4: across blocks, and also to many who ask at once; a block is taken when it is needed, and once."""

    async def run() -> None:
        blocks = CountedBlocks()
        ids = ProducerIds(blocks, 10)
        found = await asyncio.gather(*(ids.next() for _ in range(25)))
        assert sorted(found) == list(range(25))
        assert blocks.taken == 3

    asyncio.run(run())


def test_no_id_is_handed_out_before_its_block_is_durable() -> None:
    """K4: whoever asks waits."""

    async def run() -> None:
        blocks = CountedBlocks()
        blocks.gate.clear()
        ids = ProducerIds(blocks)
        asked = [asyncio.ensure_future(ids.next()) for _ in range(3)]
        for _ in range(10):
            await asyncio.sleep(0)
        assert not any(each.done() for each in asked)
        blocks.gate.set()
        assert await asyncio.gather(*asked) == [0, 1, 2]

    asyncio.run(run())


def test_after_a_restart_the_rest_of_the_block_is_never_used() -> None:
    """K4: it may have been handed out."""

    async def run() -> None:
        blocks = CountedBlocks()
        before = [await ProducerIds(blocks).next() for _ in range(3)]
        assert before == [0, 1_000, 2_000]

    asyncio.run(run())


def test_a_block_that_could_not_be_taken() -> None:
    """K4: whoever asked is told; the next one gets an id of another block. A cancelled one disturbs nobody."""

    async def run() -> None:
        blocks = CountedBlocks()
        ids = ProducerIds(blocks, 10)
        blocks.failing = True
        with pytest.raises(Unavailable):
            await ids.next()
        blocks.failing = False
        blocks.gate.clear()
        gone, stays = asyncio.ensure_future(ids.next()), asyncio.ensure_future(ids.next())
        for _ in range(10):
            await asyncio.sleep(0)
        gone.cancel()
        blocks.gate.set()
        assert await stays == 20

    asyncio.run(run())
