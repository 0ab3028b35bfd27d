"""Reads of one segment: every offset, every limit, every block border, every damage."""

from __future__ import annotations

import pytest

from holdfast.errors import Corrupt, Unavailable
from holdfast.io.objects import NotFound, StoreFailed
from holdfast.segment.cached.blocks import BlockCache
from holdfast.segment.cached.read import KeptReader, SegmentReader
from holdfast.segment.errors import Damaged, SegmentLost
from holdfast.segment.format import HEADER_SIZE
from holdfast.segment.manifest.changes import Append, RaiseLogStart, Replace
from holdfast.segment.missing import Expired, Replaced, judge
from holdfast.segment.writer import encode_segment


@pytest.fixture
def stored(home, store):
    """A segment that is in the store."""

    def put(batches, **options):
        buffers, info = encode_segment(batches, home=home, epoch=1, tag="f" * 16, **options)
        store.inner.put(info.name, buffers)
        return info

    return put


@pytest.fixture
def reader(store):
    def make(block_size=1024, size_max=1024 * 1024, **options):
        return SegmentReader(BlockCache(store, size_max, block_size=block_size, **options))

    return make


@pytest.fixture
def batches(make_batch):
    """40 batches of 1 to 5 records, 61 to 2,000 bytes: offsets 0 to 120, one interval after another."""
    made, offset = [], 0
    for number in range(40):
        made.append(make_batch(offset, 1 + number % 5, size=number * 97 % 1900, timestamp=1000 + number * 10))
        offset += 1 + number % 5
    return made


def expected(batches, offset, max_bytes):
    """What a read must find, from the definition."""
    left, found = max_bytes, []
    for batch in batches:
        base = int.from_bytes(batch[:8], "big")
        if base + int.from_bytes(batch[23:27], "big") + 1 <= offset:
            continue
        if found and len(batch) > left:
            break
        found.append(batch)
        left -= len(batch)
    return b"".join(found)


@pytest.mark.parametrize("block_size", [97, 1024, 1 << 20])
@pytest.mark.parametrize("interval_size", [500, 65536])
def test_every_offset_and_limit_reads_the_right_batches(stored, reader, batches, block_size, interval_size):
    """L2, A5: from the batch that holds the offset, whole batches up to the limit, wherever a block ends."""
    info = stored(batches, interval_size=interval_size)
    segments = reader(block_size)
    for offset in range(info.end):
        for max_bytes in (-1, 0, 1, 300, 5000, 10**9):
            found = segments.read(info, offset, max_bytes)
            data = b"".join(found.buffers)
            assert data == expected(batches, offset, max_bytes)
            assert found.size == len(data)
            headers = [header for header, _ in found.batches()]
            assert found.batch_count == len(headers)
            assert found.record_count == sum(header.record_count for header in headers)
            assert found.next_offset == headers[-1].end_offset


