"""Who gets to write the manifest: lost answers, racing writers, fencing, pauses."""

from __future__ import annotations

import threading

import pytest

from holdfast.errors import Fenced, Unavailable
from holdfast.io.objects import StoreFailed
from holdfast.io.objects.local.objects import LocalObjects
from holdfast.io.objects.memory import MemoryObjects
from holdfast.io.versions import FULL_EVERY, GRACE_S, Versions
from holdfast.segment.errors import (
    DoesNotFit,
    HigherEpoch,
    SegmentTooOld,
    Undecided,
)
from holdfast.segment.manifest.changes import Append, RaiseEpoch, RaiseLogStart, Replace
from holdfast.segment.manifest.log import Contended


def fail(name):
    raise StoreFailed("put", name, "timed out")


def fail_times(count):
    left = [count]

    def hook(name):
        left[0] -= 1
        if left[0] >= 0:
            fail(name)

    return hook


def spans(manifest):
    return [(each.base, each.end) for each in manifest.segments]


def test_put_that_timed_out_but_succeeded(open_log, append, store):
    """A3: the answer is lost, the version is ours: success, and applied once."""
    log = open_log()
    store.after["put_if_absent"] = fail
    manifest = log.commit(append(0, 10))
    assert manifest.version == 1
    store.after.clear()
    assert log.commit(append(10, 20)).version == 2
    assert spans(open_log().manifest) == [(0, 10), (10, 20)]


def test_put_that_timed_out_and_failed_is_tried_again_with_the_same_bytes(open_log, append, store):
    """A3: absent after a failure means the same bytes again."""
    log = open_log()
    sent = []
    inner = store.put_if_absent

    def watched(name, data):
        sent.append((name, b"".join(data)))
        inner(name, data)

    store.put_if_absent = watched
    store.before["put_if_absent"] = fail_times(3)
    assert log.commit(append(0, 10)).version == 1
    assert len(sent) == 4
    assert set(sent) == {sent[0]}
    assert spans(open_log().manifest) == [(0, 10)]


def test_put_that_lands_after_it_was_looked_for(open_log, append, store):
    """A3: a late put collides with its own repeat, and the nonce tells that both are ours."""
    log = open_log()
    held = []
    inner = store.inner.put_if_absent

    def put_late(name, data):
        if not held:
            held.append((name, data))
            fail(name)
        if len(held) == 1:
            inner(*held[0])
            held.append(None)
        inner(name, data)

    store.inner.put_if_absent = put_late
    assert log.commit(append(0, 10)).version == 1
    assert spans(open_log().manifest) == [(0, 10)]


@pytest.mark.parametrize("landed", [True, False])
def test_store_that_fails_for_long_leaves_it_undecided_and_the_same_commit_settles_it(open_log, append, store, landed):
    """A3: Unavailable, not success; committing the same change again applies it exactly once."""
    log = open_log()
    hooks = store.after if landed else store.before
    hooks["put_if_absent"] = fail
    store.before["get"] = fail
    change = append(0, 10)
    with pytest.raises(Undecided):
        log.commit(change)
    store.before.clear()
    store.after.clear()
    log.commit(change)
    log.commit(append(10, 20))
    assert spans(open_log().manifest) == [(0, 10), (10, 20)]


def test_another_flush_after_an_undecided_one_that_had_landed_does_not_fit(open_log, append, store):
    """A3: the range was stored already; the writer is told and sees it, so nothing doubles."""
    log = open_log()
    store.after["put_if_absent"] = fail
    store.before["get"] = fail
    with pytest.raises(Unavailable):
        log.commit(append(0, 10))
    store.after.clear()
    store.before.clear()
    with pytest.raises(DoesNotFit):
        log.commit(append(0, 12))
    assert log.manifest.flushed == 10
    log.commit(append(10, 12))
    assert spans(open_log().manifest) == [(0, 10), (10, 12)]


