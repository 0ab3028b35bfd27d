"""Torn tails: what a crash in the middle of a write leaves is cut, said to be, and stays cut."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.wal.logs import Held, append, chunk_names, held, lines, new_disk, open_log

from holdfast.io.disk.simulated import SimulatedDisk
from holdfast.wal import DamagedLog, LogId, Vote
from holdfast.wal.format.frame import HEADER

Tear = Callable[[bytearray, int, int], None]


def zeros(content: bytearray, start: int, end: int) -> None:
    content[start:end] = bytes(end - start)


def zeros_behind_the_header(content: bytearray, start: int, end: int) -> None:
    content[start + HEADER.size : end] = bytes(end - start - HEADER.size)


def short_file(content: bytearray, start: int, end: int) -> None:
    del content[end - 1 :]


def short_header(content: bytearray, start: int, end: int) -> None:
    del content[start + 5 :]


def ends_before(content: bytearray, start: int, end: int) -> None:
    del content[start:]


def wrong_crc(content: bytearray, start: int, end: int) -> None:
    content[end - 1] ^= 1


def huge_size(content: bytearray, start: int, end: int) -> None:
    content[start + 8 : start + 12] = b"\xff" * 4


def size_past_the_end(content: bytearray, start: int, end: int) -> None:
    content[start + 8 : start + 12] = (len(content) - start).to_bytes(4, "little")


def noise(content: bytearray, start: int, end: int) -> None:
    content[start:] = bytes(range(1, 256)) * ((len(content) - start) // 255)


TEARS: list[Tear] = [
    zeros,
    zeros_behind_the_header,
    short_file,
    short_header,
    ends_before,
    wrong_crc,
    huge_size,
    size_past_the_end,
    noise,
]


def log_with_a_round_of_three(disk: SimulatedDisk) -> Held:
    """Two durable entries, then a round of three that nothing proves. Killed."""
    wal = open_log(disk)
    entries = append(wal, 2)
    wal.flush()
    entries += append(wal, 3)
    wal.flush()
    disk.kill()
    return entries


def tear(disk: SimulatedDisk, torn: int, how: Tear) -> tuple[str, int]:
    """Tear the `torn`-th append of the newest chunk; the chunk and the byte."""
    name = chunk_names(disk)[-1]
    line = [line for line in lines(disk, name) if line.kind == "append"][torn]
    for content in (disk._visible[name].visible, disk._visible[name].durable):
        how(content, line.offset, line.offset + line.size)
    return name, line.offset


@pytest.mark.parametrize("how", TEARS)
@pytest.mark.parametrize("torn", [2, 3, 4])
def test_a_torn_tail_is_cut_at_its_first_bad_frame(torn: int, how: Tear, caplog: pytest.LogCaptureFixture) -> None:
    """W7: zero-filled, short, wrong crc, noise: what is before it in the round stays, nothing behind it comes back."""
    disk = new_disk()
    entries = log_with_a_round_of_three(disk)
    name, place = tear(disk, torn, how)
    wal = open_log(disk)
    assert held(wal) == entries[:torn]
    assert not wal.opened.clean
    if how not in (zeros, ends_before):  # These look exactly like a log that ends there.
        assert wal.opened.cut == (name, place)
        assert f"torn tail cut, {name} ends at byte {place}" in caplog.text


@pytest.mark.parametrize("how", TEARS)
def test_the_second_open_after_a_cut_still_tells_damage_from_torn(how: Tear) -> None:
    """W7: the new head records where the chunk before ends: what is beyond is ignored for ever, what is below not.
    The test of W7."""
    disk = new_disk()
    entries = log_with_a_round_of_three(disk)
    name, place = tear(disk, 3, how)
    wal = open_log(disk)
    entries = entries[:3] + append(wal, 2, epoch=2)
    wal.flush()
    disk.kill()
    # Whatever happens to the bytes beyond the recorded end: ignored.
    content = disk.content(name)
    content[place:] = b"\xff" * (len(content) - place)
    wal = open_log(disk)
    assert held(wal) == entries
    assert wal.opened.cut is None
    disk.kill()
    # The proven part of the chunk that was cut: damage.
    disk.damage(name, disk.content(name).find(entries[1][1]))
    with pytest.raises(DamagedLog, match=name):
        open_log(disk)


def test_a_cut_is_durable_before_anything_is_acknowledged() -> None:
    """W7, W10: open cuts, power fails, what was cut does not come back, also with new entries in its place."""
    for seed in range(30):
        disk = new_disk(seed)
        entries = log_with_a_round_of_three(disk)
        tear(disk, 3, wrong_crc)
        wal = open_log(disk)
        new = append(wal, 1, epoch=2)
        wal.flush()
        disk.power_cut()
        assert held(open_log(disk)) == entries[:3] + new


def test_a_torn_round_that_begins_a_chunk() -> None:
    """W7: the head of a chunk and its first records are one round; without a whole head the chunk was never made."""
    for size in range(0, 400, 7):
        disk = new_disk()
        wal = open_log(disk, chunk_entries_max=2)
        entries = append(wal, 4)
        wal.flush()
        disk.kill()
        newest = chunk_names(disk)[-1]
        whole = [line for line in lines(disk, newest) if line.offset + line.size <= size and line.kind == "append"]
        del disk.content(newest)[size:]
        assert held(open_log(disk)) == entries[: 2 + len(whole)], f"torn at byte {size}"


def test_other_records_of_a_torn_round_are_cut_too() -> None:
    """W7: not only entries: the state is what the records before the tear say."""
    disk = new_disk()
    wal = open_log(disk)
    append(wal, 2)
    wal.flush()
    wal.save_vote(Vote(1, 1))
    append(wal, 1)
    wal.commit(LogId(1, 1))
    wal.flush()
    disk.kill()
    tear(disk, 2, wrong_crc)
    state = open_log(disk).state
    assert (state.vote, state.last, state.committed) == (Vote(1, 1), LogId(1, 1), None)


def test_a_tail_in_a_recycled_file_is_followed_by_old_frames() -> None:
    """W5, W7: what lies behind the tail is not of this chunk: it is cut, not taken for damage."""
    disk = new_disk()
    wal = open_log(disk, chunk_entries_max=5)
    append(wal, 15, size=700)
    wal.flush()
    wal.purge(LogId(1, 9))
    wal.flush()
    entries = append(wal, 2, size=700)
    wal.flush()
    disk.kill()
    assert held(open_log(disk), 15) == entries


@pytest.mark.parametrize("torn", [False, True])
def test_old_bytes_behind_an_idle_log_are_not_a_torn_tail(torn: bool, caplog: pytest.LogCaptureFixture) -> None:
    """W7: in a recycled file old frames follow the last one. Nothing was being written, so nothing is said to be cut;
    what was begun behind the marker, and is not whole, is."""
    disk = new_disk()
    wal = open_log(disk, chunk_size_max=1 << 14, chunk_entries_max=40, zero_ahead_size=0, spares_max=1)
    append(wal, 120, size=300)
    wal.flush()
    wal.purge(LogId(1, 39))
    wal.flush()
    assert any(name.endswith(".spare") for name in disk.names())
    append(wal, 2)  # Begins the next chunk, in the spare.
    wal.flush()
    wal.mark()
    name = chunk_names(disk)[-1]
    end = lines(disk, name)[-1].offset + lines(disk, name)[-1].size
    assert any(disk.content(name)[end : end + 24]), "There must be old bytes, or this shows nothing."
    if torn:
        append(wal, 1)
        wal.flush()
    entries = held(wal)
    disk.kill()
    if torn:
        disk.damage(name, end + 40)
    caplog.clear()
    wal = open_log(disk)
    assert held(wal) == (entries[:-1] if torn else entries)
    assert wal.opened.cut == ((name, end) if torn else None)
    assert ("torn tail cut" in caplog.text) is torn
