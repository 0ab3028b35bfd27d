"""One partition that cannot be opened: the others work, and its records are neither lost nor in the way."""

from __future__ import annotations

import errno
from uuid import UUID

import pytest
from tests.log.log_world import HOME, OTHER, batch, fill, in_loop, numbered, read_all, records, turns
from tests.log.test_takeover import beside
from tests.operate.quarantine_world import QuarantineWorld

from holdfast.errors import Fenced
from holdfast.log import entry
from holdfast.log.errors import Diverged, Quarantined, StoreBehind
from holdfast.log.logs import Logs
from holdfast.log.recovery.quarantine import LOST_SUFFIX, UNFINISHED, read_tail_file
from holdfast.record.batch import stamp
from holdfast.segment.errors import Damaged
from holdfast.types import Epoch, Offset, PartitionId


def damage(house: QuarantineWorld, name: str) -> None:
    """Flip a bit in the middle of an object."""
    data = bytearray(house.objects.get(name))
    data[len(data) // 2] ^= 1
    house.objects.put(name, [bytes(data)])


def saved_records(house: QuarantineWorld) -> list[tuple[int, bytes]]:
    """What the files in quarantine hold."""
    found: list[tuple[int, bytes]] = []
    for name in house.saved():
        if name.endswith((UNFINISHED, LOST_SUFFIX)):
            continue
        _, batches = read_tail_file(name, bytes(house.quarantine.content(name)))
        found += records([batches])
    return found


async def damaged_house() -> tuple[QuarantineWorld, Logs]:
    """Two partitions, one of which has a damaged manifest and a tail; opened again."""
    house = QuarantineWorld()
    logs = await house.open()
    broken, sound = await logs.partition(HOME), await logs.partition(OTHER)
    await fill(broken, 3)
    await broken.flush()
    await fill(broken, 4, start=3)
    await fill(sound, 2)
    damage(house, f"{HOME.manifests}{1:020}.json")
    return house, await house.reopen()


@in_loop
async def test_a_damaged_manifest_stops_one_partition_only() -> None:
    """O2: the tail goes to quarantine, whole; the other partition works; the write-ahead log is not pinned."""
    house, logs = await damaged_house()
    with pytest.raises(Quarantined, match=r"\[0, 7\).*holdfast repair") as caught:
        await logs.partition(HOME)
    assert isinstance(caught.value.__cause__, Damaged)
    assert saved_records(house) == numbered(0, 7)
    sound = await logs.partition(OTHER)
    await fill(sound, 40, 1000, start=2)
    await logs.flush_all()
    logs.purge()
    await turns()
    assert len([name for name in house.disk.names() if name.endswith(".wal")]) == 1
    assert (await read_all(sound))[:2] == numbered(0, 2)


@in_loop
async def test_what_is_set_aside_stays_so_until_it_is_repaired() -> None:
    """O2: the manifest is whole again, but the records in quarantine are not in the log: it does not open without
    them, and nothing is written twice."""
    house, logs = await damaged_house()
    with pytest.raises(Quarantined):
        await logs.partition(HOME)
    damage(house, f"{HOME.manifests}{1:020}.json")
    for _ in range(2):
        logs = await house.reopen(power_cut=True)
        with pytest.raises(Quarantined, match=r"\[0, 7\)"):
            await logs.partition(HOME)
        with pytest.raises(Quarantined):
            await logs.partition(HOME)
    assert len(house.saved()) == 1


@in_loop
async def test_a_deleted_topic_leaves_nothing_set_aside() -> None:
    """O2, K6: with its topic also what was in quarantine is settled."""
    house, logs = await damaged_house()
    with pytest.raises(Quarantined):
        await logs.partition(HOME)
    await logs.delete_topic(HOME.topic_id)
    await turns(50)
    await fill(await logs.partition(OTHER), 1, start=2)
    await logs.close()
    logs = await house.reopen()
    assert not logs._ground.journal.kept.quarantined
    await logs.close()


@in_loop
async def test_a_quarantine_that_fails_is_tried_again_while_the_broker_runs() -> None:
    """D4, D5: no room for the file, for a while: when there is, the records go there and the log is not pinned, without
    a start or anybody who asks for the partition."""
    house, logs = await damaged_house()
    house.quarantine.capacity = 0
    with pytest.raises(Damaged):
        await logs.partition(HOME)
    sound = await logs.partition(OTHER)
    await fill(sound, 40, 1000, start=2)
    await logs.flush_all()
    logs.purge()
    await turns()
    assert len([name for name in house.disk.names() if name.endswith(".wal")]) > 1
    house.quarantine.capacity = None
    await turns(100)
    assert saved_records(house) == numbered(0, 7)
    logs.purge()
    await turns()
    assert len([name for name in house.disk.names() if name.endswith(".wal")]) == 1
    with pytest.raises(Quarantined, match=r"\[0, 7\)"):
        await logs.partition(HOME)
    await logs.close()


@in_loop
async def test_a_partition_that_opens_after_all_keeps_its_tail() -> None:
    """D5: its manifest is whole again before its records could be saved: they are its tail, none is in quarantine."""
    house, logs = await damaged_house()
    house.quarantine.capacity = 0
    with pytest.raises(Damaged):
        await logs.partition(HOME)
    damage(house, f"{HOME.manifests}{1:020}.json")
    partition = await logs.partition(HOME)
    house.quarantine.capacity = None
    await turns(100)
    assert await read_all(partition) == numbered(0, 7)
    assert not saved_records(house)
    await logs.close()


@in_loop
async def test_a_quarantine_that_fails_keeps_the_records_in_the_log() -> None:
    """O2: no room for the file: the records stay where they are, and the next start saves them."""
    house, logs = await damaged_house()
    house.quarantine.fail_next("write", error=errno.ENOSPC)
    with pytest.raises(Damaged):
        await logs.partition(HOME)
    await fill(await logs.partition(OTHER), 40, 1000, start=2)
    await logs.flush_all()
    logs.purge()
    house.quarantine.kill()
    logs = await house.reopen()
    with pytest.raises(Quarantined):
        await logs.partition(HOME)
    assert saved_records(house)[-4:] == numbered(3, 7)


@in_loop
async def test_a_fenced_partition_s_tail_goes_to_quarantine() -> None:
    """O2: another leader has the partition: what only our log has is saved, once, and pins nothing."""
    house = QuarantineWorld()
    logs = await house.open(background=True)
    fenced = await logs.partition(HOME)
    await fill(fenced, 3)
    await (await beside(house).open()).partition(HOME)
    house.clock.advance(1000)
    await turns(50)
    assert isinstance(fenced.failure, Fenced)
    assert saved_records(house) == numbered(0, 3)
    assert not len(fenced.tail)
    await turns(50)
    assert len(house.saved()) == 1
    with pytest.raises(Fenced):
        await fenced.append(batch(b"x"))
    await logs.close()


@in_loop
async def test_a_diverged_tail_goes_to_quarantine() -> None:
    """O2: another leader wrote the same offsets while we were away."""
    house = QuarantineWorld()
    await fill(await (await house.open()).partition(HOME), 3)
    house.disk.kill()
    theirs = await (await beside(house).open()).partition(HOME)
    await fill(theirs, 5, 20)
    await theirs.flush()
    logs = await house.open()
    with pytest.raises(Quarantined) as caught:
        await logs.partition(HOME)
    assert isinstance(caught.value.__cause__, Diverged)
    assert saved_records(house) == numbered(0, 3)


@in_loop
async def test_a_log_that_lost_a_partition_and_has_it_again_still_opens() -> None:
    """O2: its entries of the two times do not go on from one another: the first ones go to quarantine, by name, when
    they are nowhere else, and the start as a whole goes on."""
    house = QuarantineWorld()
    logs = await house.open()
    await fill(await logs.partition(HOME), 3)
    other = beside(house)
    theirs = await (await other.open()).partition(HOME)
    await fill(theirs, 5, 20)
    await theirs.flush()
    journal = logs._ground.journal
    later = batch(b"later")
    stamp(memoryview(later), Offset(5), Epoch(9))
    journal.append(entry.encode_prefix(entry.BATCHES, HOME), (later,), lambda _: None, 6)
    await turns()
    logs = await house.reopen()
    with pytest.raises(Quarantined) as caught:
        await logs.partition(HOME)
    assert isinstance(caught.value.__cause__, Diverged)
    assert saved_records(house) == [*numbered(0, 3), (5, b"later")]
    await fill(await logs.partition(OTHER), 1)


@in_loop
async def test_a_partition_without_a_tail_is_refused_by_its_mark() -> None:
    """O4: the store is older than the log's purge point, and nothing of the partition is left in the log: the mark
    that was saved with the purge tells, for every partition, and names the offsets."""
    house = QuarantineWorld()
    logs = await house.open()
    homes = [PartitionId(UUID(int=0xC), number) for number in range(5)]
    partitions = [await logs.partition(home) for home in homes]
    older = house.set_back()
    for number, each in enumerate(partitions):
        await fill(each, number + 1)
    await logs.close()
    newer = house.set_back()
    house.put_back(older)
    logs = await house.reopen()
    for number, home in enumerate(homes):
        with pytest.raises(StoreBehind, match=rf"\[0, {number + 1}\).*older.*holdfast repair"):
            await logs.partition(home)
    await logs.close()
    house.put_back(newer)
    logs = await house.reopen()
    for number, home in enumerate(homes):
        assert await read_all(await logs.partition(home)) == numbered(0, number + 1)
    await logs.close()


@in_loop
async def test_a_store_without_the_manifest_is_not_taken_for_a_new_one() -> None:
    """O4: a partition whose manifests are all gone is not made again from nothing."""
    house = QuarantineWorld()
    logs = await house.open()
    partition = await logs.partition(HOME)
    await fill(partition, 3)
    await logs.close()
    for name in house.names(HOME.manifests):
        house.objects.delete(name)
    logs = await house.reopen()
    with pytest.raises(StoreBehind, match=r"\[0, 3\)"):
        await logs.partition(HOME)
    assert house.names(HOME.manifests) == []


@in_loop
async def test_what_the_log_still_has_is_no_loss() -> None:
    """O4: a store that is behind by what the write-ahead log still holds opens, and nothing is missing."""
    house = QuarantineWorld()
    logs = await house.open()
    partition, pin = await logs.partition(HOME), await logs.partition(OTHER)
    older = house.set_back()
    await fill(pin, 1)  # The oldest entry, not flushed: nothing is purged.
    await fill(partition, 5)
    await partition.flush()
    logs.purge()
    house.put_back(older)
    logs = await house.reopen()
    assert await read_all(await logs.partition(HOME)) == numbered(0, 5)


@in_loop
async def test_marks_of_deleted_topics_go_with_them() -> None:
    """O4: a deleted topic is not missed."""
    house = QuarantineWorld()
    logs = await house.open()
    await fill(await logs.partition(HOME), 3)
    await fill(await logs.partition(OTHER), 3)
    await logs.flush_all()
    logs.purge()
    await logs.delete_topic(HOME.topic_id)
    await turns(50)
    await fill(await logs.partition(OTHER), 1, start=3)
    await logs.close()
    logs = await house.reopen()
    assert logs.unopened == {OTHER.topic_id}
    house.put_back(({}, []))
    with pytest.raises(StoreBehind):
        await logs.partition(OTHER)
