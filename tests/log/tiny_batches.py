"""A write-ahead log full of batches of one tiny record, and what it costs in memory: each step a process of its own.

`python -m tests.log.tiny_batches list FOLDER COUNT` writes them as a broker does, and lists them as spilled.
`python -m tests.log.tiny_batches recover FOLDER COUNT` opens the logs on them.
Both print what they have measured.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
import time
from pathlib import Path
from uuid import UUID

from tests.log.log_world import batch

from holdfast.io.disk import RealDirectory
from holdfast.io.objects.memory import MemoryBucket, MemoryObjects
from holdfast.log import entry
from holdfast.log.logs import Logs
from holdfast.log.partition.tail import MemoryUse, Tail
from holdfast.log.partition.tail_batch import TailBatch
from holdfast.log.settings import LogSettings
from holdfast.record.batch import read_header, split, stamp
from holdfast.types import PartitionId
from holdfast.wal import LogId, Wal, WalSettings

HOMES = [PartitionId(UUID(int=0xA), number) for number in range(3)]
MEMORY_MAX = 8 << 20
UNCACHED = WalSettings(cache_size_max=0, cache_entries_max=0, cache_open_chunk=False)


def rss(line: str = "VmRSS") -> int:
    """Bytes in memory, or (VmHWM) the most that ever were."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(next(each.split()[1] for each in status.splitlines() if each.startswith(line))) * 1024


def list_them(folder: Path, count: int) -> dict[str, float]:
    """Append, and let everything leave memory as soon as it may."""
    wal = Wal.open(RealDirectory(folder), UNCACHED)
    use = MemoryUse()
    tails = [Tail(use) for _ in HOMES]
    prefixes = [entry.encode_prefix(entry.BATCHES, home) for home in HOMES]
    template = batch(b"ten bytes!")
    header = read_header(memoryview(template))._replace(leader_epoch=1)
    before = rss()
    for index in range(count):
        number, base = index % len(HOMES), index // len(HOMES)
        data = bytearray(template)
        stamp(memoryview(data), base, 1)
        wal.append(LogId(1, index), [(prefixes[number], data)])
        tails[number].add(TailBatch(header._replace(base_offset=base), memoryview(data), index, 0, index // 50))
        if use.size - use.listed_size > MEMORY_MAX:
            wal.sync()
            for tail in tails:
                tail.spill(tail.memory_size, tail.end or 0)
    wal.sync()
    for tail in tails:
        tail.spill(tail.memory_size, tail.end or 0)
    found = {"size": len(template), "rss": rss() - before, "counted": use.size + wal.index_size()}
    wal.close()
    return found


async def recover(folder: Path, count: int) -> dict[str, float]:
    before, began = rss(), time.perf_counter()
    settings = LogSettings(tail_size_max=2 * MEMORY_MAX, wal_size_max=1 << 40, segment_size_max=1 << 40)
    logs = await Logs.open(RealDirectory(folder), MemoryObjects(MemoryBucket()), settings, background=False)
    partitions = [await logs.partition(home) for home in HOMES]
    recovered_s, peak = time.perf_counter() - began, rss("VmHWM") - before
    found = {"peak": peak, "counted": logs.stat().tail_memory_size, "recovered_s": recovered_s}
    chance = random.Random(1)
    for partition in partitions:
        assert partition.marks.log_end == count // len(HOMES)
        for _ in range(20):
            offset = chance.randrange(partition.marks.log_end)
            read = await partition.read(offset, max_records=50)
            bases = [header.base_offset for buffer in read.buffers for header, _ in split(buffer)]
            assert bases == list(range(offset, min(offset + 50, partition.marks.log_end)))
    began, at, seen = time.perf_counter(), 0, 0
    while seen < min(100_000, count // len(HOMES)):
        read = await partitions[0].read(at, max_records=None, max_bytes=1 << 20)
        seen, at = seen + read.record_count, read.next_offset
    found["read_us"] = (time.perf_counter() - began) / seen * 1e6
    await logs.close(timeout_ms=0)
    return found


if __name__ == "__main__":
    what, folder, count = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    print(json.dumps(list_them(folder, count) if what == "list" else asyncio.run(recover(folder, count))))
