"""Damage to acknowledged bytes is never cut: open refuses, with file, position, expected and found."""

from __future__ import annotations

import pytest
from tests.wal.logs import append, append_batch, chunk_names, held, lines, new_disk, open_log

from holdfast.errors import Corrupt
from holdfast.io.disk.simulated import SimulatedDisk
from holdfast.wal import DamagedLog, LogId, Vote


def closed_log(disk: SimulatedDisk) -> None:
    """All kinds of records in three chunks, closed."""
    wal = open_log(disk, chunk_entries_max=4)
    wal.save_vote(Vote(1, 1))
    append(wal, 3)
    wal.flush()
    append_batch(wal, 3)
    wal.commit(LogId(1, 4))
    wal.flush()
    wal.truncate(5)
    append(wal, 4, epoch=2)
    wal.save_user_data(b"mine")
    wal.close()
    assert len(chunk_names(disk)) == 3


@pytest.mark.parametrize("bits", [0x01, 0x80, 0xFF])
def test_every_byte_of_a_closed_log_is_protected(bits: int) -> None:
    """W7: whichever byte of whichever frame is flipped, the open refuses and names the frame it belongs to."""
    disk = new_disk()
    closed_log(disk)
    for line in lines(disk)[:-2]:  # Nothing follows the closing marker and the padding in front of it: one round.
        for position in range(line.offset, line.offset + line.size, 5):
            disk.damage(line.chunk, position, bits)
            with pytest.raises(DamagedLog) as refused:
                open_log(disk)
            assert isinstance(refused.value, Corrupt)
            assert (refused.value.file, refused.value.position) == (line.chunk, line.offset)
            assert refused.value.expected != refused.value.found
            message = str(refused.value)
            assert all(str(part) in message for part in (line.chunk, line.offset, refused.value.expected))
            disk.damage(line.chunk, position, bits)
    open_log(disk).close()


def test_damage_to_the_closing_marker_loses_nothing() -> None:
    """W7: nor does damage to the padding in front of it. They carry no entry; the log only counts as not closed."""
    disk = new_disk()
    closed_log(disk)
    entries = None
    padding, marker = lines(disk)[-2:]
    for position in (*range(padding.offset, marker.offset, 99), *range(marker.offset, marker.offset + marker.size)):
        disk = new_disk()
        closed_log(disk)
        disk.damage(marker.chunk, position)
        wal = open_log(disk)
        assert not wal.opened.clean
        entries = entries or held(wal)
        assert held(wal) == entries
        assert wal.state.next_index == 9


def test_a_refused_open_changes_nothing() -> None:
    """W7: whoever repairs finds the directory as it was; with the byte repaired the log opens."""
    disk = new_disk()
    closed_log(disk)
    names, calls = disk.names(), disk.calls
    contents = [bytes(disk.content(name)) for name in names]
    disk.damage(names[1], 50)
    with pytest.raises(DamagedLog):
        open_log(disk)
    disk.damage(names[1], 50)
    assert (disk.names(), disk.calls) == (names, calls)
    assert [bytes(disk.content(name)) for name in names] == contents
    assert len(held(open_log(disk))) == 9


def test_damage_is_told_by_a_later_round_in_the_same_chunk() -> None:
    """W7: one valid frame of a later round is proof enough, wherever it is, also after a stretch of zeros."""
    disk = new_disk()
    wal = open_log(disk)
    for _ in range(10):
        append(wal, 1, size=100)
        wal.flush()
    disk.kill()
    name = chunk_names(disk)[0]
    second, last = lines(disk, name)[2], lines(disk, name)[-1]
    content = disk.content(name)
    content[second.offset : last.offset] = bytes(last.offset - second.offset)
    with pytest.raises(DamagedLog) as refused:
        open_log(disk)
    assert refused.value.position == second.offset


def test_damage_is_told_by_a_later_chunk() -> None:
    """W7: the last round of a chunk is proven by the head of the next one, even if that has nothing else."""
    disk = new_disk()
    wal = open_log(disk, chunk_entries_max=2)
    append(wal, 3)
    wal.flush()
    disk.kill()
    first, second = chunk_names(disk)
    del disk.content(second)[lines(disk, second)[1].offset :]
    disk.damage(first, lines(disk, first)[2].offset + 30)
    with pytest.raises(DamagedLog, match=first):
        open_log(disk)


def test_a_chunk_that_is_too_short_for_its_recorded_end() -> None:
    """W7: bytes that are gone are damage as much as bytes that are wrong."""
    disk = new_disk()
    closed_log(disk)
    first = chunk_names(disk)[0]
    last = lines(disk, first)[-1]
    del disk.content(first)[last.offset + last.size - 1 :]
    with pytest.raises(DamagedLog) as refused:
        open_log(disk)
    assert (refused.value.file, refused.value.position) == (first, last.offset)


def test_damage_in_what_was_carried_over_is_told_once_marked() -> None:
    """W7: after an open the carried records are in the new chunk; a marker proves them there."""
    disk = new_disk()
    wal = open_log(disk)
    entries = append(wal, 3)
    wal.flush()
    disk.kill()
    open_log(disk).mark()
    disk.kill()
    name = chunk_names(disk)[-1]
    disk.damage(name, disk.content(name).find(entries[1][1]))
    with pytest.raises(DamagedLog, match=name):
        open_log(disk)
