"""A full disk, simulated: writes find no space at any place, and nothing that was acknowledged is lost."""

from __future__ import annotations

import errno

import pytest
from tests.log.log_world import HOME, batch, fill, in_loop, numbered, read_all, turns
from tests.operate.quarantine_world import QuarantineWorld

from holdfast.io.chance import SeededChance
from holdfast.io.disk.reserve import NAME, Reserve
from holdfast.io.disk.simulated import SimulatedDisk
from holdfast.log.errors import DiskFull, LogsStopped
from holdfast.wal import LogId, Wal, WalFailed, WalSettings

RESERVE = 16_384
SETTINGS = WalSettings(chunk_size_max=4096, zero_ahead_size=512)


def used(disk: SimulatedDisk) -> int:
    return sum(len(disk.content(name)) for name in disk.names())


@in_loop
async def test_producers_are_refused_below_the_reserve_and_go_on_above_it(caplog: pytest.LogCaptureFixture) -> None:
    """O3: with less free than the reserve producers are refused, reads go on, and freed space ends it; each change is
    said once."""
    caplog.set_level("INFO")
    house = QuarantineWorld(reserve_size=RESERVE)
    house.disk.capacity = 200_000
    logs = await house.open()
    partition = await logs.partition(HOME)
    await fill(partition, 5)
    logs.check_disk()
    house.disk.capacity = used(house.disk) + RESERVE - 1
    house.clock.advance(20)
    for _ in range(3):
        with pytest.raises(DiskFull, match="free some space"):
            logs.check_disk()
        await turns()
    assert await read_all(partition) == numbered(0, 5)
    await partition.append(batch(b"5."))  # What the broker itself writes, such as offsets, may use the reserve.
    house.disk.capacity = 400_000
    await turns()
    logs.check_disk()
    said = [each.message for each in caplog.records if "disk" in each.message]
    assert [each.split(":")[0] for each in said] == ["disk low", "disk ok"]
    await logs.close()


@in_loop
async def test_the_reserve_is_given_up_when_a_write_finds_no_space() -> None:
    """O3: a write of the log that finds the disk full goes on with the reserve's space, and is acknowledged."""
    house = QuarantineWorld(reserve_size=RESERVE)
    house.disk.capacity = 200_000
    logs = await house.open()
    partition = await logs.partition(HOME)
    await fill(partition, 3, 500)
    assert NAME in house.disk.names()
    house.disk.capacity = used(house.disk)
    await fill(partition, 5, 1000, start=3)
    assert NAME not in house.disk.names()
    assert logs.is_disk_low
    logs = await house.reopen(power_cut=True)
    expected = [*numbered(0, 3, 500), *numbered(3, 8, 1000)]
    assert await read_all(await logs.partition(HOME)) == expected


@in_loop
async def test_a_start_on_a_full_disk_uses_the_reserve() -> None:
    """O3: the way back begins with a start: it must be possible."""
    house = QuarantineWorld(reserve_size=RESERVE)
    house.disk.capacity = 200_000
    await fill(await (await house.open()).partition(HOME), 3)
    house.disk.capacity = used(house.disk)
    logs = await house.reopen()
    assert await read_all(await logs.partition(HOME)) == numbered(0, 3)
    await logs.delete_topic(HOME.topic_id)
    await turns()
    with pytest.raises(DiskFull):
        logs.check_disk()


@in_loop
async def test_without_a_reserve_a_full_disk_stops_the_logs() -> None:
    """O3: nothing is acknowledged that is not durable, and nothing acknowledged is lost."""
    house = QuarantineWorld()
    logs = await house.open()
    partition = await logs.partition(HOME)
    await fill(partition, 3)
    house.disk.capacity = used(house.disk)
    with pytest.raises(LogsStopped):
        await fill(partition, 20, 1000, start=3)
    house.disk.capacity = None
    logs = await house.reopen()
    assert (await read_all(await logs.partition(HOME)))[:3] == numbered(0, 3)


@pytest.mark.parametrize("room", range(0, 6000, 487))
@pytest.mark.parametrize("power_cut", [False, True])
def test_a_write_is_made_again_wherever_the_space_ended(room: int, power_cut: bool) -> None:
    """O3, W10: the disk is full after any number of bytes, in a round, in zeros written ahead, at a new chunk; with
    some space the same bytes go to the same place, and after a crash every entry is there."""
    disk = SimulatedDisk(SeededChance(room))
    asked = []

    def make_room() -> bool:
        asked.append(disk.free_size())
        assert disk.capacity is not None
        disk.capacity += 700
        return True

    wal = Wal.open(disk, SETTINGS, chance=SeededChance(1), threaded=False, on_full=make_room)
    wal.append(LogId(1, 0), [b"first"])
    wal.sync()
    disk.capacity = used(disk) + room
    for index in range(1, 40):
        wal.append(LogId(1, index), [b"%d" % index * 100])
        wal.sync()
    assert asked
    disk.power_cut() if power_cut else disk.kill()
    disk.capacity = None
    with Wal.open(disk, SETTINGS, chance=SeededChance(2), threaded=False) as wal:
        found = [bytes(each.payload) for each in wal.read(0, 1000)]
    assert found == [b"first", *(b"%d" % index * 100 for index in range(1, 40))]


def test_a_failed_fsync_is_not_made_again_for_want_of_space() -> None:
    """O3, W4: an fsync that says there is no space has failed like any other: the log stops."""
    disk = SimulatedDisk(SeededChance(1))
    asked: list[int] = []
    wal = Wal.open(disk, SETTINGS, threaded=False, on_full=lambda: bool(asked.append(1)) or True)
    disk.fail_next("sync", error=errno.ENOSPC)
    wal.append(LogId(1, 0), [b"x"])
    with pytest.raises(WalFailed):
        wal.sync()
    assert not asked


def test_a_reserve_is_whole_or_not_there() -> None:
    """O3: a disk without room for it, and a file of an earlier size."""
    disk = SimulatedDisk(SeededChance(1), capacity=1000)
    assert not Reserve(disk, 2000).hold()
    assert disk.names() == []
    small = Reserve(disk, 500)
    assert small.hold()
    assert small.hold()
    disk.capacity = 5000
    large = Reserve(disk, 2000)
    assert not large.is_held
    assert large.hold()
    assert len(disk.content(NAME)) == 2000
    assert Reserve(disk, 2000).is_held
    assert large.give_up()
    assert not large.give_up()
    assert disk.names() == []


@in_loop
async def test_a_start_puts_nothing_into_a_store_that_knows_its_cluster() -> None:
    """O3: the store may be on the full disk, too."""
    house = QuarantineWorld()
    logs = await house.open()
    await fill(await logs.partition(HOME), 3)
    await logs.close()
    asked = []
    house.faults = lambda call: asked.append((call.kind, call.name.partition("/")[0]))
    logs = await house.reopen()
    assert await read_all(await logs.partition(HOME)) == numbered(0, 3)
    assert asked
    put = {kind for kind, where in asked if where != "owner"}  # Its claim is taken later if that cannot be put.
    assert not {"put", "put_if_absent"} & put
    await logs.close()
