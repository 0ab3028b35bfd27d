"""The block cache under many threads: one download for all, a bound that holds, and read-ahead that never doubles."""

from __future__ import annotations

import random
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from holdfast.errors import Rejected, Unavailable
from holdfast.io.objects import StoreFailed
from holdfast.segment.cached.block_memory import BlockMemory
from holdfast.segment.cached.blocks import BlockCache
from holdfast.segment.cached.read import SegmentReader
from holdfast.segment.writer import encode_segment

BLOCK = 1024
NAME = "segments/x/0/one.seg"
DATA = bytes(random.Random(1).randbytes(64 * BLOCK + 100))
SOON = 20  # Seconds after which a test that hangs gives up.


@pytest.fixture
def filled(store):
    store.inner.put(NAME, [DATA])
    return store


@pytest.fixture
def pool():
    with ThreadPoolExecutor(8) as executor:
        yield executor


def block(number):
    return DATA[number * BLOCK : (number + 1) * BLOCK]


def test_blocks_are_aligned_and_kept(filled):
    """L5: the last one is short; the second time nothing is downloaded."""
    cache = BlockCache(filled, 10 * BLOCK, block_size=BLOCK)
    for _ in range(2):
        for number in (0, 5, 64):
            assert cache.block(NAME, len(DATA), number)[0] == block(number)
    counters = cache.counters()
    assert (counters.hits, counters.misses, len(filled.requests)) == (3, 3, 3)
    assert counters.size == 2 * BLOCK + 100


def test_the_least_recently_used_block_goes_first(filled):
    """L5: and a used one stays."""
    cache = BlockCache(filled, 3 * BLOCK, block_size=BLOCK)
    for number in (0, 1, 2, 0, 3):
        cache.block(NAME, len(DATA), number)
    filled.requests.clear()
    for number in (0, 2, 3):
        cache.block(NAME, len(DATA), number)
    assert filled.requests == []
    cache.block(NAME, len(DATA), 1)
    assert len(filled.requests) == 1
    assert cache.counters().evicted == 2


def test_a_bound_smaller_than_a_block_is_refused(filled):
    """L5: it could never hold anything."""
    with pytest.raises(Rejected):
        BlockCache(filled, BLOCK - 1, block_size=BLOCK)


def test_one_download_for_many_readers(filled, pool):
    """L5: readers that come while a download is under way wait for it."""
    cache = BlockCache(filled, 10 * BLOCK, block_size=BLOCK)
    started, go_on = threading.Event(), threading.Event()
    filled.before["get"] = lambda _: (started.set(), go_on.wait(SOON))
    first = pool.submit(cache.block, NAME, len(DATA), 3)
    assert started.wait(SOON)
    others = [pool.submit(cache.block, NAME, len(DATA), 3) for _ in range(7)]
    while cache.counters().coalesced < 7:
        threading.Event().wait(0.001)
    go_on.set()
    assert all(each.result(SOON)[0] == block(3) for each in [first, *others])
    assert len(filled.requests) == 1


def test_a_failed_download_fails_all_who_wait_and_is_not_kept(filled, pool):
    """L3: everybody is told; the next one tries again."""
    cache = BlockCache(filled, 10 * BLOCK, block_size=BLOCK)
    started, go_on = threading.Event(), threading.Event()

    def fail(name):
        started.set()
        go_on.wait(SOON)
        raise StoreFailed("get", name, "reset")

    filled.before["get"] = fail
    readers = [pool.submit(cache.block, NAME, len(DATA), 3)]
    assert started.wait(SOON)
    readers += [pool.submit(cache.block, NAME, len(DATA), 3) for _ in range(3)]
    while cache.counters().coalesced < 3:
        threading.Event().wait(0.001)
    go_on.set()
    for each in readers:
        with pytest.raises(Unavailable):
            each.result(SOON)
    filled.before.clear()
    assert cache.counters().size == 0
    assert cache.block(NAME, len(DATA), 3) == (block(3), False)


def test_the_bound_holds_with_many_threads_and_failures(filled):
    """L5: kept and in flight together never exceed it, and every reader gets the right bytes. The test of L5."""
    cache = BlockCache(filled, 4 * BLOCK, block_size=BLOCK)
    wrong = []

    luck = random.Random(5)

    def fail_sometimes(name):
        if luck.random() < 0.1:
            raise StoreFailed("get", name, "slow down")

    filled.before["get"] = fail_sometimes

    def work(seed):
        chance = random.Random(seed)
        for _ in range(300):
            number = chance.randrange(12)
            try:
                found = cache.block(NAME, len(DATA), number)[0]
            except Unavailable:
                continue
            if found != block(number):
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(SOON)
    counters = cache.counters()
    assert wrong == []
    assert counters.hits + counters.misses + counters.coalesced == 8 * 300
    assert counters.size_max_seen <= 4 * BLOCK
    assert counters.failed > 0


