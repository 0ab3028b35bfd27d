"""Bytes that change after they were acknowledged, in memory or in the write-ahead log: the copy that is right wins."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from tests.log.log_world import HOME, OTHER, batch, fill, in_loop, numbered, read_all, records, turns
from tests.operate.quarantine_world import QuarantineWorld
from tests.operate.test_set_aside import saved_records

from holdfast.errors import Unavailable
from holdfast.io.envelope import unseal
from holdfast.io.objects.faulty import FailBefore
from holdfast.log.errors import Quarantined, WrongEverywhere
from holdfast.log.partition.partition import PartitionLog
from holdfast.log.recovery.quarantine import LOST_FORMAT, LOST_KIND, LOST_SUFFIX
from holdfast.record.layout import ATTRIBUTES_AT, HEADER_SIZE
from holdfast.wal.errors import DamagedLog


def change_memory(partition: PartitionLog, number: int, at: int, bits: int = 1) -> None:
    """A bit of a batch that is held in memory flips."""
    held = list(partition.tail)[number]
    assert held.data is not None
    wrong = bytearray(held.data)
    wrong[at] ^= bits
    held.data = memoryview(wrong)


def lost_pieces(house: QuarantineWorld) -> list[tuple[dict[str, Any], bytes]]:
    """What was kept of batches of which no copy is sound."""
    [name] = [name for name in house.saved() if name.endswith(LOST_SUFFIX)]
    line, _, data = bytes(house.quarantine.content(name)).partition(b"\n")
    pieces, at = [], 0
    for each in unseal(name, LOST_KIND, LOST_FORMAT, line)["pieces"]:
        pieces.append((each, data[at : at + each["size"]]))
        at += each["size"]
    assert at == len(data)
    return pieces


def frame_byte(house: QuarantineWorld, value: bytes) -> tuple[str, int]:
    """Where a record's value lies in the write-ahead log."""
    for name in house.disk.names():
        at = house.disk.content(name).find(value) if name.endswith(".wal") else -1
        if at >= 0:
            return name, at
    raise AssertionError(f"{value!r} is in no chunk")


@pytest.mark.parametrize("at", [0, 7, 8, 11, 12, 16, 17, ATTRIBUTES_AT, HEADER_SIZE, -1])
@in_loop
async def test_a_batch_that_changed_in_memory_is_stored_as_it_was_acknowledged(
    at: int, caplog: pytest.LogCaptureFixture
) -> None:
    """D9: whichever byte it is, of its place, its header or its records. The test of D9."""
    house = QuarantineWorld()
    logs = await house.open()
    partition = await logs.partition(HOME)
    await fill(partition, 5, 50)
    change_memory(partition, 2, at)
    await partition.flush()
    said = [each for each in caplog.records if each.levelno >= logging.WARNING]
    assert [(each.levelno, "offset 2" in each.getMessage()) for each in said] == [(logging.ERROR, True)]
    assert partition.ground.damage.mended == 1
    assert await read_all(partition) == numbered(0, 5, 50)
    await logs.close()
    assert await read_all(await (await house.reopen()).partition(HOME)) == numbered(0, 5, 50)


@in_loop
async def test_readers_get_the_right_bytes_once_it_was_noticed() -> None:
    """D9, A3: also when the store fails meanwhile, and the batch stays in the tail."""
    house = QuarantineWorld()
    partition = await (await house.open()).partition(HOME)
    await fill(partition, 3, 50)
    change_memory(partition, 1, -1)
    house.faults = lambda call: FailBefore() if call.kind == "put_if_absent" else None
    with pytest.raises(Unavailable):
        await partition.flush()
    assert len(partition.tail) == 3
    assert await read_all(partition) == numbered(0, 3, 50)
    house.faults = lambda call: None
    await partition.flush()
    assert await read_all(partition) == numbered(0, 3, 50)


async def damaged_frame(*, spilled: bool) -> tuple[QuarantineWorld, PartitionLog, PartitionLog]:
    """Two partitions, one of which has a batch whose frame is damaged for good."""
    house = QuarantineWorld(wal_size_max=1 << 16, tail_size_max=64 if spilled else 1 << 20)
    logs = await house.open()
    broken, sound = await logs.partition(HOME), await logs.partition(OTHER)
    await fill(broken, 5, 100)
    await fill(sound, 3)
    house.disk.damage(*frame_byte(house, b"2......."))
    return house, broken, sound


@in_loop
async def test_a_damaged_frame_is_no_matter_while_memory_has_the_batch() -> None:
    """D9: the copy that is right wins, whichever it is."""
    house, broken, _ = await damaged_frame(spilled=False)
    await broken.flush()
    assert await read_all(broken) == numbered(0, 5, 100)
    assert broken.ground.damage.mended == 0
    assert house.manifest().flushed == 5


