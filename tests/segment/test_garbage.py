"""Garbage: what nobody needs goes, what anybody may need stays, and no writer is caught between."""

from __future__ import annotations

import pytest

from holdfast.errors import Fenced
from holdfast.io.clock import ManualClock
from holdfast.io.objects.memory import MemoryObjects
from holdfast.io.versions import FULL_EVERY, GRACE_S, Versions
from holdfast.segment.errors import NoManifest, SegmentTooOld
from holdfast.segment.garbage import collect_partition, collect_topic, store_time_ms
from holdfast.segment.manifest.changes import Append, RaiseEpoch, RaiseLogStart, Replace
from holdfast.segment.manifest.load import load_manifest
from holdfast.segment.writer import encode_segment


@pytest.fixture
def put(store, home, make_batch, clock):
    """A real segment in the store, and the change that lists it."""
    tags = iter(range(10**6))

    def put_it(base, end, **options):
        batches = [make_batch(base, end - base)]
        buffers, info = encode_segment(batches, home=home, epoch=1, tag=f"{next(tags):016x}", **options)
        stored_at = clock.monotonic()
        store.inner.put_if_absent(info.name, buffers)
        return Append((info,), end, {}, stored_at)

    return put_it


@pytest.fixture
def collect(store, home, clock):
    def run():
        found = collect_partition(store, home, store_time_ms(store, clock))
        return [each.name for each in found.segments], [each.name for each in found.versions]

    return run


def exists(store, info):
    return any(True for _ in store.inner.list(info.name))


def test_a_segment_no_manifest_lists_goes_after_twice_the_grace(open_log, put, collect, store, clock):
    """S7: a crash between put and commit leaves it; listed ones stay for ever."""
    log = open_log()
    log.commit(put(0, 10))
    orphan = put(10, 20)
    clock.advance(2 * GRACE_S - 1)
    assert collect() == ([], [])
    clock.advance(2)
    assert collect()[0] == [orphan.segments[0].name]
    clock.advance(100 * GRACE_S)
    assert collect()[0] == []
    assert exists(store, log.manifest.segments[0])


def test_the_collector_says_what_must_wait(open_log, put, store, home, clock):
    """S7: a partition that has nothing waiting needs no other visit until it changes."""
    log = open_log()
    log.commit(put(0, 10))
    put(10, 20)
    log.commit(put(10, 20))
    log.commit(RaiseLogStart(10))
    assert collect_partition(store, home, clock.now_ms()).waiting == 2
    clock.advance(2 * GRACE_S + 1)
    assert len(collect_partition(store, home, clock.now_ms()).segments) == 2
    assert collect_partition(store, home, clock.now_ms()).waiting == 0


@pytest.mark.parametrize("how", ["replaced", "expired"])
def test_a_segment_that_left_the_manifest_stays_for_the_grace(open_log, put, collect, clock, how, make_info, store):
    """S7: readers with the manifest of a moment ago still find it, however old the segment is."""
    log = open_log()
    log.commit(put(0, 10))
    old = log.manifest.segments[0]
    clock.advance(50 * GRACE_S)
    log.commit(put(10, 20))
    if how == "expired":
        log.commit(RaiseLogStart(10))
    else:
        log.commit(Replace((old.name,), put(0, 10, compacted=True).segments, clock.monotonic()))
    clock.advance(GRACE_S - 1)
    assert collect()[0] == []
    clock.advance(2)
    assert collect()[0] == [old.name]
    assert all(exists(store, each) for each in log.manifest.segments)


def test_a_segment_that_came_and_left_within_the_grace_stays_too(open_log, put, collect, clock):
    """S7: it is in neither the newest version nor the one of a grace ago, but young."""
    log = open_log()
    clock.advance(3 * GRACE_S)
    log.commit(put(0, 10))
    first = log.manifest.segments[0]
    clock.advance(1)
    log.commit(Replace((first.name,), put(0, 10, compacted=True).segments, clock.monotonic()))
    clock.advance(GRACE_S - 2)
    assert collect()[0] == []


def test_old_versions_go_and_the_newest_full_list_stays(open_log, put, collect, store, home, clock):
    """S7: from the full list of the version that was the newest a grace ago on, all numbers stay."""
    log = open_log()
    for number in range(3 * FULL_EVERY + 5):
        log.commit(put(number, number + 1))
    assert collect()[1] == []
    clock.advance(GRACE_S + 1)
    versions = Versions(store, home.manifests)
    assert collect()[1] == [versions.name(number) for number in range(3 * FULL_EVERY)]
    assert load_manifest(store, home) == log.manifest
    store.inner.delete(home.manifests + "newest.json")
    assert load_manifest(store, home) == log.manifest
    assert collect()[1] == []


