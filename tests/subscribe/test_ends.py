"""The end of either side at any moment: everything stops within a second, nothing is left, nothing hangs."""

from __future__ import annotations

import asyncio
import random
import subprocess
from contextlib import AsyncExitStack, suppress
from pathlib import Path

import pytest
from tests.log.log_world import in_loop
from tests.subscribe.place import OLD_MS, Place, place_with, write
from tests.subscribe.stores import Gated
from tests.support.broker_process import COMMAND

from holdfast.errors import HoldfastError
from holdfast.log.background.rest import BACKGROUND
from holdfast.subscribe import subscribe
from holdfast.subscribe.client.connection import messages
from holdfast.subscribe.client.subscription import READS_MAX
from holdfast.subscribe.server.service import serving
from holdfast.subscribe.server.stream import ServerStream
from holdfast.subscribe.wire.request import Source, Start, SubscribeRequest

END_S = 1.0


async def filled(place: Place, batches: int = 30) -> None:
    for name in ("a", "b"):
        (log,) = await place.topic(name)
        for number in range(batches):
            await write(log, [OLD_MS + 20 * number + each for each in range(20)], key="/k" + "x" * 200)
            if number % 4 == 0:
                await log.flush()


async def follow(place: Place, **options: object) -> int:
    count = 0
    async with subscribe(place.address, "?", since=0, objects=place.objects, **options) as subscription:  # type: ignore[arg-type]
        async for batch in subscription.batches():
            count += len(batch)
    return count


def ours(before: set[asyncio.Task[object]]) -> list[asyncio.Task[object]]:
    """The tasks that were not there before, without the log's and those in which gRPC waits for the next call."""
    new = {task for task in asyncio.all_tasks() - before if task.get_name() != BACKGROUND}
    return [task for task in new if not getattr(task.get_coro(), "__qualname__", "").startswith("AioServer")]


def ears(place: Place) -> list[object]:
    """The streams that are told of topics."""
    told = (getattr(each, "__self__", None) for each in place.site.catalogue.on_change)
    return [each for each in told if isinstance(each, ServerStream)]


async def nothing_is_left(place: Place, before: set[asyncio.Task[object]]) -> None:
    """The server notices, too, and then has no task, and no ear at the topics."""
    loop = asyncio.get_running_loop()
    started = loop.time()
    while ears(place) or ours(before):
        assert loop.time() < started + END_S, f"left after {END_S} s: {ours(before)}"
        await asyncio.sleep(0.005)


@in_loop
@pytest.mark.parametrize("refs", [False, True])
async def test_cancel_at_any_moment(tmp_path: Path, refs: bool) -> None:
    """S2, S7: a client that is cancelled at a random moment ends at once, on both sides."""
    chance = random.Random(3)
    async with place_with(tmp_path) as place:
        await filled(place)
        await follow(place, until="now", segment_refs=refs)  # Everything is loaded.
        before = asyncio.all_tasks()
        for _ in range(12):
            task = asyncio.ensure_future(follow(place, segment_refs=refs))
            await asyncio.sleep(chance.random() * 0.06)
            task.cancel()
            with suppress(asyncio.CancelledError):
                await asyncio.wait_for(asyncio.gather(task, return_exceptions=True), END_S)
            assert task.cancelled()
            await nothing_is_left(place, before)


@in_loop
async def test_a_client_that_is_killed(tmp_path: Path) -> None:
    """S2: a process that is killed says nothing: its stream ends within a second all the same."""
    async with place_with(tmp_path) as place:
        (log,) = await place.topic("a")
        await write(log, [OLD_MS])
        before = asyncio.all_tasks()
        words = ["subscribe", "a", "--address", place.address, "--since", "earliest", "--follow"]
        client = await asyncio.create_subprocess_exec(COMMAND, *words, stdout=subprocess.PIPE)
        assert client.stdout is not None
        async with asyncio.timeout(60):
            assert await client.stdout.readline()
        assert ears(place)
        client.kill()
        await client.wait()
        await nothing_is_left(place, before)