def test_two_writers_of_one_epoch_both_get_through(open_log, append, make_info, clock):
    """L2: compaction commits beside the leader: each reloads, checks, takes the next version."""
    leader = open_log()
    leader.commit(append(0, 10))
    leader.commit(append(10, 20))
    compaction = open_log("compaction")
    old = tuple(each.name for each in compaction.manifest.segments)
    leader.commit(append(20, 30))
    merged = make_info(0, 20, compacted=True)
    compaction.commit(Replace(old, (merged,), clock.monotonic()))
    leader.commit(append(30, 40))
    assert spans(leader.manifest) == [(0, 20), (20, 30), (30, 40)]
    assert leader.manifest.version == 5
    assert leader.manifest.segments[0] == merged


def test_compaction_of_segments_that_left_meanwhile_does_not_fit(open_log, append, make_info, clock):
    """L2: log start rose under it, or another compaction was quicker."""
    leader = open_log()
    for base in (0, 10, 20):
        leader.commit(append(base, base + 10))
    compaction = open_log("compaction")
    first, second, third = (each.name for each in compaction.manifest.segments)
    leader.commit(RaiseLogStart(10))
    with pytest.raises(DoesNotFit):
        compaction.commit(Replace((first, second), (make_info(0, 20),), clock.monotonic()))
    compaction.commit(Replace((second, third), (make_info(10, 30),), clock.monotonic()))
    with pytest.raises(DoesNotFit):
        leader.commit(Replace((second, third), (make_info(10, 30),), clock.monotonic()))
    assert spans(open_log().manifest) == [(10, 30)]


def test_zombie_writer_is_fenced(open_log, append):
    """A2: a new leader's first commit ends the old one's writes, for ever."""
    zombie = open_log("old")
    zombie.commit(append(0, 10))
    leader = open_log("new")
    leader.commit(RaiseEpoch(2, 10))
    for _ in range(2):
        with pytest.raises(Fenced):
            zombie.commit(append(10, 20))
    leader.commit(append(10, 15))
    with pytest.raises(HigherEpoch):
        zombie.commit(append(10, 20))
    assert spans(open_log().manifest) == [(0, 10), (10, 15)]
    assert open_log().manifest.epochs == ((1, 0), (2, 10))


def test_a_leader_takes_in_what_its_predecessor_committed_last(open_log, append):
    """A2: a lower epoch that was first is no fence and is not lost: the raise must reckon with it."""
    leader = open_log("new")
    predecessor = open_log("old")
    predecessor.commit(append(0, 10))
    with pytest.raises(DoesNotFit):
        leader.commit(RaiseEpoch(2, 0))
    leader.commit(RaiseEpoch(2, leader.manifest.flushed))
    assert spans(leader.manifest) == [(0, 10)]
    assert leader.manifest.epochs == ((1, 0), (2, 10))


@pytest.mark.parametrize("followed", [False, True])
def test_whoever_raised_the_epoch_is_not_fenced_by_it_though_the_answer_was_lost(open_log, append, store, followed):
    """A2: the nonce of the version that raised it tells, also when others have committed since."""
    log = open_log()
    store.after["put_if_absent"] = fail
    store.before["get"] = fail
    with pytest.raises(Undecided):
        log.commit(RaiseEpoch(2, 0), append(0, 10))
    store.after.clear()
    store.before.clear()
    if followed:
        open_log("compaction").commit(append(10, 15))
    log.refresh()
    assert log.epoch == 2
    log.commit(append(log.manifest.flushed, 20))
    assert log.manifest.flushed == 20


def test_two_leaders_cannot_share_an_epoch(open_log):
    """A2: of two that raise to the same epoch one is fenced, until it has opened the log anew."""
    one, two = open_log("one"), open_log("two")
    one.commit(RaiseEpoch(2, 0))
    for epoch in (2, 3):
        with pytest.raises(Fenced):
            two.commit(RaiseEpoch(epoch, 0))
    open_log("two").commit(RaiseEpoch(3, 0))
    with pytest.raises(Fenced):
        one.commit(RaiseLogStart(0), RaiseEpoch(2, 0))


