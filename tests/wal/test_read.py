"""Reading: entries in order from memory and from disk, in pieces, and while the log changes."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from tests.wal.logs import UNCACHED, Held, append, append_batch, chunk_names, held, lines, new_disk, open_log, reopened
from tests.wal.test_forged import CountingDisk

from holdfast.io.chance import SeededChance
from holdfast.io.disk import RealDirectory
from holdfast.wal import DamagedLog, LogId, ReadBelowPurged, Wal, WalSettings


@pytest.mark.parametrize("settings", [{}, UNCACHED, {"cache_entries_max": 4}])
@pytest.mark.parametrize("batch", [1, 7])
def test_every_range_over_memory_and_disk(settings: dict[str, int], batch: int) -> None:
    """W8: any start and end, inside frames and over chunks, gives exactly those entries; too far is no error."""
    disk = new_disk()
    wal = open_log(disk, chunk_entries_max=10, **settings)
    entries = []
    for epoch in range(1, 5):
        entries += append_batch(wal, batch, epoch=epoch) + append(wal, 2, epoch=epoch)
        wal.flush()
    check_ranges(wal, entries)
    check_ranges(reopened(disk, **settings), entries)


def check_ranges(wal: Wal, entries: Held) -> None:
    count = len(entries)
    for start in range(count + 2):
        for end in (max(start - 1, 0), start, start + 1, start + 5, count, count + 5):
            assert held(wal, start, end) == entries[start:end]


def test_a_read_takes_pieces_and_never_a_whole_chunk() -> None:
    """W8: reading two entries of a large chunk costs little more than two entries."""
    disk = CountingDisk(SeededChance(1))
    wal = open_log(disk, chunk_size_max=1 << 24, zero_ahead_size=0)
    for _ in range(10):
        append_batch(wal, 1000, size=1000)
    wal.flush()
    wal = reopened(disk, chunk_size_max=1 << 24)  # type: ignore[arg-type]
    disk.read_size = 0
    assert len(held(wal, 5000, 5002)) == 2
    assert disk.read_size < 3 << 20
    reader = wal.read(0, 10_000)
    disk.read_size = 0
    next(reader)
    assert disk.read_size < 3 << 20


def test_a_large_append_is_read_by_the_piece() -> None:
    """W8: an append of many megabytes is several frames, so that one entry of it stays cheap."""
    disk = CountingDisk(SeededChance(1))
    wal = open_log(disk, chunk_size_max=1 << 25, **UNCACHED)
    entries = append_batch(wal, 10_000, size=1000)
    wal.flush()
    disk.read_size = 0
    assert held(wal, 9_999) == entries[9_999:]
    assert disk.read_size < 3 << 20
    assert held(wal) == entries


def test_a_reader_goes_on_over_appends_and_roll_overs() -> None:
    """W8: entries that come while a reader is under way are read, too."""
    wal = open_log(new_disk(), chunk_entries_max=3, **UNCACHED)
    entries = append(wal, 4)
    wal.flush()
    reader = wal.read(0, 100)
    found = [next(reader)]
    entries += append(wal, 4)
    found += [next(reader) for _ in range(5)]
    wal.flush()
    found += reader
    assert [(entry.log_id, bytes(entry.payload)) for entry in found] == entries


def test_a_reader_whose_entries_are_purged_says_so() -> None:
    """W8: read below the purge point is an error, also half-way, and never an old or foreign entry."""
    disk = new_disk()
    wal = open_log(disk, chunk_entries_max=5, **UNCACHED)
    entries = append(wal, 20, size=700)
    wal.flush()
    reader = wal.read(0, 20)
    assert next(reader) == entries[0]
    wal.purge(LogId(1, 14))
    wal.flush()
    more = append(wal, 10, size=700)  # Goes into the recycled files.
    wal.flush()
    found = []
    with pytest.raises(ReadBelowPurged) as refused:
        found += [(entry.log_id, bytes(entry.payload)) for entry in reader]
    assert found == entries[1 : 1 + len(found)]
    assert refused.value.current == LogId(1, 14)
    assert held(wal) == entries[15:] + more


def test_damage_found_by_a_read_is_named() -> None:
    """W7, W8: file, position, expected and found; nothing wrong is handed out."""
    disk = new_disk()
    wal = open_log(disk, **UNCACHED)
    entries = append(wal, 5)
    wal.flush()
    name = chunk_names(disk)[0]
    place = [line.offset for line in lines(disk, name) if line.kind == "append"][3]
    disk.damage(name, disk.content(name).find(entries[3][1]))
    assert held(wal, 0, 3) == entries[:3]
    with pytest.raises(DamagedLog) as refused:
        held(wal, 3)
    assert (refused.value.file, refused.value.position) == (name, place)
    assert refused.value.expected.startswith("crc32c")
    assert refused.value.found.startswith("crc32c")
    assert refused.value.found != refused.value.expected


def test_a_missing_file_found_by_a_read_is_named() -> None:
    """W7, W8: a chunk that somebody removed is damage, not the end of the log."""
    disk = new_disk()
    wal = open_log(disk, chunk_entries_max=5, **UNCACHED)
    append(wal, 12)
    wal.flush()
    name = chunk_names(disk)[1]
    disk.remove(name)
    with pytest.raises(DamagedLog, match=name):
        held(wal)


def test_readers_and_a_writer_at_the_same_time(tmp_path: Path) -> None:
    """W8: four readers follow a log that is written, truncated at its end, purged and recycled on the real disk."""
    settings = WalSettings(chunk_size_max=1 << 14, cache_size_max=1 << 13, cache_open_chunk=False)
    failures: list[BaseException] = []
    done = threading.Event()

    def follow(wal: Wal) -> None:
        try:
            while not done.is_set():
                try:
                    for entry in wal.read(wal.state.first_index, 1 << 60):
                        epoch, index = entry.log_id
                        assert bytes(entry.payload) == b"%d:%d" % (epoch, index) * 20
                except ReadBelowPurged:
                    continue
        except BaseException as failure:
            failures.append(failure)

    with Wal.open(RealDirectory(tmp_path), settings) as wal:
        readers = [threading.Thread(target=follow, args=(wal,)) for _ in range(4)]
        for reader in readers:
            reader.start()
        for turn in range(60):
            start = wal.state.next_index
            wal.append(LogId(turn, start), [b"%d:%d" % (turn, start + n) * 20 for n in range(8)])
            wal.sync()
            if turn % 10 == 9:
                wal.truncate(wal.state.next_index - 5)
            if turn % 20 == 19:
                wal.purge(wal.log_id(wal.state.next_index - 40))  # type: ignore[arg-type]
        done.set()
        for reader in readers:
            reader.join(30)
    assert failures == []
