"""The rule of put-if-absent by itself: one name, one writer, whatever the store answers."""

from __future__ import annotations

import json
import math
from itertools import pairwise

import pytest

from holdfast.io.objects import StoreFailed
from holdfast.io.store_errors import HigherEpoch, Stale, Undecided
from holdfast.io.versions import Stamp, take

NAME = "meta/00000000000000000007.json"
MINE = Stamp(3, "me", "my nonce")


def bytes_of(stamp):
    return json.dumps(stamp).encode()


def stamp_of(name, data):
    return Stamp(*json.loads(data))


@pytest.fixture
def take_it(store, patience):
    def run(fresh_until=math.inf):
        return take(store, NAME, [bytes_of(MINE)], MINE, stamp_of, patience, fresh_until)

    return run


def test_an_absent_name_is_taken_with_one_request(take_it, store):
    """L2: no listing, no reading."""
    assert take_it() is None
    assert store.requests == [("put_if_absent", NAME)]


def test_a_name_that_holds_our_nonce_is_ours(take_it, store):
    """A3: the store repeated the put by itself, or an earlier answer was lost."""
    store.inner.put(NAME, [bytes_of(MINE)])
    assert take_it() is None


def test_a_higher_epoch_fences(take_it, store):
    """A2: at once, without a look at anything else."""
    store.inner.put(NAME, [bytes_of(Stamp(4, "other", "x"))])
    with pytest.raises(HigherEpoch) as fenced:
        take_it()
    assert (fenced.value.mine, fenced.value.found) == (3, 4)


@pytest.mark.parametrize("stamp", [Stamp(3, "other", "x"), Stamp(2, "other", "x"), Stamp(3, "me", "earlier nonce")])
def test_anybody_elses_bytes_are_handed_back(take_it, store, stamp):
    """A2: same epoch, lower epoch, or our own of another attempt: to be loaded and reckoned with."""
    store.inner.put(NAME, [bytes_of(stamp)])
    assert take_it() == bytes_of(stamp)


def test_a_name_that_was_there_and_is_gone_is_never_taken(take_it, store):
    """S7: a number that was used and deleted: only a listing tells what is the newest."""
    store.inner.put(NAME, [bytes_of(Stamp(3, "other", "x"))])
    store.before["get"] = store.inner.delete
    with pytest.raises(Stale):
        take_it()
    assert list(store.inner.list("")) == []


def test_nothing_is_put_when_it_is_too_late(take_it, store, clock):
    """S7: the number may have been used and deleted meanwhile."""
    clock.advance(10)
    with pytest.raises(Stale):
        take_it(fresh_until=9)
    assert store.requests == []


def test_tries_are_bounded_and_wait_longer_each_time(take_it, store, clock, patience):
    """A3: a store that is away is told to the caller, not waited for."""

    def fail(name):
        raise StoreFailed("put", name, "away")

    store.before["put_if_absent"] = fail
    times = []
    store.before["get"] = lambda _: times.append(clock.monotonic())
    with pytest.raises(Undecided) as undecided:
        take_it()
    assert undecided.value.tries == len(times) == patience.tries
    waits = [later - earlier for earlier, later in pairwise(times)]
    assert all(0.025 * 2**n <= wait <= 0.05 * 2**n for n, wait in enumerate(waits))
