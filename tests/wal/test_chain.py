"""Which files make up the log: gaps, missing ends, foreign files, newer formats."""

from __future__ import annotations

import pytest
from tests.wal.logs import Held, append, chunk_names, held, new_disk, open_log, parsed, reopened

from holdfast.errors import Corrupt, Rejected
from holdfast.io.disk.simulated import SimulatedDisk
from holdfast.wal import ChunkGap, DamagedLog, EntriesMissing, LogId, NewerLog
from holdfast.wal import WalState as WalState
from holdfast.wal.format.frame import encode_header, mark_of
from holdfast.wal.format.record import FORMAT_VERSION, HEAD, Head, encode_head


def chunks(disk: SimulatedDisk, count: int = 4) -> Held:
    """A closed log of `count` chunks with two entries each."""
    wal = open_log(disk, chunk_entries_max=2)
    entries = append(wal, 2 * count)
    wal.close()
    assert len(chunk_names(disk)) == count
    return entries


def add_file(disk: SimulatedDisk, name: str, content: bytes) -> None:
    file = disk.open(name, create=True)
    file.write_at(0, [content])
    file.sync()
    disk.sync_names()


def test_all_chunks_are_replayed_in_order() -> None:
    """W6: oldest first, whatever their number."""
    disk = new_disk()
    entries = chunks(disk, 12)
    assert held(open_log(disk)) == entries


def test_a_missing_chunk_between_two_others() -> None:
    """W6: refused; the error names both sides and the missing one, in fields and in its sentence. The test of W6."""
    disk = new_disk()
    chunks(disk)
    first, second, third, _ = chunk_names(disk)
    disk.remove(second)
    with pytest.raises(ChunkGap) as refused:
        open_log(disk)
    assert isinstance(refused.value, Corrupt)
    assert (refused.value.before, refused.value.after, refused.value.missing) == (first, third, 2)
    assert str(refused.value).startswith(f"gap between chunks {first} and {third}: cannot open")


def test_two_missing_chunks_in_a_row() -> None:
    """W6: the sides are those that are there."""
    disk = new_disk()
    chunks(disk)
    first, second, third, fourth = chunk_names(disk)
    disk.remove(second)
    disk.remove(third)
    with pytest.raises(ChunkGap) as refused:
        open_log(disk)
    assert (refused.value.before, refused.value.after, refused.value.missing) == (first, fourth, 3)


def test_a_missing_first_chunk() -> None:
    """W6: entries that the state counts on are nowhere; refused, with their indexes."""
    disk = new_disk()
    chunks(disk)
    first, second = chunk_names(disk)[:2]
    disk.remove(first)
    with pytest.raises(EntriesMissing, match=second) as refused:
        open_log(disk)
    assert (refused.value.start, refused.value.end) == (0, 2)


def test_a_first_chunk_that_is_missing_because_it_was_purged() -> None:
    """W5, W6: that is how it should be."""
    disk = new_disk()
    wal = open_log(disk, chunk_entries_max=2)
    entries = append(wal, 8)
    wal.purge(LogId(1, 4))
    wal.close()
    assert held(open_log(disk)) == entries[5:]


def test_a_missing_newest_chunk_head() -> None:
    """W6, W7: a later round in the same chunk proves that the head was there: damage, with file and position."""
    disk = new_disk()
    wal = open_log(disk)
    append(wal, 1)
    wal.flush()
    append(wal, 1)
    wal.flush()
    disk.kill()
    name = chunk_names(disk)[0]
    disk.damage(name, 40)
    with pytest.raises(DamagedLog) as refused:
        open_log(disk)
    assert (refused.value.file, refused.value.position) == (name, 0)
    assert refused.value.expected.startswith("crc32c")


def test_a_newest_chunk_of_zeros_is_a_leftover() -> None:
    """W7: a file that was only just made: nothing in it was ever acknowledged."""
    disk = new_disk()
    entries = chunks(disk)
    add_file(disk, f"{5:020}-{7:016x}.wal", bytes(5000))
    wal = open_log(disk)
    assert held(wal) == entries
    assert parsed(wal.stat().open_chunk).id == 6  # Its id is not used again.
    assert len(chunk_names(disk)) == wal.stat().chunks