def test_versions_stay_while_a_writer_may_still_try_their_numbers(open_log, put, collect, store, home, clock):
    """S7: passed by only a moment ago, however many there are."""
    log = open_log()
    clock.advance(5 * GRACE_S)
    for number in range(2 * FULL_EVERY):
        log.commit(put(number, number + 1))
    clock.advance(GRACE_S / 2)
    assert collect()[1] == []


def test_writer_paused_across_garbage_collection_is_caught_at_its_commit(open_log, put, collect, store, clock):
    """S7: its segment is gone; it is told to put it again, and then all is well."""
    log = open_log()
    change = put(0, 10)
    clock.advance(2 * GRACE_S + 1)
    assert collect()[0] == [change.segments[0].name]
    with pytest.raises(SegmentTooOld):
        log.commit(change)
    log.commit(put(0, 10))
    assert all(exists(store, each) for each in load_manifest(store, log.manifest.home).segments)


def test_writer_paused_while_its_number_was_used_and_deleted_is_fenced(open_log, put, collect, clock):
    """S7: it would take the number again; it lists first, and meets the new leader."""
    zombie = open_log("old")
    leader = open_log("new")
    leader.commit(RaiseEpoch(2, 0))
    for number in range(FULL_EVERY):
        leader.commit(put(number, number + 1))
    clock.advance(GRACE_S + 1)
    assert collect()[1] != []
    with pytest.raises(Fenced):
        zombie.commit(put(0, 10))
    assert open_log().manifest == leader.manifest


def test_without_a_manifest_nothing_is_deleted(put, collect, clock):
    """S7: not knowing what is needed is no reason to delete it."""
    put(0, 10)
    clock.advance(100 * GRACE_S)
    assert collect() == ([], [])


def test_a_damaged_manifest_deletes_nothing(open_log, put, collect, store, clock):
    """S7: all is decided before anything is deleted."""
    log = open_log()
    put(0, 10)
    name = Versions(store, log.manifest.home.manifests).name(0)
    store.put(name, [b"damaged"])
    clock.advance(100 * GRACE_S)
    before = [each.name for each in store.list("segments/")]
    with pytest.raises(Exception, match="damaged"):
        collect()
    assert [each.name for each in store.list("segments/")] == before


def test_a_clock_that_runs_ahead_deletes_nothing_too_early(store):
    """S7: the store's own time counts when ours is later."""
    assert store_time_ms(store, ManualClock(10**15)) == ManualClock().now_ms()
    assert store_time_ms(MemoryObjects(clock=ManualClock(10**15)), ManualClock()) == ManualClock().now_ms()


def test_a_deleted_topic_leaves_nothing(open_log, put, store, home):
    """K6: also what a flush in flight adds; another topic is untouched, and a re-created one shows no old data."""
    log = open_log()
    log.commit(put(0, 10))
    store.put("segments/" + "f" * 32 + "/0/other.seg", [b"x"])
    assert collect_topic(store, home.topic_id) == 3
    log.commit(put(10, 20))
    assert collect_topic(store, home.topic_id) == 2
    assert collect_topic(store, home.topic_id) == 0
    assert [each.name for each in store.list("")] == ["segments/" + "f" * 32 + "/0/other.seg"]
    with pytest.raises(NoManifest):
        load_manifest(store, home)


def test_a_topic_half_deleted_says_it_is_gone_not_damaged(open_log, put, store, home):
    """K6: manifests go first; whoever looks before any of the deletions finds a list as it once was, or that it is
    gone: never one that lacks what it was built upon."""
    log = open_log()
    committed = [log.manifest, *(log.commit(put(number, number + 1)) for number in range(FULL_EVERY + 3))]
    seen = []

    def look(name):
        try:
            assert load_manifest(store.inner, home) in committed
            seen.append((name.split("/")[0], "whole"))
        except NoManifest:
            seen.append((name.split("/")[0], "gone"))

    store.before["delete"] = look
    collect_topic(store, home.topic_id)
    kinds = [kind for kind, _ in seen]
    assert kinds == sorted(kinds), "All manifests, then all segments."
    assert [state for kind, state in seen if kind == "segments"] == ["gone"] * (FULL_EVERY + 3)
