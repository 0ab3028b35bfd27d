"""Chunks: when a new one begins, at the exact edges, and with what."""

from __future__ import annotations

import pytest
from tests.wal.logs import append, append_batch, calls_of, chunk_names, held, kinds, lines, new_disk, open_log, reopened

from holdfast.io.disk.simulated import SimulatedDisk
from holdfast.wal import LogId, Vote, Wal
from holdfast.wal.format.frame import HEADER
from holdfast.wal.format.record import APPEND_FIXED
from holdfast.wal.inspect import RecordLine

OVERHEAD = HEADER.size + APPEND_FIXED.size + 4  # What an append of one entry has on disk besides its payload.


def room(wal: Wal) -> int:
    """How large a payload still fits into the open chunk."""
    return 4096 - wal.stat().open_chunk_size - OVERHEAD


def chunk_sizes(disk: SimulatedDisk) -> list[int]:
    """Where the frames of each chunk end."""
    return [lines(disk, name)[-1].offset + lines(disk, name)[-1].size for name in chunk_names(disk)]


@pytest.mark.parametrize("over", [-1, 0, 1])
def test_roll_over_by_size_at_the_exact_edge(over: int) -> None:
    """W5: a frame that exactly fills the chunk is in it; one byte more begins a new one."""
    disk = new_disk()
    wal = open_log(disk)
    entries = append(wal, 1)
    entries += append(wal, 1, size=room(wal) + over)
    wal.flush()
    assert wal.stat().chunks == (2 if over > 0 else 1)
    assert (chunk_sizes(disk)[0] == 4096) == (over == 0)
    entries += append(wal, 1)
    wal.flush()
    assert wal.stat().chunks == {-1: 2, 0: 2, 1: 3}[over]
    assert held(wal) == entries
    assert held(reopened(disk)) == entries


def test_roll_over_by_count_at_the_exact_edge() -> None:
    """W5: the chunk takes as many entries as it may, and the next one begins a new chunk."""
    disk = new_disk()
    wal = open_log(disk, chunk_entries_max=3)
    entries = append(wal, 3)
    assert wal.stat().chunks == 1
    entries += append(wal, 1)
    assert wal.stat().chunks == 2
    entries += append(wal, 2)
    assert wal.stat().chunks == 2
    entries += append(wal, 1)
    assert wal.stat().chunks == 3
    wal.flush()
    assert [kinds(disk, name).count("append") for name in chunk_names(disk)] == [3, 3, 1]
    assert held(reopened(disk, chunk_entries_max=3)) == entries


def count_of(line: RecordLine) -> int:
    """How many entries a record has."""
    return line.last.index - line.first.index + 1 if line.first and line.last else 0


@pytest.mark.parametrize(("before", "batch", "counts"), [(2, 3, [2, 3]), (0, 3, [3]), (0, 7, [3, 3, 1]), (1, 2, [3])])
def test_a_batched_append_across_a_roll_over(before: int, batch: int, counts: list[int]) -> None:
    """W5: a batch that does not fit goes into the next chunk whole; one larger than a chunk is split."""
    disk = new_disk()
    wal = open_log(disk, chunk_entries_max=3)
    entries = append(wal, before) + append_batch(wal, batch)
    wal.flush()
    found = [sum(map(count_of, lines(disk, name))) for name in chunk_names(disk)]
    assert found == counts
    assert held(wal) == entries
    assert held(reopened(disk)) == entries


def test_a_record_larger_than_a_chunk_has_one_to_itself() -> None:
    """W5: and the next one begins another chunk."""
    disk = new_disk()
    wal = open_log(disk)
    entries = append(wal, 1) + append(wal, 1, size=9000) + append(wal, 1)
    wal.flush()
    assert [kinds(disk, name) for name in chunk_names(disk)] == [["head", "append"]] * 3
    assert held(reopened(disk)) == entries


def test_a_large_record_in_a_chunk_without_own_records_does_not_roll_over_first() -> None:
    """W5: a chunk that holds nothing but its head would only be an empty file."""
    disk = new_disk()
    wal = open_log(disk)
    append(wal, 1, size=9000)
    wal.flush()
    assert wal.stat().chunks == 1


def test_votes_alone_roll_over_too() -> None:
    """W5: every kind of record counts for the size."""
    disk = new_disk()
    wal = open_log(disk)
    for number in range(300):
        wal.save_vote(Vote(number, 1))
    wal.flush()
    assert wal.stat().chunks > 2
    assert max(chunk_sizes(disk)) <= 4096
    assert reopened(disk).state.vote == Vote(299, 1)


def test_a_chunk_begins_with_the_whole_state_and_names_its_predecessor() -> None:
    """W5, W7: who it is, where the one before ends, and everything before its first record."""
    disk = new_disk()
    wal = open_log(disk, chunk_entries_max=2)
    wal.save_vote(Vote(3, 1))
    wal.save_user_data(b"mine")
    append(wal, 3, epoch=3)
    wal.flush()
    first, second = chunk_names(disk)
    head = lines(disk, second)[0]
    end = chunk_sizes(disk)[0]
    assert head.detail == f"version 1, after 1 at {end}"
    assert head.last == LogId(3, 1)
    assert head.position == lines(disk, first)[0].position + end


def test_each_round_of_a_roll_over_is_durable_before_the_next_is_written() -> None:
    """W5, W7: the chunk before is synced, the new name is durable, then its first byte is written."""
    disk = new_disk()
    wal = open_log(disk, chunk_entries_max=2)
    with calls_of(disk) as calls:
        append(wal, 5)
        wal.flush()
    assert calls == ["write", "sync", *["create", "sync_names", "write", "sync"] * 2]


def test_append_returns_the_position_behind_it() -> None:
    """W2: positions count bytes over all chunks without a gap."""
    disk = new_disk()
    wal = open_log(disk, chunk_entries_max=2)
    positions = [wal.append(LogId(1, index), [b"x"]) for index in range(6)]
    assert positions == sorted(set(positions))
    assert positions[-1] == wal.stat().end
    wal.flush()
    ends = [line.position + line.size for line in lines(disk) if line.kind == "append"]
    assert positions == ends
