"""A writer whose clocks stood still while others went on: numbers that were used and deleted are never taken for new.

Whoever stops a machine, or a process, for hours may let its clocks go on from where they stood. So no clock decides
here: the version below must still be there behind the put, with the bytes that were seen.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from holdfast.errors import Fenced
from holdfast.io.chance import SeededChance
from holdfast.io.clock import ManualClock
from holdfast.io.versions import FULL_EVERY, GRACE_S, VersionRetries
from holdfast.segment.errors import HigherEpoch
from holdfast.segment.garbage import collect_partition
from holdfast.segment.manifest.changes import RaiseEpoch
from holdfast.segment.manifest.load import load_manifest

Make = Callable[..., Any]


@pytest.fixture
def frozen() -> VersionRetries:
    """The patience of a writer whose clock stands still."""
    clock = ManualClock()
    return VersionRetries(clock, SeededChance(9), clock.advance)


def go_on(log: Any, append: Make, start: int, count: int) -> None:
    for number in range(start, start + count):
        log.commit(append(number, number + 1))


def collect(store: Any, home: Any, clock: ManualClock) -> None:
    """The others' collector, hours later."""
    clock.advance(3 * GRACE_S)
    collect_partition(store.inner, home, clock.now_ms())


def test_a_number_that_was_deleted_is_not_taken_by_a_writer_whose_clock_stood_still(
    open_log: Make, append: Make, store: Any, home: Any, clock: ManualClock, frozen: VersionRetries
) -> None:
    """D2: suspended for hours, no clock tells; another leader wrote, and its collector deleted our next number."""
    paused = open_log(patience=frozen)
    paused.commit(append(0, 1))
    other = open_log("other")
    other.commit(RaiseEpoch(2, 1))
    go_on(other, append, 1, 2 * FULL_EVERY)
    collect(store, home, clock)
    ours = append(1, 2)
    with pytest.raises(HigherEpoch):
        paused.commit(ours)
    assert not ours.is_in(load_manifest(store.inner, home))
    assert load_manifest(store.inner, home).epoch == 2


def test_a_writer_that_was_stopped_right_before_its_put(
    open_log: Make, append: Make, store: Any, home: Any, clock: ManualClock, frozen: VersionRetries
) -> None:
    """D2: all checks were made, then the process stood still for hours, then the put was sent."""
    paused = open_log(patience=frozen)
    paused.commit(append(0, 1))
    other = open_log("other")

    def stopped(name: str) -> None:
        store.before.clear()
        other.commit(RaiseEpoch(2, 1))
        go_on(other, append, 1, 2 * FULL_EVERY)
        collect(store, home, clock)

    change = append(1, 2)
    store.before["put_if_absent"] = stopped
    with pytest.raises(Fenced):
        paused.commit(change)
    assert not change.is_in(load_manifest(store.inner, home))


def test_two_writers_that_were_stopped_do_not_vouch_for_each_other(
    open_log: Make, append: Make, store: Any, home: Any, clock: ManualClock, frozen: VersionRetries
) -> None:
    """D2: the version below is there, but it is what another sleeper has left: its bytes are not those we saw."""
    first, second = open_log(patience=frozen), open_log("second", patience=frozen)
    first.commit(append(0, 1))
    second_known = first.commit(append(1, 2)).version
    first_behind = open_log("first again", patience=frozen)
    second.refresh()
    other = open_log("other")
    other.commit(RaiseEpoch(2, 2))
    go_on(other, append, 2, 2 * FULL_EVERY)
    collect(store, home, clock)
    # What a sleeper that knows one version less has put, before it found that it is late.
    store.inner.put(f"{home.manifests}{second_known:020}.json", [b'{"nonce":"of somebody else"}'])
    for sleeper in (first_behind, second):
        with pytest.raises(Fenced):
            sleeper.commit(append(2, 3))


@pytest.mark.parametrize("known", [0, 1, 2])
def test_the_lowest_numbers_are_no_exception(
    open_log: Make, append: Make, store: Any, home: Any, clock: ManualClock, frozen: VersionRetries, known: int
) -> None:
    """D2: a sleeper that has only seen the first versions."""
    paused = open_log(patience=frozen)
    go_on(paused, append, 0, known)
    other = open_log("other")
    other.commit(RaiseEpoch(2, known))
    go_on(other, append, known, 2 * FULL_EVERY)
    collect(store, home, clock)
    with pytest.raises(Fenced):
        paused.commit(append(known, known + 1))


def test_a_sleeper_that_was_about_to_make_the_partition(
    open_log: Make, append: Make, store: Any, home: Any, clock: ManualClock, frozen: VersionRetries
) -> None:
    """D2: there is no version below the first one: whether it is the first, a listing tells."""

    def stopped(name: str) -> None:
        store.before.clear()
        other = open_log("other", first_epoch=7)
        go_on(other, append, 0, 2 * FULL_EVERY)
        collect(store, home, clock)

    store.before["put_if_absent"] = stopped
    late = open_log(patience=frozen)
    assert late.manifest.flushed == 2 * FULL_EVERY
    assert late.epoch == 7


def test_a_commit_asks_once_more_and_no_more(open_log: Make, append: Make, store: Any) -> None:
    """L2, D2: the put, and the look at the version below."""
    log = open_log()
    log.commit(append(0, 1))
    change = append(1, 2)
    store.requests.clear()
    log.commit(change)
    assert [kind for kind, _ in store.requests] == ["put_if_absent", "get"]
