"""K12: what was stored before anybody looked into batches does not stop anything."""

from __future__ import annotations

from tests.log.log_world import HOME, NOW, LogWorld, in_loop
from tests.log.test_topic_promises import COMPACT, keyed
from tests.record.test_malformed import malformed

from holdfast.log.settings import PartitionSettings
from holdfast.record.batch import read_header, split, stamp_max_timestamp

BAD = malformed("00 00 00 00 01 01 00")


@in_loop
async def test_compaction_keeps_a_batch_that_nobody_can_read() -> None:
    """K12: as it is, and compacts all others."""
    partition = await (await LogWorld().open()).partition(HOME, PartitionSettings(cleanup=COMPACT))
    await partition.append(keyed(b"a", b"b"))
    await partition.append(bytearray(BAD))
    await partition.append(keyed(b"a"))
    await partition.flush()
    assert await partition.compact()
    found = [each for buffer in (await partition.read(0, None)).buffers for each in split(buffer)]
    assert [(header.base_offset, header.record_count) for header, _ in found] == [(0, 1), (2, 1), (3, 1)]
    assert bytes(found[1][1])[21:] == bytes(BAD)[21:]
    assert partition.ground.unreadable.by["compaction"] == 1


@in_loop
async def test_a_time_is_found_beside_a_batch_that_nobody_can_read() -> None:
    """K12: it counts with what its header says, in a segment and in the tail."""
    partition = await (await LogWorld().open()).partition(HOME)
    await partition.append(keyed(b"a", timestamp=NOW))
    bad = memoryview(bytearray(BAD))
    stamp_max_timestamp(bad, NOW + 5)
    await partition.append(bad)
    await partition.append(keyed(b"a", timestamp=NOW + 9))
    for _ in range(2):
        assert await partition.find_timestamp(NOW + 1) == (1, NOW + 5)
        assert await partition.find_timestamp(NOW + 6) == (2, NOW + 9)
        assert await partition.find_max_timestamp() == (2, NOW + 9)
        await partition.flush()
    assert read_header(bad).max_timestamp == NOW + 5