def test_a_full_cache_of_downloads_makes_others_wait_not_overflow(filled, pool):
    """L5: more readers than room: the third waits until the first two are there."""
    cache = BlockCache(filled, 2 * BLOCK, block_size=BLOCK)
    go_on = threading.Event()
    filled.before["get"] = lambda _: go_on.wait(SOON)
    readers = [pool.submit(cache.block, NAME, len(DATA), number) for number in range(5)]
    while len(filled.requests) < 2:
        threading.Event().wait(0.001)
    assert cache.counters().size == 2 * BLOCK
    go_on.set()
    assert [each.result(SOON)[0] for each in readers] == [block(number) for number in range(5)]
    assert cache.counters().size_max_seen == 2 * BLOCK


@pytest.fixture
def segment(store, home, make_batch):
    """200 batches in 47 blocks; intervals are smaller than blocks, as they are in life."""
    batches = [make_batch(n, size=900) for n in range(200)]
    buffers, info = encode_segment(batches, home=home, epoch=1, tag="t", interval_size=2 * BLOCK)
    store.inner.put(info.name, buffers)
    return info


@pytest.mark.parametrize("threads", [1, 4])
def test_a_sequential_reader_is_read_ahead_of_and_nothing_is_downloaded_twice(store, segment, threads):
    """L5: every block once, most of them before they are asked for."""
    downloads: Counter[tuple[int, int]] = Counter()
    whole = store.inner.get

    def get(name, start=0, end=None):
        downloads[(start, end)] += 1
        return whole(name, start, end)

    store.inner.get = get
    with ThreadPoolExecutor(threads) as executor:
        cache = BlockCache(store, 1024 * BLOCK, block_size=4 * BLOCK, executor=executor)
        reader, offset = SegmentReader(cache), 0
        while offset < segment.end:
            offset = reader.read(segment, offset, 2000).next_offset
            executor.submit(int).result(SOON)  # Whatever was asked for ahead has begun, so that the count is steady.
    assert set(downloads.values()) == {1}
    counters = cache.counters()
    assert counters.ahead > 30
    assert counters.ahead + counters.misses == len(downloads)


def test_a_random_reader_is_not_read_ahead_of(store, segment, pool):
    """L5: blocks nobody asked for are not downloaded."""
    reader = SegmentReader(BlockCache(store, 1024 * BLOCK, block_size=4 * BLOCK, executor=pool))
    for offset in (180, 20, 140, 60, 100):
        reader.read(segment, offset, 0)
    pool.shutdown()
    assert reader.blocks.counters().ahead == 0


def test_a_reader_never_waits_for_a_load_ahead_that_has_not_begun(store, segment):
    """L5: with one thread for readers and read-ahead alike nothing can block."""
    with ThreadPoolExecutor(1) as executor:
        reader = SegmentReader(BlockCache(store, 1024 * BLOCK, block_size=BLOCK, executor=executor))
        found = executor.submit(reader.read, segment, 0, 10**6).result(SOON)
    assert found.next_offset == segment.end


def test_read_ahead_that_fails_hurts_nobody(store, segment):
    """L3: the reader who needs the block asks for it and gets it, or the error."""
    refused = []

    def fail_once(name):
        if threading.current_thread().name.startswith("ahead") and len(refused) < 5:
            refused.append(name)
            raise StoreFailed("get", name, "slow down")

    store.before["get"] = fail_once
    with ThreadPoolExecutor(1, thread_name_prefix="ahead") as executor:
        reader, offset = SegmentReader(BlockCache(store, 1024 * BLOCK, block_size=BLOCK, executor=executor)), 0
        while offset < segment.end:
            executor.submit(int).result(SOON)
            offset = reader.read(segment, offset, 2000).next_offset
    assert len(refused) == 5


def test_a_stopped_executor_only_ends_read_ahead(store, segment, pool):
    """L3: reads go on."""
    reader = SegmentReader(BlockCache(store, 1024 * BLOCK, block_size=BLOCK, executor=pool))
    pool.shutdown()
    assert reader.read(segment, 0, 10**6).next_offset == segment.end


def test_memory_of_a_block_is_used_again_only_when_nobody_sees_it() -> None:
    """L5, D4: a client that takes its time is sent the block that was read for it, not a later one."""
    memory = BlockMemory(4096)
    first = memory.take(4096)
    first[:] = bytes([1]) * 4096
    view = first[10:20].toreadonly()
    del first
    second = memory.take(4096)
    second[:] = bytes([2]) * 4096
    assert view == bytes([1]) * 10
    del view, second
    third, fourth, fifth = (memory.take(4096) for _ in range(3))
    assert {third[0], fourth[0]} == {1, 2}
    fifth[:] = bytes([3]) * 4096
    assert {third[0], fourth[0]} == {1, 2}


def test_a_block_of_another_size_has_memory_of_its_own() -> None:
    """L5: the last block of a segment is smaller than the others."""
    assert len(BlockMemory(4096).take(100)) == 100
