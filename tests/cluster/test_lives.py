"""Lives in the metadata, and leases: who is in the cluster, who leads, and who has fallen silent."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest
from tests.cluster.test_version_log import Store as VersionStore

from holdfast.cluster.errors import BrokerLives, LeaderLives, LifeOver, TooManyBrokers
from holdfast.cluster.lease import BeatWatch, Lease, read_lease
from holdfast.cluster.lives import GONE_MAX, LIVES_MAX, NOBODY, BrokerLife, Lives, end, join, lead
from holdfast.cluster.settings import ClusterSettings
from holdfast.io.address import Address
from holdfast.io.versions import FULL_EVERY


class Store(VersionStore):
    """One store, and brokers that look at it."""

    def join(self, broker: int) -> BrokerLife:
        step = join(
            broker, f"incarnation-{broker}", f"place-{broker}", f"b{broker}", {"PLAINTEXT": Address("h", broker)}
        )
        return self.log().commit(step).lives.by_broker[broker]


def test_a_life_has_a_number_that_no_other_ever_has() -> None:
    """C3: also when versions are written whole in between."""
    store = Store()
    first = store.join(1)
    store.log().commit(end(first))
    for _ in range(FULL_EVERY):
        store.log().commit(end(store.join(2)))
    again = store.join(1)
    lives = store.log().metadata.lives
    assert (first.life, again.life) == (1, FULL_EVERY + 2)
    assert lives.by_broker == {1: again}
    assert again.listeners == {"PLAINTEXT": Address("h", 1)}


def test_of_brokers_that_have_gone_the_last_are_remembered_until_they_are_back() -> None:
    """C5: with where they were; also when versions are written whole in between."""
    store = Store()
    for broker in range(GONE_MAX + 3):
        store.log().commit(end(store.join(broker)))
    assert set(store.log().metadata.lives.gone) == set(range(3, GONE_MAX + 3))
    back = store.join(5)
    for _ in range(FULL_EVERY):
        store.log().commit(end(store.join(GONE_MAX)))
    lives = store.log().metadata.lives
    assert lives.by_broker == {5: back}
    assert set(lives.gone) == set(range(3, GONE_MAX + 3)) - {5}
    assert lives.gone[GONE_MAX].listeners == {"PLAINTEXT": Address("h", GONE_MAX)}
    assert Lives.from_body(json.loads(json.dumps(lives.to_body()))) == lives


def test_a_broker_has_one_life_at_a_time() -> None:
    """C3: a number that is used twice is refused, with whose it is."""
    store = Store()
    store.join(1)
    with pytest.raises(BrokerLives, match=r"b1.*node\.id"):
        store.join(1)


def test_of_two_that_take_over_at_once_one_leads() -> None:
    """C2: the version of the other does not fit any more."""
    store = Store()
    lost, eager, late = (store.join(each) for each in (1, 2, 3))
    logs = [store.log(), store.log()]
    store.log().commit(lead(lost))
    logs[0].commit(end(lost), lead(eager))
    with pytest.raises(LifeOver):
        logs[1].commit(end(lost), lead(late))
    with pytest.raises(LeaderLives):
        logs[1].commit(lead(late))
    assert store.log().metadata.lives.leading == eager


def test_an_ended_leader_leads_no_more() -> None:
    """C3: and does not begin again."""
    store = Store()
    only = store.join(1)
    store.log().commit(lead(only))
    assert store.log().commit(end(only)).lives.leader == NOBODY
    with pytest.raises(LifeOver):
        store.log().commit(lead(only))


def test_there_is_an_end_to_how_many_join() -> None:
    """K10: the metadata is read as a whole by everybody."""
    lives = Lives()
    for broker in range(LIVES_MAX):
        lives = lives.joined(*join(broker, "", "", "", {})[1:])
    with pytest.raises(TooManyBrokers):
        lives.joined(*join(LIVES_MAX, "", "", "", {})[1:])


def test_earlier_releases_refuse_a_cluster_and_open_a_broker_that_is_alone() -> None:
    """C11, O5: format 3 only where there are lives."""
    store = Store()
    store.log().commit(["quota", "all", {"x": 1.0}])
    formats = [json.loads(store.objects.get(each.name))["format"] for each in store.objects.list("meta/0")]
    store.join(1)
    newest = list(store.objects.list("meta/0"))[-1]
    assert formats == [2]
    assert json.loads(store.objects.get(newest.name))["format"] == 3


def test_a_lease_says_what_was_put() -> None:
    """C12: one that nobody can read tells nothing."""
    store = Store()
    lease = Lease(1, 7, 3, "leading", 12)
    assert read_lease(store.objects, 1, 7) is None
    store.objects.put(lease.object_name, [lease.encode()])
    assert read_lease(store.objects, 1, 7) == lease
    for subscribe in ("", "a.example:9094"):
        told = replace(lease, subscribe=subscribe)
        store.objects.put(lease.object_name, [told.encode()])
        assert read_lease(store.objects, 1, 7) == told
    store.objects.put(lease.object_name, [lease.encode()[:-5]])
    assert read_lease(store.objects, 1, 7) is None


def watched(*looks: tuple[float, int | None] | float) -> BeatWatch:
    """Looks at these times that saw these beats; a time alone is a look that failed."""
    watch = BeatWatch(4.5, 1.0)
    for each in looks:
        if isinstance(each, tuple):
            watch.saw(each[1], each[0])
        else:
            watch.missed()
    return watch


def test_a_life_whose_beat_stands_still_is_silent() -> None:
    """C2: after so much time, and so many looks."""
    assert not watched(*((float(at), 1) for at in range(5))).is_silent
    assert watched(*((float(at), 1) for at in range(6))).is_silent
    assert not watched(*((float(at), at // 3) for at in range(60))).is_silent
    assert not watched((0.0, 1), (2.0, 1), (4.0, 1), (6.0, 1)).is_silent


def test_a_look_comes_when_a_life_falls_silent() -> None:
    """C2: not up to an interval later; until it may be silent, and when it is, nobody hurries."""
    assert watched((0.0, 1), (1.0, 1), (2.0, 1)).left_s(2.5) == math.inf
    almost = watched(*((float(at), 1) for at in range(5)))
    assert almost.left_s(4.2) == pytest.approx(0.3)
    assert almost.left_s(9.0) == 0
    assert watched(*((float(at), 1) for at in range(5)), 5.0).left_s(5.0) == math.inf
    assert watched(*((float(at), 1) for at in range(6))).left_s(5.0) == math.inf


def test_a_life_that_never_said_anything_falls_silent_too() -> None:
    """C2: it died between its join and its first beat."""
    assert watched(*((float(at), None) for at in range(6))).is_silent


def test_no_time_passes_while_the_store_does_not_answer() -> None:
    """C2: who cannot see it cannot tell it from a dead one."""
    back = [(60.0 + at / 10, 1) for at in range(5)]
    assert not watched((0.0, 1), *(float(at) for at in range(1, 60)), *back).is_silent


def test_no_time_passes_while_the_observer_sleeps() -> None:
    """C2: an hour between two looks is our own pause."""
    assert not watched((0.0, 1), (3600.0, 1), (3600.1, 1), (3600.2, 1), (3600.3, 1), (3600.4, 1)).is_silent


def test_a_lease_ends_before_anybody_takes_over() -> None:
    """C3: other settings are refused."""
    with pytest.raises(ValueError, match="takeover_ms"):
        ClusterSettings(lease_ms=5_000, takeover_ms=5_000)