def test_a_batch_is_copied_only_across_a_border(stored, reader, make_batch, store):
    """L5: everything else is a view of a cached block."""
    info = stored([make_batch(number, size=139) for number in range(30)])
    segments = reader(1024)
    found = segments.read(info, 0, 10**9)
    found_in = [segments.blocks.block(info.name, info.size, number)[0] for number in range(info.size // 1024 + 1)]
    blocks = {id(each.obj) for each in found_in}
    copied = [each for each in found.buffers if id(each.obj) not in blocks]
    assert len(copied) == 5
    assert all(len(each) == 200 for each in copied)
    assert len(found.buffers) == 11


def test_in_pieces_nothing_is_copied(stored, reader, make_batch):
    """L5: who only sends batches on gets views, cut where a block ends, and the same bytes."""
    info = stored([make_batch(number, size=139) for number in range(30)])
    segments = reader(1024)
    whole, pieces = segments.read(info, 0, 10**9), segments.read(info, 0, 10**9, in_pieces=True)
    assert b"".join(pieces.buffers) == b"".join(whole.buffers)
    assert pieces[1:5] == whole[1:5]
    found_in = [segments.blocks.block(info.name, info.size, number)[0] for number in range(info.size // 1024 + 1)]
    assert {id(each.obj) for each in pieces.buffers} <= {id(each.obj) for each in found_in}


def test_what_is_not_needed_is_not_held_against_its_crc(stored, reader, make_batch, store):
    """D4: damage behind the end of a read is none of its business; who reads on meets it."""
    batches = [make_batch(number, size=600) for number in range(6)]
    info = stored(batches, interval_size=500)
    damaged = bytearray(store.inner.get(info.name))
    at = bytes(damaged).index(bytes(batches[1])) + len(batches[1]) - 5
    damaged[at] ^= 1
    store.inner.put(info.name, [bytes(damaged)])
    found = reader(1024).read(info, 0, len(batches[0]))
    assert (found.damage, found.next_offset) == (None, 1)
    with pytest.raises(Damaged):
        reader(1024).read(info, 1, len(batches[0]))


def test_limits_of_records_and_end(stored, reader, batches):
    """L1: a read stops before it has too many records, and before an offset that may not be seen yet."""
    info = stored(batches)
    segments = reader()
    assert segments.read(info, 0, 10**9, max_records=6).record_count == 6
    assert segments.read(info, 0, 10**9, max_records=9).record_count == 6
    assert segments.read(info, 10, 10**9, max_records=1).next_offset == 15
    assert segments.read(info, 0, 10**9, end=6).next_offset == 6
    nothing = segments.read(info, 6, 10**9, end=6)
    assert (nothing.buffers, nothing.next_offset) == ([], 6)


def test_a_read_at_a_hole_returns_the_next_batch(stored, reader, make_batch):
    """L2: in a compacted segment; behind its last batch the read goes on in the next segment."""
    info = stored([make_batch(5), make_batch(9, 2)], start=0, end=20, compacted=True)
    segments = reader()
    assert [segments.read(info, offset, 0).next_offset for offset in (0, 5, 6, 10)] == [9, 9, 20, 20]
    past = segments.read(info, 11, 1000)
    assert (past.buffers, past.next_offset) == ([], 20)
    empty = stored([], start=20, end=30, compacted=True)
    assert segments.read(empty, 25, 1000).next_offset == 30
    assert segments.find_timestamp(empty, 0) is None


def test_a_hole_at_the_end_of_an_interval_goes_on_in_the_next(stored, reader, make_batch):
    """L2: the index points to the interval before the hole; the batch is in the one behind it."""
    info = stored([make_batch(0, size=50), make_batch(7, size=50)], compacted=True, interval_size=100)
    found = reader().read(info, 3, 1000)
    assert [header.base_offset for header, _ in found.batches()] == [7]


def test_lookup_by_timestamp(stored, reader, make_batch):
    """K2: the first batch with a record that late, also when times go back and forth."""
    times = [10, 50, 20, 30, 90, 40, 60, 95]
    info = stored([make_batch(number, timestamp=time) for number, time in enumerate(times)], interval_size=150)
    segments = reader()
    for timestamp in range(100):
        for start in range(len(times)):
            first = next((number for number in range(start, len(times)) if times[number] >= timestamp), None)
            found = segments.find_timestamp(info, timestamp, start)
            assert (found and found[0].base_offset) == first


def test_every_flipped_bit_is_found_by_open_or_read(stored, reader, make_batch, store):
    """L2: a damaged byte of batches, index or footer is never handed out, also in fields no batch crc covers."""
    info = stored([make_batch(0, 3), make_batch(3, 2)])
    data = store.inner.get(info.name)
    for position in range(HEADER_SIZE, len(data)):
        damaged = bytearray(data)
        damaged[position] ^= 1 << position % 8
        store.inner.put(info.name, [damaged])
        with pytest.raises(Corrupt):
            reader().read(info, 0, 10**9)


def test_a_segment_that_is_too_short_is_damage_not_a_short_read(stored, reader, batches, store):
    """S7: an object that lost its end is never read as a shorter one."""
    info = stored(batches)
    segments = reader()
    segments.open(info)
    store.inner.put(info.name, [store.inner.get(info.name)[:5000]])
    with pytest.raises(Damaged, match="ends at byte 5000"):
        segments.read(info, 0, 10**9)


def test_short_reads_are_completed(stored, reader, batches, store):
    """S7: a store that gives less than asked for is asked again."""
    info = stored(batches)
    whole = store.inner.get
    store.inner.get = lambda name, start=0, end=None: whole(name, start, end)[:300]
    assert b"".join(reader().read(info, 0, 10**9).buffers) == b"".join(batches)


def test_a_failing_store_is_unavailable_and_the_next_read_works(stored, reader, batches, store):
    """L3: never an empty or short answer, and no failure is kept."""
    info = stored(batches)
    segments = reader()
    for allowed in range(6):
        left = [allowed]

        def fail_after(name, left=left):
            left[0] -= 1
            if left[0] < 0:
                raise StoreFailed("get", name, "slow down")

        store.before["get"] = fail_after
        with pytest.raises(Unavailable):
            reader().read(info, 0, 10**9)
        store.before.clear()
    assert b"".join(segments.read(info, 0, 10**9).buffers) == b"".join(batches)


def test_a_read_says_whether_it_came_from_the_cache(stored, reader, batches):
    """A6: by place: the store, then the cache."""
    info = stored(batches)
    segments = reader()
    assert not segments.read(info, 0, 5000).cached
    assert segments.read(info, 0, 5000).cached


def test_a_segment_is_opened_with_one_read_of_its_end(stored, reader, batches, store):
    """L2: one request, and none when it is open."""
    info = stored(batches)
    segments = reader()
    for _ in range(2):
        segments.open(info)
    assert store.requests == [("get", info.name)]


class TestNotFound:
    """S7: the manifest decides what a missing segment means."""

    @pytest.fixture
    def log(self, open_log, make_info, clock):
        log = open_log()
        log.commit(Append((make_info(0, 10), make_info(10, 20), make_info(20, 30)), 30, {}, clock.monotonic()))
        return log

    def test_reads_of_a_missing_segment_say_so(self, log, reader):
        """S7: NotFound reaches the caller, who reloads the manifest."""
        with pytest.raises(NotFound):
            reader().read(log.manifest.segments[0], 0, 100)

    def test_below_log_start_is_skipped(self, log):
        """S7: expired."""
        missing = log.manifest.segments[0]
        assert judge(missing, log.commit(RaiseLogStart(15))) == Expired(15)
        middle = log.manifest.segments[0]
        with pytest.raises(SegmentLost):
            judge(middle, log.manifest)

    def test_replaced_is_read_from_the_replacement(self, log, make_info, clock):
        """S7: compacted, alone or together with its neighbours."""
        first, second, _ = log.manifest.segments
        merged = make_info(0, 20, compacted=True)
        manifest = log.commit(Replace((first.name, second.name), (merged,), clock.monotonic()))
        assert judge(first, manifest) == judge(second, manifest) == Replaced((merged,))
        manifest = log.commit(RaiseLogStart(12))
        assert judge(first, manifest) == Expired(12)
        assert judge(second, manifest) == Replaced((merged,))

    def test_still_listed_is_corrupt(self, log):
        """S7: acknowledged data is gone: never skip it."""
        with pytest.raises(SegmentLost, match="manifest version 1 lists it"):
            judge(log.manifest.segments[1], log.manifest)

    def test_a_range_the_manifest_does_not_reach_is_corrupt(self, log, make_info):
        """S7: a manifest older than the segment cannot excuse its absence."""
        with pytest.raises(SegmentLost):
            judge(make_info(25, 35), log.manifest)


def test_the_first_header_is_known_where_it_is_in_memory(store, stored, batches):
    """V6: whoever only looks reads nothing, counts nothing, and keeps nothing in memory."""
    info = stored(batches)
    cache = BlockCache(store, 1024 * 1024, block_size=1024)
    kept = KeptReader(cache.kept, cache.ahead)
    assert (kept.first_header(info), store.requests) == (None, [])
    SegmentReader(cache).read(info, 0, 100)
    counted = cache.counters()
    header = kept.first_header(info)
    assert (header.base_offset, header.record_count, cache.counters()) == (0, 1, counted)
