"""Payloads that look like the log's own bytes: never taken for records, never taken for proof, never costly."""

from __future__ import annotations

import struct

import pytest
from tests.wal.logs import append, chunk_names, held, lines, new_disk, open_log, parsed

from holdfast.io.chance import SeededChance
from holdfast.io.disk.simulated import SimulatedDisk, SimulatedFile
from holdfast.wal import LogId
from holdfast.wal.format.frame import HEADER, encode_header, mark_of, seed_of
from holdfast.wal.format.record import APPEND, MARKER, encode_append


class CountingDisk(SimulatedDisk):
    """A simulated disk that counts the bytes read from it."""

    read_size = 0

    def open(self, name: str, *, create: bool = False, write: bool = True) -> SimulatedFile:
        return CountingFile(self, super().open(name, create=create, write=write))


class CountingFile(SimulatedFile):
    def __init__(self, disk: CountingDisk, file: SimulatedFile) -> None:
        super().__init__(disk, file._inode, file._generation)
        self._counting = disk

    def read_at(self, position: int, size: int) -> bytes:
        data = super().read_at(position, size)
        self._counting.read_size += len(data)
        return data


def forged(seed: int, round_start: int, count: int) -> bytes:
    """Frames that would be valid in a chunk with this seed: a ghost entry, and a marker that would prove something."""
    ghost = [encode_append(LogId(9, 1), [5]), b"ghost"]
    size = sum(map(len, ghost))
    append_ = encode_header(APPEND, ghost, size, round_start, 1 << 40, seed, mark_of(seed)) + b"".join(ghost)
    marker = encode_header(MARKER, [b"\0"], 1, round_start, 1 << 40, seed, mark_of(seed)) + b"\0"
    return (append_ + marker) * count


@pytest.mark.parametrize("guess", ["nothing", "id only", "another chunk"])
def test_a_torn_frame_full_of_forged_frames_is_cut(guess: str) -> None:
    """W7, W10: frames in a payload, made by somebody who does not know the chunk's salt, prove nothing."""
    disk = new_disk()
    wal = open_log(disk, chunk_entries_max=3)
    entries = append(wal, 4)
    wal.flush()
    other, newest = map(parsed, chunk_names(disk))
    seed = {"nothing": 0, "id only": seed_of(newest.id, 0), "another chunk": other.seed}[guess]
    end = lines(disk, str(newest))[-1].offset + lines(disk, str(newest))[-1].size
    wal.append(LogId(1, 4), [forged(seed, end + 1, 20)])
    wal.flush()
    disk.kill()
    disk.damage(str(newest), end + 4)
    wal = open_log(disk)
    assert held(wal) == entries
    assert wal.opened.cut == (str(newest), end)


def test_a_payload_that_repeats_the_chunk_itself_proves_nothing() -> None:
    """W7, W10: copies of the chunk's own frames are valid, but belong to rounds that came before."""
    disk = new_disk()
    wal = open_log(disk, chunk_size_max=1 << 16)
    entries = append(wal, 5)
    wal.flush()
    wal.mark()
    name = chunk_names(disk)[0]
    end = lines(disk, name)[-1].offset + lines(disk, name)[-1].size
    wal.append(LogId(1, 5), [bytes(disk.content(name)[:end]) * 3])
    wal.flush()
    disk.kill()
    disk.damage(name, end)
    wal = open_log(disk)
    assert held(wal) == entries
    assert wal.opened.cut == (name, end)


def test_a_torn_frame_ends_in_the_middle_of_a_forged_one() -> None:
    """W7: a payload whose forged header is cut off by the end of the file."""
    disk = new_disk()
    wal = open_log(disk, zero_ahead_size=0)
    entries = append(wal, 1)
    wal.flush()
    name = chunk_names(disk)[0]
    wal.append(LogId(1, 1), [b"x" + forged(parsed(name).seed, 1, 1)[: HEADER.size - 1]])
    wal.flush()
    disk.kill()
    del disk.content(name)[-3:]
    assert held(open_log(disk)) == entries


def false_headers(count: int) -> bytes:
    """Headers copied from another log of the same format, each promising a long frame of a later round."""
    other = new_disk()
    open_log(other)
    mark = bytes(other.content(chunk_names(other)[0])[4:7])
    header = struct.Struct("<I3sBIIQ")
    return b"".join(header.pack(0, mark, APPEND, (count - n) * HEADER.size, 200, 1 << 40) for n in range(count))


@pytest.mark.parametrize("recycled", [False, True])
def test_false_headers_cost_no_more_than_other_bytes(recycled: bool) -> None:
    """W7: a payload of nothing but headers, each promising a long frame, does not make opening quadratic."""
    disk = CountingDisk(SeededChance(1))
    disk.calls = 1000  # So that its salt is not that of the other log.
    wal = open_log(disk, chunk_size_max=1 << 18, spares_max=1)
    append(wal, 1)
    wal.flush()
    false = false_headers((1 << 18) // HEADER.size - 20)
    wal.append(LogId(1, 1), [false])
    wal.flush()
    if recycled:
        append(wal, 1, size=1000)
        wal.purge(LogId(1, 1))
        wal.flush()
        assert [name for name in disk.names() if name.endswith(".spare")]
        wal.append(LogId(1, 3), [bytes(1 << 18)])
        wal.flush()
        append(wal, 1)
        wal.flush()
    disk.kill()
    newest = chunk_names(disk)[-1]
    last = lines(disk, newest)[-1]
    disk.damage(newest, last.offset + 4)
    stored = sum(len(disk.content(name)) for name in disk.names())
    disk.read_size = 0
    open_log(disk)
    assert disk.read_size < 6 * stored
