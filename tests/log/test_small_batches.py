"""One record per request, a hundred thousand times: on a real disk and a real directory as store."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest
from tests.log.log_world import HOME, OTHER, batch, value

from holdfast.io.disk import RealDirectory
from holdfast.io.objects.local.objects import LocalObjects
from holdfast.log.logs import Logs
from holdfast.log.partition.partition import PartitionLog
from holdfast.log.settings import PartitionSettings
from holdfast.record.batch import split
from holdfast.record.records import read_records

COUNT = 100_000
TOGETHER = 1000  # Requests under way at the same time.
BATCH = 100  # Records in one batch, where they are batched.
SLOWER_MAX = 5
TRIES = 2


async def consume(partition: PartitionLog) -> float:
    """Read every record from the beginning, as the library's defaults have it; the seconds it took."""
    start = time.perf_counter()
    at = seen = 0
    while True:
        read = await partition.read(at)
        for buffer in read.buffers:
            for _, data in split(buffer):
                for record in read_records(data):
                    assert record.offset == seen
                    assert record.value == value(seen, 20)
                    seen += 1
        at = read.next_offset
        if read.end_reached:
            break
    assert seen == COUNT
    return time.perf_counter() - start


@pytest.mark.slow
def test_one_record_per_batch_lands_in_few_segments_and_reads_back_fast(tmp_path: Path) -> None:
    """A7: at most 4 segments, and read back within 5 times the time that batched records take. The test of A7."""

    async def play() -> None:
        logs = await Logs.open(RealDirectory(tmp_path / "wal"), LocalObjects(tmp_path / "store"))
        stays = PartitionSettings(retention_ms=-1)  # Its records are of 1970, and a busy machine takes its time.
        single, batched = await logs.partition(HOME, stays), await logs.partition(OTHER, stays)
        for start in range(0, COUNT, TOGETHER):
            values = [value(number, 20) for number in range(start, start + TOGETHER)]
            await asyncio.gather(*(single.append(batch(each)) for each in values))
            await batched.append(b"".join(batch(*values[at : at + BATCH]) for at in range(0, TOGETHER, BATCH)))
        await logs.flush_all()
        assert single.marks.flushed == batched.marks.flushed == COUNT
        assert len(single.manifest.segments) <= 4
        fast = min([await consume(batched) for _ in range(TRIES)])
        slow = min([await consume(single) for _ in range(TRIES)])
        assert slow <= SLOWER_MAX * fast, f"{slow:.2f} s one by one, {fast:.2f} s batched"
        await logs.close()

    asyncio.run(play())
