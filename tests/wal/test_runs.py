"""Small entries that are appended one by one share a frame: they count at once, and are durable when flushed."""

from __future__ import annotations

import pytest
from tests.wal.logs import append, append_run, chunk_names, held, kinds, new_disk, open_log, reopened

from holdfast.io.disk.simulated import SimulatedDisk
from holdfast.wal import LogId, NotConsecutive, Overloaded, Vote


def appends(disk: SimulatedDisk) -> int:
    """How many append records there are on disk."""
    return sum(kinds(disk, name).count("append") for name in chunk_names(disk))


def test_a_run_is_one_frame() -> None:
    """W2: entries one by one are one record, and come back as they were."""
    disk = new_disk()
    wal = open_log(disk)
    entries = append_run(wal, 20)
    wal.flush()
    assert appends(disk) == 1
    assert held(wal) == entries
    assert held(reopened(disk)) == entries


@pytest.mark.parametrize(
    ("size_max", "frames"), [(0, 20), (24 + 20 + 4 + 100, 20), (24 + 20 + 5 * 104, 4), (1 << 20, 1)]
)
def test_a_frame_is_shared_up_to_a_size(size_max: int, frames: int) -> None:
    """W7: so that a bad byte takes no more than that with it."""
    disk = new_disk()
    wal = open_log(disk, shared_frame_size_max=size_max)
    entries = append_run(wal, 20, size=100)
    wal.flush()
    assert appends(disk) == frames
    assert held(reopened(disk)) == entries


def test_a_run_counts_before_it_is_flushed() -> None:
    """W2, W8: state, reads and log ids know of entries that have no frame yet."""
    wal = open_log(new_disk())
    entries = append(wal, 3) + append_run(wal, 4)
    assert wal.state.last == LogId(1, 6)
    assert wal.log_id(5) == LogId(1, 5)
    assert wal.queued_size > 0
    assert held(wal) == entries
    with pytest.raises(NotConsecutive):
        wal.append_one(LogId(1, 6), (b"again",))


def test_every_other_record_comes_behind_the_run() -> None:
    """W2: the order of calls is the order of records, whatever kind they are."""
    disk = new_disk()
    wal = open_log(disk)
    append_run(wal, 2)
    wal.save_vote(Vote(3, 1))
    append_run(wal, 2, epoch=3)
    wal.commit(LogId(3, 3))
    append_run(wal, 2, epoch=3)
    wal.truncate(5)
    append_run(wal, 2, epoch=4)
    wal.purge(LogId(1, 0))
    append_run(wal, 1, epoch=4)
    append(wal, 1, epoch=4)
    wal.flush()
    names = [kind for kind in kinds(disk, chunk_names(disk)[-1]) if kind not in ("head", "marker")]
    order = ["append", "vote", "append", "commit", "append", "truncate", "append", "purge", "append", "append"]
    assert names == order
    assert held(reopened(disk)) == held(wal)


def test_a_run_ends_where_its_chunk_is_full() -> None:
    """W5: chunks roll over at their size and count between entries of a run, too."""
    disk = new_disk()
    wal = open_log(disk, chunk_entries_max=8)
    entries = append_run(wal, 20) + append_run(wal, 20, size=900)
    wal.flush()
    assert wal.stat().chunks >= 7
    assert held(wal) == entries
    assert held(reopened(disk, chunk_entries_max=8)) == entries


def test_a_run_is_no_way_round_the_queue() -> None:
    """W4: what waits in a run is part of what may wait."""
    wal = open_log(new_disk(), queue_size_max=2000)
    with pytest.raises(Overloaded):
        append_run(wal, 100, size=100)
    assert wal.queued_size < 2500
    count = wal.state.next_index
    wal.flush()
    append_run(wal, 1)
    assert wal.state.next_index == count + 1


def test_blocks_are_the_entries() -> None:
    """W8: blocks from memory and from disk hold what entries do, in order, each of one epoch."""
    disk = new_disk()
    wal = open_log(disk)
    entries = [*append_run(wal, 30, size=50), *append(wal, 7, epoch=2), *append_run(wal, 30, epoch=3, size=5)]
    wal.flush()
    for log in (wal, reopened(disk)):
        for start, end in ((0, 67), (5, 6), (29, 31), (36, 60), (66, 1 << 60)):
            found = [
                (LogId(block.first.epoch, block.first.index + number), bytes(block.payload(number)))
                for block in log.read_blocks(start, end)
                for number in range(block.entry_count)
            ]
            assert found == entries[start:end]