def test_a_damaged_head_of_an_earlier_chunk() -> None:
    """W7: its successor proves it, so it is damage."""
    disk = new_disk()
    chunks(disk)
    name = chunk_names(disk)[1]
    disk.damage(name, 40)
    with pytest.raises(DamagedLog, match=name) as refused:
        open_log(disk)
    assert refused.value.position == 0


def test_foreign_files_are_ignored_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    """W6: names that are not chunk names, however similar; they stay as they are."""
    disk = new_disk()
    entries = chunks(disk)
    foreign = ["README", "1.wal", f"{9:020}.wal", f"{9:020}-{9:016X}.wal.bak", f"{9:020}-xyz.wal", "9.spare"]
    for name in foreign:
        add_file(disk, name, b"something else")
    wal = open_log(disk)
    assert held(wal) == entries
    assert sorted(wal.opened.foreign) == sorted(foreign)
    for name in foreign:
        assert f"ignored, {name} is not a chunk of this log" in caplog.text
        assert disk.content(name) == b"something else"


def test_the_lock_and_spares_are_not_foreign() -> None:
    """W6: nothing is warned about that the log made itself."""
    disk = new_disk()
    wal = open_log(disk, chunk_entries_max=5)
    append(wal, 12, size=700)
    wal.purge(LogId(1, 9))
    wal.close()
    add_file(disk, "LOCK", b"")
    assert open_log(disk).opened.foreign == ()


def test_a_newer_format_version_is_refused() -> None:
    """W6: by name and number, and nothing in the directory changes."""
    disk = new_disk()
    chunks(disk, 2)
    name = f"{3:020}-{7:016x}.wal"
    seed = parsed(name).seed
    body = encode_head(Head(FORMAT_VERSION + 1, 3, 2, 100, 0, WalState()))
    add_file(disk, name, encode_header(HEAD, [body], len(body), 0, 1, seed, mark_of(seed)) + body)
    names, calls = disk.names(), disk.calls
    with pytest.raises(NewerLog) as refused:
        open_log(disk)
    assert isinstance(refused.value, Rejected)
    assert (refused.value.file, refused.value.found, refused.value.known) == (name, FORMAT_VERSION + 1, FORMAT_VERSION)
    assert (disk.names(), disk.calls) == (names, calls)


def test_a_chunk_under_another_name_is_not_taken() -> None:
    """W6, W7: a chunk copied under another id or salt has no valid frame there: a leftover, and the log is whole."""
    disk = new_disk()
    entries = chunks(disk)
    add_file(disk, f"{9:020}-{parsed(chunk_names(disk)[0]).salt:016x}.wal", bytes(disk.content(chunk_names(disk)[0])))
    assert held(open_log(disk)) == entries


def test_a_head_that_contradicts_the_records_before_it_is_damage() -> None:
    """W7: an older chunk replaced by another one of the same name cannot pass."""
    disk, other = new_disk(), new_disk()
    chunks(disk)
    wal = open_log(other, chunk_entries_max=2)
    append(wal, 8, epoch=7)  # Frames of the same sizes, so that only what they say differs.
    wal.close()
    first, replaced = chunk_names(disk)[0], chunk_names(other)[0]
    assert first == replaced
    content = disk.content(first)
    content[:] = other.content(replaced)
    with pytest.raises(DamagedLog, match="the state") as refused:
        open_log(disk)
    assert refused.value.file == chunk_names(disk)[1]


def test_ids_of_leftovers_and_spares_are_never_used_again() -> None:
    """W7: the next id is above every id that any name in the directory carries."""
    disk = new_disk()
    entries = chunks(disk, 2)
    add_file(disk, f"{70:020}.spare", bytes(4096))
    wal = open_log(disk)
    assert parsed(wal.stat().open_chunk).id == 71
    wal = reopened(disk)
    assert parsed(wal.stat().open_chunk).id == 72
    assert held(wal) == entries