@in_loop
async def test_cancel_while_a_store_hangs(tmp_path: Path) -> None:
    """S7: cancelling does not wait for a read that is under way."""
    async with place_with(tmp_path) as place:
        await filled(place)
        store = Gated(place.objects)
        subscription = subscribe(place.address, "?", since=0, objects=store)
        task = asyncio.ensure_future(anext(subscription.batches()))
        await asyncio.get_running_loop().run_in_executor(None, store.waiting.wait, 60)
        task.cancel()
        loop = asyncio.get_running_loop()
        started = loop.time()
        await asyncio.gather(task, return_exceptions=True)
        assert task.cancelled()
        assert loop.time() - started < END_S
        begun = sum(store.reads.values())
        store.gate.set()
        await subscription.close()
        assert sum(store.reads.values()) <= begun + READS_MAX, "Nothing is read that was not under way."


@in_loop
async def test_the_server_stops_at_any_moment(tmp_path: Path) -> None:
    """S2: the port closes within a second whatever the streams do; the client finds the next server and goes on."""
    chance = random.Random(4)
    async with place_with(tmp_path) as place:
        await filled(place)
        whole = await follow(place, until="now")
        for refs in (False, True):
            found: list[int] = []
            stack = AsyncExitStack()
            port = await stack.enter_async_context(serving(place.site, "127.0.0.1:0"))
            subscription = subscribe(
                f"127.0.0.1:{port}", "?", since=0, until="now", segment_refs=refs, objects=place.objects
            )

            async def run(subscription=subscription, found=found) -> None:  # type: ignore[no-untyped-def]
                async for batch in subscription.batches():
                    found.extend(batch.batch.column("offset").to_pylist())
                    await asyncio.sleep(0.001)

            task = asyncio.ensure_future(run())
            await asyncio.sleep(chance.random() * 0.03)
            loop = asyncio.get_running_loop()
            started = loop.time()
            await stack.aclose()
            assert loop.time() - started < END_S
            async with serving(place.site, f"127.0.0.1:{port}"):
                await asyncio.wait_for(task, 60)
            assert len(found) == whole, "Each record once, over two servers."


@in_loop
async def test_a_client_that_stops_reading_holds_back_only_itself(tmp_path: Path) -> None:
    """S2: a stuck client costs bounded memory and holds nobody back; when it goes its stream ends. The test of S2."""
    async with place_with(tmp_path, memory_size_max=4 << 20) as place:
        (log,) = await place.topic("a")
        for number in range(200):
            await write(log, [OLD_MS + 10 * number + each for each in range(10)], key="/" + "k" * 10_000)
        before = asyncio.all_tasks()
        asked = SubscribeRequest(sources=(Source("a"),), start=Start(0), batches=True)
        stuck = messages(place.address, asked)
        await anext(stuck)  # Then it reads no more, with 20 MB on their way to it.
        assert await follow(place, until="now", segment_refs=False) == 2000
        assert 0 < place.site.memory.size < 8 << 20
        await write(log, [OLD_MS + 5000])
        await stuck.aclose()
        await nothing_is_left(place, before)


@in_loop
async def test_close_from_another_task_ends_the_iteration(tmp_path: Path) -> None:
    """S2: whoever iterates comes to the end when somebody else closes; also while it waits for its next try."""
    async with place_with(tmp_path) as place:
        await filled(place, 2)
        live = subscribe(place.address, "?", since=0, objects=place.objects)
        task = asyncio.ensure_future(_count(live))
        while live.stats.events < 80:
            await asyncio.sleep(0.001)
        await live.close()
        assert await asyncio.wait_for(task, END_S) == 80
        nobody = subscribe("127.0.0.1:1", "?", since=0)
        task = asyncio.ensure_future(_count(nobody))
        while nobody.stats.errors < 2:
            await asyncio.sleep(0.01)
        await nobody.close()
        assert await asyncio.wait_for(task, END_S) == 0
        with pytest.raises(HoldfastError):
            await _count(nobody)


async def _count(subscription) -> int:  # type: ignore[no-untyped-def]
    return len([event async for event in subscription])
