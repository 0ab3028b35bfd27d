"""The partition log on a real disk and a real S3 server behind a network that breaks: nothing lost, doubled, stuck."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.log.log_world import HOME, OTHER, batch, numbered, read_all, value
from tests.support.faulty_proxy import Fault, FaultyProxy, Plan
from tests.support.s3_server import S3Server

from holdfast.errors import Unavailable
from holdfast.io.chance import SeededChance
from holdfast.io.disk import RealDirectory
from holdfast.io.objects import Objects
from holdfast.io.objects.open import open_objects
from holdfast.log.logs import Logs
from holdfast.log.partition.partition import PartitionLog
from holdfast.log.settings import LogSettings
from holdfast.segment.manifest.load import load_manifest

pytestmark = pytest.mark.s3

SECONDS_MAX = 100  # Only who is stuck takes so long, also on a machine that is busy.
COUNT = 80  # Batches in each partition.
SIZE = 1000
# A server that shares two cores with many others takes long for what it does in milliseconds: with much less time than
# this its sound answers are lost, too.
LIMITS = {"connect_timeout_ms": 500, "request_timeout_ms": 500, "retries": 1, "retry_timeout_ms": 1000}
SETTINGS = LogSettings(
    segment_size_max=8_000, flush_age_ms_max=100, flush_retry_ms=10, flush_retry_ms_max=100, close_timeout_ms=10_000
)


@pytest.fixture
def direct(s3_store: tuple[str, dict[str, str]]) -> Objects:
    """The store as it is, without the proxy."""
    return open_objects(*s3_store)


@pytest.fixture
def proxy(s3_server: S3Server) -> Iterator[FaultyProxy]:
    with FaultyProxy(s3_server.port) as proxy:
        yield proxy


@pytest.fixture
def disturbed(s3_store: tuple[str, dict[str, str]], proxy: FaultyProxy) -> Objects:
    """The same store through the proxy."""
    url, options = s3_store
    return open_objects(url, options | LIMITS | {"endpoint": proxy.endpoint})


async def produce(partition: PartitionLog, acked: list[int]) -> None:
    for number in range(COUNT):
        acked.append((await partition.append(batch(value(number, SIZE)))).base_offset)
        if number % 20 == 19:  # Some flushes happen in between, besides those in the background.
            with contextlib.suppress(Unavailable):
                await partition.flush()


async def consume(partition: PartitionLog) -> int:
    """Read from the beginning to the end while records come; how often the store did not give them."""
    at = failures = 0
    while at < COUNT:
        try:
            read = await partition.read(at)
        except Unavailable:
            failures += 1
            continue
        assert read.next_offset > at or read.end_reached, "An empty answer is not the end."
        at = read.next_offset
        if read.end_reached:
            await partition.wait(at, timeout=1)
    return failures


async def play(folder: Path, store: Objects, proxy: FaultyProxy, plan: Plan) -> None:
    """Write, read and flush while the network breaks; then look at everything, and again after a reopen."""
    logs = await Logs.open(RealDirectory(folder), store, SETTINGS)
    partitions = [await logs.partition(home) for home in (HOME, OTHER)]
    acked: list[list[int]] = [[], []]
    proxy.plan = plan
    await asyncio.gather(
        *(produce(partition, offsets) for partition, offsets in zip(partitions, acked, strict=True)),
        *(consume(partition) for partition in partitions),
    )
    assert acked == [list(range(COUNT))] * 2
    await logs.flush_all()
    proxy.plan = lambda *_: None
    assert [partition.marks.flushed for partition in partitions] == [COUNT] * 2
    await logs.close()
    logs = await Logs.open(RealDirectory(folder), store, SETTINGS)
    for home in (HOME, OTHER):
        assert await read_all(await logs.partition(home)) == numbered(0, COUNT, SIZE)
    await logs.close()


def check_stored(store: Objects) -> None:
    """What is in the store is each record once: the listed segments tile the log."""
    for home in (HOME, OTHER):
        manifest = load_manifest(store, home)
        assert (manifest.log_start, manifest.flushed) == (0, COUNT)
        assert sum(each.record_count for each in manifest.segments) == COUNT
        for each in manifest.segments:
            assert store.size(each.name) == each.size


@pytest.mark.parametrize("seed", range(2))
def test_a_network_that_breaks_at_random(
    tmp_path: Path, direct: Objects, disturbed: Objects, proxy: FaultyProxy, seed: int
) -> None:
    """A3, L3: every third request is lost, cut, refused, or done and not told of, in any order."""
    chance = SeededChance(seed)
    faults = [each for each in Fault if each is not Fault.HOLD_ANSWER] * 3 + [Fault.HOLD_ANSWER]

    def plan(method: str, path: str) -> Fault | None:
        return faults[chance.bits(16) % len(faults)] if chance.fraction() < 0.3 else None

    asyncio.run(asyncio.wait_for(play(tmp_path / "wal", disturbed, proxy, plan), SECONDS_MAX))
    assert proxy.disturbed >= 10
    check_stored(direct)


@pytest.mark.parametrize("fault", list(Fault), ids=lambda fault: fault.name.lower())
def test_puts_that_end_badly_many_times_in_a_row(
    tmp_path: Path, direct: Objects, disturbed: Objects, proxy: FaultyProxy, fault: Fault
) -> None:
    """A3: time-out after success, 503 before and after it, reset, cut: a dozen puts in a row, then all is well."""
    left = [fault] * 12

    def plan(method: str, path: str) -> Fault | None:
        return left.pop() if left and method == "PUT" else None

    asyncio.run(asyncio.wait_for(play(tmp_path / "wal", disturbed, proxy, plan), SECONDS_MAX))
    assert proxy.disturbed == 12
    check_stored(direct)
