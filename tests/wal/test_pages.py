"""The system's memory lets go of what is durable: only of that, and not of the block in which the next round begins."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.wal.logs import append, chunk_names, held, lines, open_log

from holdfast.io.chance import SeededChance
from holdfast.io.disk import RealDirectory
from holdfast.io.disk.simulated import SimulatedDisk, SimulatedFile
from holdfast.wal import LogId

MIB = 1 << 20
PAYLOAD = 300_000


class UncachingDisk(SimulatedDisk):
    """Notes what is let go of, and what was durable then."""

    def __init__(self) -> None:
        super().__init__(SeededChance(0))
        self.let_go: list[tuple[int, int, int, int]] = []  # The file, from where to where, and what was durable.

    def open(self, name: str, *, create: bool = False, write: bool = True) -> SimulatedFile:
        return UncachingFile(self, super().open(name, create=create, write=write))


class UncachingFile(SimulatedFile):
    def __init__(self, disk: UncachingDisk, file: SimulatedFile) -> None:
        super().__init__(disk, file._inode, file._generation)
        self._noting = disk
        self._synced = self.size()

    def sync(self) -> None:
        super().sync()
        self._synced = self.size()

    def uncache(self, position: int, size: int) -> None:
        self._noting.let_go.append((id(self._inode), position, position + size, self._synced))


def test_only_what_is_durable_is_let_go_of() -> None:
    """W1, W2: once each, from the beginning of every chunk on, in whole MiB."""
    disk = UncachingDisk()
    wal = open_log(disk, chunk_size_max=8 * MIB, keep_pages=False, zero_ahead_size=0)
    entries = []
    for _ in range(40):
        entries += append(wal, 1, size=PAYLOAD)
        wal.flush()
    assert held(wal) == entries
    assert sum(end - start for _, start, end, _ in disk.let_go) > 6 * MIB
    ends: dict[int, int] = {}
    for file, start, end, durable in disk.let_go:
        assert start == ends.get(file, 0)
        assert end % MIB == 0
        assert start < end <= durable
        ends[file] = end
    assert len(ends) > 1, "Each chunk begins anew."


@pytest.mark.parametrize(("size", "count", "keep"), [(PAYLOAD, 20, True), (100, 100, False)])
def test_who_reads_it_or_writes_little_keeps_it(size: int, count: int, keep: bool) -> None:
    """W1: a call of the system for each small round would cost more than it saves."""
    disk = UncachingDisk()
    wal = open_log(disk, chunk_size_max=8 * MIB, keep_pages=keep)
    for _ in range(count):
        append(wal, 1, size=size)
        wal.flush()
    assert disk.let_go == []


def test_a_round_in_a_file_that_is_used_again_ends_with_zeros() -> None:
    """W1, D11: up to the end of its block, which the system would otherwise read before it could write."""
    disk = UncachingDisk()
    wal = open_log(disk, chunk_size_max=64 << 10, zero_ahead_size=0, keep_pages=False)
    for _ in range(4):
        entries = append(wal, 30, size=3_000)
        wal.flush()
        wal.purge(entries[-1][0])
        wal.flush()
    wal.append(LogId(1, entries[-1][0].index + 1), [b"x" * 100])
    wal.flush()
    name = chunk_names(disk)[-1]
    last = lines(disk, name)[-1]
    file, end = disk.open(name), last.offset + last.size
    rest = -end % 4096
    assert file.size() > end + rest, "It is a file that was used before."
    assert file.read_at(end, rest) == bytes(rest)
    assert any(file.read_at(end + rest, file.size()))


def test_a_real_disk_has_what_was_let_go_of(tmp_path: Path) -> None:
    """W1: it is read from the disk, also by the next start."""
    directory = RealDirectory(tmp_path)
    wal = open_log(directory, chunk_size_max=8 * MIB, keep_pages=False)
    entries = append(wal, 30, size=PAYLOAD)
    wal.flush()
    assert held(wal) == entries
    wal.close()
    wal = open_log(directory, chunk_size_max=8 * MIB)
    assert held(wal) == entries
    wal.close()
