"""The marker lies in a block of its own: a lost block takes what it proves or the proof, never both."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.wal.logs import Held, append, chunk_names, held, lines, new_disk, open_log

from holdfast.io.disk.simulated import SimulatedDisk
from holdfast.wal import DamagedLog, LogId, Wal
from holdfast.wal.format.record import BLOCK_SIZE, padding_before_marker
from holdfast.wal.inspect import verify

Lost = Callable[[bytes], bytes]


def zeros(block: bytes) -> bytes:
    return bytes(len(block))


def noise(block: bytes) -> bytes:
    return bytes(byte ^ 0xA5 for byte in block)


def halves_swapped(block: bytes) -> bytes:
    """Whole frames of this very chunk, in the wrong place."""
    return block[len(block) // 2 :] + block[: len(block) // 2]


LOST: list[Lost] = [zeros, noise, halves_swapped]


def idle(wal: Wal) -> None:
    wal.flush()
    wal.mark()


def closed(wal: Wal) -> None:
    wal.close()


def silent_log(end: Callable[[Wal], None], size: int, count: int = 3) -> tuple[SimulatedDisk, Held, int]:
    """A log that ended in silence, what it holds, and the byte of its newest chunk where the last marker begins."""
    disk = new_disk()
    wal = open_log(disk, chunk_size_max=1 << 20)
    entries = []
    for _ in range(count):
        entries += append(wal, 1, size=size)
        wal.flush()
    end(wal)
    disk.kill()
    [*_, last] = lines(disk, chunk_names(disk)[-1])
    assert last.kind == "marker"
    return disk, entries, last.offset


def lose(disk: SimulatedDisk, at: int, how: Lost) -> None:
    name = chunk_names(disk)[-1]
    disk.lose_block(name, at, how(bytes(disk.content(name)[at : at + BLOCK_SIZE])))


@pytest.mark.parametrize("how", LOST)
@pytest.mark.parametrize("end", [idle, closed])
@pytest.mark.parametrize("size", [5, 700, 3000, 4097, 9000])
def test_the_last_block_with_records_is_lost(size: int, end: Callable[[Wal], None], how: Lost) -> None:
    """D10, W7: after silence or a close it is told as damage, by open and by verify; nothing is cut as torn."""
    disk, _, marker = silent_log(end, size)
    lose(disk, marker - BLOCK_SIZE, how)
    verdict = verify(disk)
    assert not verdict.sound
    assert verdict.file == chunk_names(disk)[-1]
    for _ in range(2):
        with pytest.raises(DamagedLog):
            open_log(disk)


@pytest.mark.parametrize("how", LOST)
@pytest.mark.parametrize("end", [idle, closed])
@pytest.mark.parametrize("size", [5, 700, 3000, 4097, 9000])
def test_only_the_block_of_the_marker_is_lost(size: int, end: Callable[[Wal], None], how: Lost) -> None:
    """D10: the proof is gone, and nothing of what it proved: the log opens with everything in it."""
    disk, entries, marker = silent_log(end, size)
    lose(disk, marker, how)
    assert verify(disk).sound
    assert held(open_log(disk)) == entries


def test_a_block_goes_back_to_what_it_held_before_the_last_round() -> None:
    """D10: the write of the last round was lost although its fsync succeeded, and the marker was not: damage."""
    disk = new_disk()
    wal = open_log(disk)
    append(wal, 3)
    wal.flush()
    name = chunk_names(disk)[-1]
    before = bytes(disk.content(name)[:BLOCK_SIZE])
    append(wal, 1)
    wal.flush()
    wal.mark()
    disk.kill()
    disk.lose_block(name, 0, before)
    with pytest.raises(DamagedLog):
        open_log(disk)


def test_in_a_recycled_file_the_lost_block_holds_old_frames() -> None:
    """D10, W5: what lies there then is another chunk's: damage all the same."""
    disk = new_disk()
    wal = open_log(disk, chunk_entries_max=5)
    append(wal, 5, size=700)
    wal.flush()
    [old] = [bytes(disk.content(name)) for name in chunk_names(disk)]
    append(wal, 10, size=700)
    wal.flush()
    wal.purge(LogId(1, 9))
    wal.flush()
    append(wal, 2, size=700)
    wal.close()
    assert chunk_names(disk)[-1]
    lose(disk, 0, lambda block: old[: len(block)])
    with pytest.raises(DamagedLog):
        open_log(disk)


@pytest.mark.parametrize("end", [idle, closed])
def test_a_marker_begins_at_a_border_wherever_the_records_end(end: Callable[[Wal], None]) -> None:
    """D10: also where what is left of the block is too small for a frame, and where nothing is left."""
    for size in [*range(BLOCK_SIZE - 250, BLOCK_SIZE + 10, 3), *range(BLOCK_SIZE - 200, BLOCK_SIZE - 140)]:
        disk, entries, marker = silent_log(end, size, count=1)
        assert marker % BLOCK_SIZE == 0
        assert held(open_log(disk)) == entries


def test_the_padding_fills_the_gap_and_no_frame_is_too_small() -> None:
    """D10: for every byte at which a chunk can end."""
    for end in range(2 * BLOCK_SIZE):
        padding = padding_before_marker(end)
        frame = padding + 24 if padding else 0
        assert (end + frame) % BLOCK_SIZE == 0
        assert padding >= 0
        assert frame <= BLOCK_SIZE + 25


def test_a_marker_after_a_marker_needs_no_record_between_them() -> None:
    """D10: an idle log that is closed: either of the two blocks may be lost."""
    for at in (1, 2):
        disk = new_disk()
        wal = open_log(disk)
        entries = append(wal, 3)
        wal.mark()
        wal.close()
        lose(disk, at * BLOCK_SIZE, zeros)
        if at == 1:
            with pytest.raises(DamagedLog):  # The closing marker proves the other one: not what was written is there.
                open_log(disk)
        else:
            assert held(open_log(disk)) == entries
