"""What waits is bounded by bytes, not by pieces, and what takes long is not done on the event loop."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.log.log_world import in_loop
from tests.subscribe.place import OLD_MS, Place, place_with
from tests.subscribe.test_ends import ears

from holdfast.io.calls import ThreadCalls
from holdfast.record.build import build
from holdfast.record.codec import Codec
from holdfast.record.records import Record
from holdfast.subscribe import subscribe
from holdfast.subscribe.merge.merge import Merge
from holdfast.subscribe.merge.sizes import held_size
from holdfast.subscribe.server.partition_reader import READ_SIZE_FIRST

PARTITIONS = 8
MIB = 1 << 20


def held(merge: Merge) -> int:
    """The bytes that wait for the merge, counted anew."""
    return sum(held_size(piece) for lane in merge.lanes for piece in lane.pieces)


async def filled(place: Place, values: list[bytes], per_batch: int, codec: Codec) -> None:
    """Each partition gets all values."""
    batches = []
    for first in range(0, len(values), per_batch):
        records = [Record(b"/k", value, OLD_MS + first) for value in values[first : first + per_batch]]
        batches.append(build(records, codec=codec))
    for log in await place.topic("t", PARTITIONS):
        await asyncio.gather(*(log.append(bytearray(batch)) for batch in batches))  # They are stamped in place.
        await log.flush()


async def held_behind_a_slow_reader(place: Place, read_ahead_size: int, **options: Any) -> tuple[int, int]:
    """The most bytes that wait on the server and in the client while the application does not come back."""
    subscription = subscribe(
        place.address, "t", since=0, until="now", objects=place.objects, read_ahead_size=read_ahead_size, **options
    )
    server = client = 0
    async with subscription:
        batches = subscription.batches()
        await anext(batches)
        assert subscription._session is not None
        for _ in range(400):
            server = max([server, *(held(each._merge) for each in ears(place))])  # type: ignore[attr-defined]
            client = max(client, held(subscription._session.merge))
            await asyncio.sleep(0.001)
        await batches.aclose()
    return server, client


@in_loop
async def test_a_slow_reader_of_a_stream(tmp_path: Path) -> None:
    """S2: 60 MB in 3 MB of compressed bytes wait for an application that is slow: a few of them are in memory."""
    async with place_with(tmp_path, read_ahead_size=4 * MIB) as place:
        block = random.Random(1).randbytes(4096)
        await filled(place, [block * 20] * 100, 1, Codec.GZIP)
        server, client = await held_behind_a_slow_reader(place, 4 * MIB, segment_refs=False)
        first_ones = PARTITIONS * 20 * READ_SIZE_FIRST  # How much becomes of bytes is known only after the first read.
        assert 0 < server <= 4 * MIB + first_ones
        assert 0 < client <= 5 * MIB + 64 * 1024


@in_loop
async def test_a_slow_reader_of_segments(tmp_path: Path) -> None:
    """S5: many partitions are read from the store a little at a time each."""
    async with place_with(tmp_path) as place:
        chance = random.Random(2)
        await filled(place, [chance.randbytes(8000) for _ in range(256)], 4, Codec.NONE)
        _, client = await held_behind_a_slow_reader(place, MIB)
        assert 0 < client <= MIB + PARTITIONS * 3 * 64 * 1024


class Noted(ThreadCalls):
    """Knows what was done in threads."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    async def run(self, call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        self.names.append(getattr(call, "__name__", str(call)))
        return await super().run(call, *args, **kwargs)


@in_loop
@pytest.mark.parametrize("recent", [False, True])
async def test_large_work_is_done_in_threads(tmp_path: Path, recent: bool) -> None:
    """S2, S4: a few bytes that hold a few megabytes, and a few large rows, do not stop the event loop."""
    async with place_with(tmp_path) as place:
        noted, client = Noted(), Noted()
        object.__setattr__(place.site, "calls", noted)
        (log,) = await place.topic("t")
        time = place.site.clock.now_ms() if recent else OLD_MS
        await log.append(build([Record(b"/k", bytes(3 * MIB), time)], codec=Codec.GZIP))
        subscription = subscribe(place.address, "t", since=0, until="now", segment_refs=False, calls=client)
        (event,) = [event async for event in subscription]
        assert event.value == bytes(3 * MIB)
        assert [name for name in noted.names if name != "_warm"] == ["decode_piece", "gather", "list"]
        assert client.names == ["gather"]
        client.close()
        noted.close()
