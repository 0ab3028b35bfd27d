"""The partition log on a real S3 server behind a slow line: what is large gets through in smaller pieces."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.log.log_world import HOME, OTHER, batch, in_loop, value
from tests.support.faulty_proxy import FaultyProxy
from tests.support.s3_server import S3Server

from holdfast.io.disk import RealDirectory
from holdfast.io.objects.open import open_objects
from holdfast.log.logs import Logs
from holdfast.log.settings import LogSettings

pytestmark = pytest.mark.s3

SIZE = 100_000
COUNT = 10  # Batches in each partition.
LIMITS = {"request_timeout_ms": 700, "put_bytes_per_s_min": 1_000_000, "retries": 0, "retry_timeout_ms": 500}
SETTINGS = LogSettings(
    segment_size_max=COUNT * SIZE * 2, flush_age_ms_max=1, flush_retry_ms=10, flush_retry_ms_max=100, flushes_max=2
)


@pytest.fixture
def proxy(s3_server: S3Server) -> Iterator[FaultyProxy]:
    with FaultyProxy(s3_server.port) as proxy:
        yield proxy


@in_loop
async def test_a_large_tail_gets_through_a_slow_line(
    tmp_path: Path, s3_store: tuple[str, dict[str, str]], proxy: FaultyProxy, caplog: pytest.LogCaptureFixture
) -> None:
    """D4: two tails of 1 MB at 0.8 MB/s, which time out as one segment each: smaller ones and fewer at a time are
    stored, it is said, and when the line is fast again, the pace is the one that was set."""
    caplog.set_level(logging.INFO)
    url, options = s3_store
    objects = open_objects(url, options | LIMITS | {"endpoint": proxy.endpoint})
    logs = await Logs.open(RealDirectory(tmp_path / "wal"), objects, SETTINGS)
    partitions = [await logs.partition(home) for home in (HOME, OTHER)]
    proxy.bytes_per_s = 800_000
    for each in partitions:
        await asyncio.gather(*[each.append(batch(value(number, SIZE))) for number in range(COUNT)])
    async with asyncio.timeout(30):
        while any(each.marks.flushed < COUNT for each in partitions):
            await asyncio.sleep(0.05)
    assert any("store slow" in each.message for each in caplog.records)
    assert logs.stat().segment_size_max < SETTINGS.segment_size_max
    proxy.bytes_per_s = 0
    async with asyncio.timeout(30):
        while logs.stat().segment_size_max < SETTINGS.segment_size_max:
            await partitions[0].append(batch(b"x"))
            await partitions[0].flush()
    assert any("store well" in each.message for each in caplog.records)
    await logs.close()
