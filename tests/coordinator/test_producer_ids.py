"""Producer ids never repeat."""

from __future__ import annotations

import asyncio

import pytest

from holdfast.coordinator.transaction.producer_ids import ProducerIds
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


async def turns() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


def test_a_spare_block_is_taken_before_it_is_needed() -> None:
    """K4, A3: at the start and at half of what is left, so that nobody waits; no id comes twice, none is skipped."""

    async def run() -> None:
        blocks = CountedBlocks()
        ids = ProducerIds(blocks, 10, given_end=0)
        keeping = asyncio.ensure_future(ids.keep_spare(asyncio.sleep))
        await turns()
        assert (blocks.taken, ids.left, ids.given_end) == (1, 10, 0)
        found = [await ids.next() for _ in range(4)]
        await turns()
        assert blocks.taken == 1
        found += [await ids.next() for _ in range(2)]
        await turns()
        assert (blocks.taken, ids.left, ids.given_end) == (2, 14, 6)
        blocks.gate.clear()
        found += [await ids.next() for _ in range(14)]
        waits = asyncio.ensure_future(ids.next())
        await turns()
        assert not waits.done()
        blocks.gate.set()
        found += [await waits, *await asyncio.gather(*(ids.next() for _ in range(30)))]
        assert sorted(found) == list(range(51))
        keeping.cancel()

    asyncio.run(run())


def test_a_spare_block_that_could_not_be_taken_is_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    """K4, A3: at a pace that grows, said once, and what is left goes on being handed out."""

    async def run() -> None:
        blocks = CountedBlocks()
        ids = ProducerIds(blocks, 10)
        paused: list[float] = []

        async def pause(seconds: float) -> None:
            paused.append(seconds)
            await asyncio.sleep(0)

        assert await ids.next() == 0
        blocks.failing = True
        keeping = asyncio.ensure_future(ids.keep_spare(pause))
        await turns()
        assert await ids.next() == 1
        for _ in range(5):
            await turns()
        assert paused[:6] == [1, 2, 4, 8, 16, 30]
        blocks.failing = False
        await turns()
        assert ids.left == 18
        keeping.cancel()

    asyncio.run(run())
    said = [each for each in caplog.records if "no block of producer ids" in each.getMessage()]
    assert [each.levelname for each in said if each.levelname != "DEBUG"] == ["WARNING"]