@in_loop
async def test_both_copies_wrong_is_an_error_of_the_flush() -> None:
    """D9: and nothing of it is stored."""
    house, broken, _ = await damaged_frame(spilled=False)
    change_memory(broken, 2, -1)
    with pytest.raises(WrongEverywhere, match=r"\[2, 3\)"):
        await broken.flush()
    assert house.manifest().flushed == 0


@in_loop
async def test_a_partition_with_a_batch_that_is_wrong_everywhere_is_set_aside() -> None:
    """D9, D5: the background does it by itself, and saves what is sound."""
    house = QuarantineWorld()
    logs = await house.open(background=True, flush_age_ms_max=1000)
    broken = await logs.partition(HOME)
    await fill(broken, 5, 100)
    house.disk.damage(*frame_byte(house, b"2......."))
    change_memory(broken, 2, -1)
    changed = bytes(list(broken.tail)[2].data or b"")
    house.clock.advance(2)
    await turns(200)
    assert isinstance(broken.failure, WrongEverywhere)
    assert saved_records(house) == [each for each in numbered(0, 5, 100) if each[0] != 2]
    assert [head["from"].partition(" ")[0] for head, _ in lost_pieces(house)][1:] == ["memory"]
    assert lost_pieces(house)[1][1] == changed
    assert house.manifest().flushed == 0
    await logs.close()


@in_loop
async def test_what_lies_in_front_of_a_damaged_frame_is_served() -> None:
    """D8: of a spilled tail."""
    _, broken, _ = await damaged_frame(spilled=True)
    found = await broken.read(0, None)
    assert (records(found.buffers), found.next_offset) == (numbered(0, 2, 100), 2)
    with pytest.raises(DamagedLog, match="is damaged at byte"):
        await broken.read(2)
    assert await read_all(broken, 3) == numbered(3, 5, 100)


@in_loop
async def test_a_frame_that_is_misread_once_is_read_again() -> None:
    """D8: a spilled batch: no client hears of it, and the flush stores it."""
    house = QuarantineWorld(tail_size_max=64)
    partition = await (await house.open()).partition(HOME)
    await fill(partition, 5, 100)
    place = frame_byte(house, b"2.......")
    house.disk.misread_next(*place)
    assert await read_all(partition) == numbered(0, 5, 100)
    house.disk.misread_next(*place)
    await partition.flush()
    assert house.manifest().flushed == 5


@in_loop
async def test_a_damaged_frame_sets_its_partition_aside_and_stops_no_other(caplog: pytest.LogCaptureFixture) -> None:
    """D5, O2: file and byte at error level, what is readable saved, the write-ahead log not pinned, others served.
    The test of D5."""
    house = QuarantineWorld(wal_size_max=1 << 16, tail_size_max=64)
    logs = await house.open(background=True, flush_age_ms_max=1000)
    broken, sound = await logs.partition(HOME), await logs.partition(OTHER)
    await fill(broken, 5, 100)
    name, at = frame_byte(house, b"3.......")
    house.disk.damage(name, at)
    house.clock.advance(2)
    await turns(200)
    assert not broken.is_alive
    assert isinstance(broken.failure, DamagedLog)
    assert broken.failure.file == name
    flushed = house.manifest().flushed  # There is little room for tails: some were flushed at once.
    assert saved_records(house) == [each for each in numbered(flushed, 5, 100) if each[0] != 3]
    said = [each.getMessage() for each in caplog.records if each.levelno >= logging.ERROR]
    assert any(name in line and "is damaged at byte" in line for line in said)
    [line] = [line for line in said if "[3, 4)" in line]
    assert "all but [3, 4), of which no copy is sound" in line, "What is saved and what is not is said once."
    assert all(name in line for name in house.saved())
    raw = house.disk.content(name)
    [(head, found)] = lost_pieces(house)
    assert head["spans"] == [[3, 4]]
    assert head["from"].startswith(f"{name} from byte ")
    start = int(head["from"].rpartition(" ")[2])
    assert start <= at < start + head["size"]
    assert found == raw[start : start + head["size"]], "The bytes are kept as they are on disk."
    with pytest.raises(DamagedLog):
        await broken.append(batch(b"x"))
    for number in range(0, 1000, 10):  # Several times what the log may hold.
        await fill(sound, 10, 500, start=number)
        house.clock.advance(2)
        await turns(10)
    assert logs.has_room
    assert (await read_all(sound))[-1][0] == 999
    await logs.close()
    logs = await house.reopen()
    with pytest.raises(Quarantined):
        await logs.partition(HOME)
    assert len(await read_all(await logs.partition(OTHER))) == 1000
    await logs.close()
