"""The cache: what stays in memory, what goes, and what a read counts."""

from __future__ import annotations

from typing import Any

import pytest
from tests.wal.logs import UNCACHED, append, append_batch, held, new_disk, open_log, reopened

from holdfast.wal import LogId, Wal
from holdfast.wal.cache import PayloadCache


def cached(wal: Wal) -> tuple[int, int]:
    return wal.stat().cache_entries, wal.stat().cache_size


def rolled(wal: Wal) -> None:
    """Begin a new chunk, so that nothing of the ones before is kept for being in the open one."""
    append(wal, 1, size=5000)
    append(wal, 1)
    wal.flush()


@pytest.mark.parametrize(
    ("settings", "kept"),
    [({"cache_size_max": 250}, 2), ({"cache_entries_max": 3}, 3), ({"cache_size_max": 300, "cache_entries_max": 2}, 2)],
)
def test_closed_chunks_are_cached_up_to_a_size_and_a_count(settings: dict[str, Any], kept: int) -> None:
    """W8: the newest entries stay, within both bounds. The test of W8."""
    wal = open_log(new_disk(), chunk_entries_max=10, **settings)
    entries = append(wal, 10, size=100) + append(wal, kept, size=100)
    wal.flush()
    assert cached(wal) == (kept, kept * 100)
    assert held(wal) == entries
    assert (wal.stat().cache_hits, wal.stat().cache_misses) == (kept, 10)


def test_the_bounds_hold_at_their_exact_edges() -> None:
    """W8: as many bytes and entries as the bound says are kept, not one more."""
    cache = PayloadCache(300, 4)
    cache.pinned_from = 1 << 60
    cache.add(0, [bytes(100)] * 3, 300)
    assert (len(cache), cache.size) == (3, 300)
    cache.add(3, [b"x"], 1)
    assert (cache.first, len(cache), cache.size) == (1, 3, 201)
    cache.add(4, [b"", b""], 0)
    assert (cache.first, len(cache)) == (2, 4)


def test_the_open_chunk_stays_whatever_the_bounds_say() -> None:
    """W8: until it is closed; then the bounds apply."""
    wal = open_log(new_disk(), cache_size_max=0, cache_entries_max=0)
    append(wal, 10, size=100)
    wal.flush()
    assert cached(wal) == (10, 1000)
    rolled(wal)
    assert cached(wal)[0] == 1


def test_without_the_open_chunk_entries_stay_until_they_are_durable() -> None:
    """W8: what is not durable can be read from nowhere else."""
    wal = open_log(new_disk(), **UNCACHED)
    entries = append(wal, 10, size=100)
    assert cached(wal) == (10, 1000)
    assert wal.drain_cache_evictable() == 0
    assert held(wal) == entries
    wal.flush()
    assert cached(wal) == (0, 0)
    assert held(wal) == entries


def test_entries_that_are_not_durable_stay_over_a_roll_over() -> None:
    """W8: a closed chunk whose rounds are still on their way is read from memory."""
    wal = open_log(new_disk(), chunk_entries_max=3, **UNCACHED)
    entries = append(wal, 10)
    assert wal.stat().chunks == 4
    assert cached(wal)[0] == 10
    assert held(wal) == entries
    wal.flush()
    assert cached(wal)[0] == 0


def test_drain_drops_what_may_go_and_says_how_much() -> None:
    """W8: entries of closed chunks go, those of the open one stay."""
    wal = open_log(new_disk(), chunk_entries_max=4)
    entries = append(wal, 10)
    wal.flush()
    assert wal.drain_cache_evictable() == 8
    assert wal.drain_cache_evictable() == 0
    assert cached(wal)[0] == 2
    assert held(wal) == entries


def test_hits_and_misses_are_counted_by_entry() -> None:
    """W8: one read over disk and memory counts each entry once, on its side."""
    wal = open_log(new_disk(), chunk_entries_max=4)
    entries = append(wal, 10)
    wal.flush()
    wal.drain_cache_evictable()
    assert held(wal) == entries
    stat = wal.stat()
    assert (stat.cache_hits, stat.cache_misses) == (2, 8)
    assert held(wal, 3, 5) == entries[3:5]
    assert held(wal, 9) == entries[9:]
    stat = wal.stat()
    assert (stat.cache_hits, stat.cache_misses) == (3, 10)


def test_after_a_reopen_everything_comes_from_disk() -> None:
    """W8: what is read from disk is not put into the cache."""
    disk = new_disk()
    wal = open_log(disk)
    entries = append(wal, 5)
    wal.flush()
    wal = reopened(disk)
    for reads in (1, 2):
        assert held(wal) == entries
        assert (wal.stat().cache_hits, wal.stat().cache_misses) == (0, 5 * reads)


def test_truncate_and_purge_take_entries_out_of_the_cache() -> None:
    """W8: their bytes are not counted any more."""
    wal = open_log(new_disk())
    append(wal, 10, size=100)
    wal.truncate(8)
    assert cached(wal) == (8, 800)
    wal.purge(LogId(1, 2))
    assert cached(wal) == (5, 500)
    wal.truncate(3)
    assert cached(wal) == (0, 0)
    append(wal, 2, size=10, epoch=2)
    assert cached(wal) == (2, 20)
    wal.purge(LogId(9, 50))
    assert cached(wal) == (0, 0)
    entries = append(wal, 1, epoch=9)
    assert held(wal) == entries


def test_a_cut_below_everything_cached_begins_a_new_run() -> None:
    """W8: the cache holds one unbroken run of indexes, wherever it begins again."""
    wal = open_log(new_disk(), chunk_entries_max=4)
    old = append(wal, 10)
    wal.flush()
    wal.drain_cache_evictable()
    wal.truncate(2)
    new = append(wal, 3, epoch=2)
    assert held(wal) == old[:2] + new
    wal.flush()
    assert held(wal) == old[:2] + new


def test_many_evictions_free_the_memory_of_their_slots() -> None:
    """W8: the list behind the cache does not grow with everything that ever went through it."""
    wal = open_log(new_disk(), chunk_size_max=1 << 20, cache_entries_max=10, cache_open_chunk=False)
    for _ in range(30):
        append_batch(wal, 1000)
        wal.flush()
    assert cached(wal)[0] == 10
    assert len(wal._cache._payloads) < 10_000
