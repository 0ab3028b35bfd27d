"""Looking at a log from outside: every record listed, damage found and named, a live log not taken for a broken one."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise

from tests.wal.logs import append, append_batch, chunk_names, held, kinds, lines, new_disk, open_log

from holdfast.io.disk.simulated import SimulatedDisk, SimulatedFile
from holdfast.wal import LogId, Vote
from holdfast.wal.inspect import verify


class WatchedFile(SimulatedFile):
    """A file that somebody else writes to while it is read."""

    def __init__(self, inner: SimulatedFile, meanwhile: Callable[[int], None]) -> None:
        super().__init__(inner._disk, inner._inode, inner._generation)
        self._meanwhile = meanwhile

    def read_at(self, position: int, size: int) -> bytes:
        data = super().read_at(position, size)
        self._meanwhile(position)
        return data


class LiveDisk:
    """A directory as one sees it from another process while its log is being written to."""

    def __init__(self, disk: SimulatedDisk, meanwhile: Callable[[int], None]) -> None:
        self.path = disk.path
        self._disk = disk
        self._meanwhile = meanwhile

    def names(self) -> list[str]:
        return self._disk.names()

    def open(self, name: str, *, create: bool = False, write: bool = True) -> WatchedFile:
        return WatchedFile(self._disk.open(name, create=create, write=write), self._meanwhile)


def test_dump_lists_every_record_of_every_chunk() -> None:
    """W9: position, kind, log ids, size, round and crc of each, oldest first."""
    disk = new_disk()
    wal = open_log(disk, chunk_entries_max=4)
    wal.save_vote(Vote(1, 7))
    append_batch(wal, 3)
    append(wal, 2)
    wal.flush()
    wal.truncate(4)
    wal.commit(LogId(1, 2))
    wal.purge(LogId(1, 0))
    wal.save_user_data(b"12345")
    wal.close()
    listing = lines(disk)
    assert [line.kind for line in listing] == [
        *("head", "vote", "append", "append"),
        *("head", "append", "truncate", "commit", "purge", "state", "padding", "marker"),
    ]
    assert all(line.crc_ok for line in listing)
    batch = listing[2]
    assert (batch.first, batch.last) == (LogId(1, 0), LogId(1, 2))
    assert (listing[6].last, listing[7].last, listing[8].last) == (LogId(1, 3), LogId(1, 2), LogId(1, 0))
    assert listing[9].detail == "5 bytes of user data"
    assert listing[11].detail == "closed"
    assert [line.round for line in listing] == sorted(line.round for line in listing)
    for before, after in pairwise(listing):
        assert after.position == before.position + before.size


def test_dump_marks_what_a_later_chunk_put_aside() -> None:
    """W7, W9: bytes beyond the end that the next head recorded are shown, and said to be ignored."""
    disk = new_disk()
    wal = open_log(disk)
    append(wal, 1)
    wal.flush()
    append(wal, 1)
    wal.flush()
    disk.kill()
    open_log(disk)
    old, new = (lines(disk, name) for name in chunk_names(disk))
    assert [("ignored" in line.detail, line.kind) for line in old] == [
        (False, "head"),
        (False, "append"),
        (True, "append"),
    ]
    assert [line.kind for line in new] == ["head", "append"]


def test_dump_shows_where_damage_begins() -> None:
    """W9: one line says where no valid frame is although there was one, what was expected and what was found."""
    disk = new_disk()
    wal = open_log(disk)
    entries = append(wal, 3)
    wal.close()
    name = chunk_names(disk)[0]
    place = lines(disk, name)[2].offset
    disk.damage(name, disk.content(name).find(entries[1][1]))
    listing = lines(disk, name)
    assert [line.kind for line in listing] == ["head", "append", "damaged"]
    assert (listing[2].offset, listing[2].crc_ok) == (place, False)
    assert re.search(r"expected crc32c 0x\w+, found crc32c 0x\w+", listing[2].detail), listing[2].detail


def test_verify_of_a_sound_log() -> None:
    """W9: it counts, gives the state, tells a closed log from an open one, changes nothing and takes no lock."""
    disk = new_disk()
    wal = open_log(disk, chunk_entries_max=3)
    append(wal, 10)
    wal.purge(LogId(1, 1))
    wal.sync()
    before = disk.calls, {name: bytes(disk.content(name)) for name in disk.names()}
    verdict = verify(disk)
    assert (verdict.sound, verdict.clean, verdict.entries, verdict.chunks) == (True, False, 8, 4)
    assert verdict.state == wal.state
    assert (disk.calls, {name: bytes(disk.content(name)) for name in disk.names()}) == before
    wal.close()
    assert verify(disk).clean
    assert verify(new_disk()).sound


def test_verify_names_damage() -> None:
    """W9: file, position, expected and found, and one sentence with all of it."""
    disk = new_disk()
    wal = open_log(disk)
    entries = append(wal, 3)
    wal.close()
    name = chunk_names(disk)[0]
    place = lines(disk, name)[2].offset
    disk.damage(name, disk.content(name).find(entries[1][1]))
    verdict = verify(disk)
    assert (verdict.sound, verdict.file, verdict.position) == (False, name, place)
    assert verdict.expected.startswith("crc32c")
    assert all(word in verdict.damage for word in (name, str(place), verdict.expected, verdict.found))


def test_verify_names_a_gap() -> None:
    """W6, W9: a missing chunk is damage, too."""
    disk = new_disk()
    wal = open_log(disk, chunk_entries_max=3)
    append(wal, 10)
    wal.close()
    missing = chunk_names(disk)[1]
    disk.remove(missing)
    verdict = verify(disk)
    assert not verdict.sound
    assert "gap between chunks" in verdict.damage


def test_a_log_that_is_written_to_while_one_looks_is_sound() -> None:
    """W9: rounds that become durable between two reads prove nothing about what was read before them."""
    disk = new_disk()
    wal = open_log(disk, chunk_size_max=1 << 20)
    left = 0

    def meanwhile(position: int) -> None:
        nonlocal left
        if left > 0 and position == wal.stat().open_chunk_size:  # Somebody has just seen that here is the end.
            for _ in range(3):
                append(wal, 1)
                wal.flush()
            left -= 3

    live = LiveDisk(disk, meanwhile)
    append(wal, 1)
    wal.flush()
    left = 300
    verdict = verify(live)  # type: ignore[arg-type]
    assert verdict.sound, verdict.damage
    left = 300
    assert "damaged" not in kinds(live)  # type: ignore[arg-type]
    assert len(held(wal)) == 601


def test_a_log_that_is_purged_while_one_looks_is_sound() -> None:
    """W9: chunks that go between two looks are no gap."""
    disk = new_disk()
    wal = open_log(disk, chunk_entries_max=3)
    append(wal, 40)
    wal.flush()
    purged = -1

    def meanwhile(_: int) -> None:
        nonlocal purged
        if purged < 30:
            purged += 10
            wal.purge(LogId(1, purged))
            wal.flush()

    live = LiveDisk(disk, meanwhile)
    verdict = verify(live)  # type: ignore[arg-type]
    assert verdict.sound, verdict.damage
    purged = 29
    assert "damaged" not in kinds(live)  # type: ignore[arg-type]