def test_two_that_make_the_first_version_agree(open_log, store):
    """L2: the second takes the first one's."""
    made = []
    store.before["put_if_absent"] = lambda _: made.append(0) or (len(made) == 1 and open_log("quick"))
    slow = open_log("slow")
    assert slow.manifest.stamp.writer == "quick"


@pytest.mark.parametrize("kind", ["memory", "directory"])
def test_many_writers_at_once_lose_nothing(open_log, make_info, clock, tmp_path, kind):
    """L2: four threads, one epoch, real stores: every commit that returned is there once, and the list tiles."""
    objects = MemoryObjects() if kind == "memory" else LocalObjects(tmp_path)
    open_log(objects=objects)
    done = []

    def write(writer):
        log = open_log(writer, objects=objects)
        for _ in range(20):
            while True:
                base = log.manifest.flushed
                info = make_info(base, base + 1)
                try:
                    log.commit(Append((info,), base + 1, {}, clock.monotonic()))
                except (DoesNotFit, Contended):
                    continue
                done.append(info.name)
                break

    threads = [threading.Thread(target=write, args=(f"writer {number}",)) for number in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(60)
    manifest = open_log(objects=objects).manifest
    assert sorted(done) == sorted(each.name for each in manifest.segments)
    assert (len(done), manifest.flushed, manifest.version) == (80, 80, 80)


def test_writer_paused_lists_again_before_it_commits(open_log, append, store, clock):
    """S7: after half of the grace its idea of the next number may be wrong: numbers above it may be deleted."""
    log = open_log()
    log.commit(append(0, 10))
    leader = open_log("new")
    leader.commit(RaiseEpoch(2, 10))
    for number in range(FULL_EVERY):
        leader.commit(append(10 + number, 11 + number))
    versions = Versions(store, log.manifest.home.manifests)
    for number in range(FULL_EVERY):  # As the garbage collector does, after the grace.
        store.inner.delete(versions.name(number))
    clock.advance(GRACE_S / 2 + 1)
    with pytest.raises(Fenced):
        log.commit(append(10, 20))
    assert open_log().manifest == leader.manifest


def test_a_pause_in_the_middle_of_a_commit_is_noticed(open_log, append, store, clock):
    """S7: retries of one put never outlive the time in which its number is known to be free."""
    log = open_log()

    def long_failure(name):
        clock.advance(GRACE_S / 2 + 1)
        store.before.pop("put_if_absent")
        fail(name)

    store.before["put_if_absent"] = long_failure
    store.requests.clear()
    with pytest.raises(SegmentTooOld):
        log.commit(append(0, 10))
    assert [method for method, _ in store.requests] == ["put_if_absent", "get", "list"]


def test_whoever_raised_several_epochs_at_once_is_not_fenced_by_the_last(open_log, append, store, clock):
    """A2, D2: the put is stored, and came too late to count: all that it raised is raised."""
    log = open_log()
    pauses = [1]
    store.after["put_if_absent"] = lambda _: pauses and clock.advance(pauses.pop() * GRACE_S)
    manifest = log.commit(RaiseEpoch(2, 0), RaiseEpoch(4, 0))
    assert not pauses
    assert (manifest.epoch, log.epoch) == (4, 4)
    assert log.commit(append(0, 1)).flushed == 1


def test_a_segment_put_long_ago_is_not_listed(open_log, append, clock):
    """S7: the garbage collector may be about to delete it: put it again."""
    log = open_log()
    change = append(0, 10)
    clock.advance(GRACE_S / 2 + 1)
    with pytest.raises(SegmentTooOld):
        log.commit(change)
    assert log.manifest.flushed == 0


def test_after_a_silence_the_segment_is_seen_to_be_there(open_log, append, store, clock):
    """S7: a quiet partition's first commit asks for its segment; a missing one is refused, a present one listed."""
    log = open_log()
    clock.advance(GRACE_S)
    change = append(0, 10)
    store.delete(change.segments[0].name)
    with pytest.raises(SegmentTooOld):
        log.commit(change)
    clock.advance(GRACE_S)
    log.commit(append(0, 10))
    assert log.manifest.flushed == 10
