"""Who leads which partition, in the metadata: rows change hands in one way, and only one of two that try succeeds."""

from __future__ import annotations

import json
from uuid import UUID

import pytest
from tests.cluster.test_lives import Store as LivesStore

from holdfast.cluster.errors import (
    LeaderOther,
    LifeOver,
    SpreadAlready,
    SpreadTooEarly,
    TooManyWishes,
    TopicUnknown,
)
from holdfast.cluster.leads import (
    WISHES_MAX,
    Give,
    Lead,
    Leads,
    acting_as,
    assign,
    balance,
    give,
    spread,
    wish,
)
from holdfast.cluster.lives import NOBODY, end, lead, leave
from holdfast.cluster.metadata import Metadata, Topic, create_topic, delete_topic
from holdfast.io.chance import SeededChance
from holdfast.io.versions import FULL_EVERY
from holdfast.types import PartitionId

ORDERS = UUID(int=7)


class Store(LivesStore):
    """One store whose partitions have leaders of their own."""

    def __init__(self, floor: int = -1) -> None:
        super().__init__()
        self.log().commit(spread(10, floor))

    @property
    def leads(self) -> Leads:
        return self.log().metadata.leads

    def make(self, by: int, partitions: int = 4, topic_id: UUID = ORDERS) -> None:
        """A topic, its partitions given to whoever leads least."""
        homes = [PartitionId(topic_id, number) for number in range(partitions)]
        known = self.log().metadata
        gives = assign(homes, known.leads, known.lives)
        self.log().commit(create_topic(Topic(f"t{topic_id.int}", topic_id, partitions, {})), give(by, gives))


def home(number: int) -> PartitionId:
    return PartitionId(ORDERS, number)


def test_partitions_of_a_topic_go_to_those_who_lead_least() -> None:
    """C1, in part: and among these to the eldest."""
    store = Store()
    first, second, third = (store.join(each).life for each in (1, 2, 3))
    store.make(first, 4)
    assert [each.life for each in store.leads.by_topic[ORDERS]] == [first, second, third, first]
    store.make(second, 2, UUID(int=8))
    assert [each.life for each in store.leads.by_topic[UUID(int=8)]] == [second, third]
    assert {each.epoch for _, each in store.leads.rows()} == {0}


def test_a_row_changes_hands_by_its_own_life_or_when_that_is_over() -> None:
    """C3, in part: nobody gives away what another leads that lives."""
    store = Store()
    mine, other = store.join(1), store.join(2)
    store.make(mine.life, 1)
    before = store.leads.of(home(0))
    with pytest.raises(LeaderOther):
        store.log().commit(give(other.life, [Give(home(0), before, other.life)]))
    store.log().commit(give(mine.life, [Give(home(0), before, other.life)]))
    assert store.leads.of(home(0)) == Lead(other.life, 1)
    store.log().commit(end(other))
    store.log().commit(give(mine.life, [Give(home(0), Lead(other.life, 1), mine.life)]))
    assert store.leads.of(home(0)) == Lead(mine.life, 2)


def test_of_two_that_give_the_same_partition_one_does_not_fit() -> None:
    """C3, in part: both have settled it, one has given it; the epoch it expects is past."""
    store = Store()
    lost, one, two = (store.join(each) for each in (1, 2, 3))
    store.make(lost.life, 1)
    before = store.leads.of(home(0))
    logs = [store.log(), store.log()]
    logs[0].commit(end(lost), give(one.life, [Give(home(0), before, one.life)]))
    with pytest.raises(LeaderOther):
        logs[1].commit(give(two.life, [Give(home(0), before, two.life)]))
    assert store.leads.of(home(0)) == Lead(one.life, 1)


def test_a_life_that_is_over_gives_and_is_given_nothing() -> None:
    """C3, in part: nor does it change anything else."""
    store = Store()
    lost, lives = store.join(1), store.join(2)
    store.make(lost.life, 1)
    before = store.leads.of(home(0))
    store.log().commit(end(lost))
    for by, to in ((lost.life, lives.life), (lives.life, lost.life)):
        with pytest.raises(LifeOver):
            store.log().commit(give(by, [Give(home(0), before, to)]))
    with pytest.raises(LifeOver):
        store.log().commit(acting_as(1, lost.life), delete_topic(ORDERS))
    store.log().commit(acting_as(2, lives.life), delete_topic(ORDERS))


def test_epochs_only_grow_also_above_those_of_one_leader() -> None:
    """A1, in part: a partition that was led before rows were there goes on above the epoch that it had."""
    store = Store(floor=6)
    mine = store.join(1)
    store.make(mine.life, 1)
    assert store.leads.of(home(0)) == Lead(mine.life, 7)
    with pytest.raises(LeaderOther):
        store.log().commit(["give", mine.life, [[ORDERS.hex, 0, 1, mine.life, 7, mine.life, 7]]])


def test_rows_are_for_partitions_that_are_there_and_go_with_their_topic() -> None:
    """C8, in part."""
    store = Store()
    mine = store.join(1)
    store.make(mine.life, 2)
    with pytest.raises(TopicUnknown):
        store.log().commit(give(mine.life, [Give(home(2), Lead(NOBODY, -1), mine.life)]))
    store.log().commit(wish({home(1): 3}), delete_topic(ORDERS))
    assert not store.leads.by_topic
    assert not store.leads.wishes


def test_a_wish_is_carried_out_once() -> None:
    """C5, in part: who is wished for gets it before whoever leads least; then the wish is done."""
    store = Store()
    first, second = store.join(1), store.join(2)
    store.make(first.life, 2)
    store.log().commit(wish({home(0): 2}))
    store.log().commit(end(first))
    known = store.log().metadata
    gives = assign([home(0)], known.leads, known.lives)
    store.log().commit(give(second.life, gives))
    assert store.leads.of(home(0)).life == second.life
    assert not store.leads.wishes


def test_there_is_an_end_to_wishes() -> None:
    """O2, in part."""
    store = Store()
    wishes = {PartitionId(ORDERS, number): 1 for number in range(WISHES_MAX + 1)}
    with pytest.raises(TooManyWishes):
        store.log().commit(wish(wishes))


def test_leadership_by_partition_begins_once_and_when_nobody_lives() -> None:
    """C3, in part: a store is led by one, or by many; lives count on above all series that there were."""
    store = LivesStore()
    alive = store.join(1)
    with pytest.raises(SpreadTooEarly, match="b1"):
        store.log().commit(spread(5, 3))
    store.log().commit(end(alive))
    store.log().commit(spread(5, 3))
    with pytest.raises(SpreadAlready):
        store.log().commit(spread(5, 3))
    member = store.join(1)
    assert member.life == 6
    with pytest.raises(SpreadAlready):
        store.log().commit(lead(member))


def test_earlier_releases_refuse_a_store_that_many_lead() -> None:
    """C11, in part."""
    store = Store()
    newest = max(each.name for each in store.objects.list("meta/0"))
    assert json.loads(store.objects.get(newest))["format"] == 4


@pytest.mark.parametrize("seed", range(5))
def test_rows_are_the_same_when_they_are_read_again(seed: int) -> None:
    """C1, in part: whole, or step by step, whatever was given to whom."""
    chance, store = SeededChance(seed), Store()
    lives = [store.join(each).life for each in (1, 2, 3)]
    store.make(lives[0], 20)
    for _ in range(FULL_EVERY):
        leads = store.leads
        some = {home(chance.bits(16) % 20) for _ in range(5)}
        by = lives[chance.bits(8) % 3]
        own = [each for each in some if leads.of(each).life == by]
        store.log().commit(give(by, [Give(each, leads.of(each), lives[chance.bits(8) % 3]) for each in own]))
        after = store.log().metadata
        assert Metadata.from_body("c", after.version, json.loads(json.dumps(after.to_body()))) == after
        for each in own:
            assert after.leads.of(each).epoch == leads.of(each).epoch + 1


def test_many_partitions_take_little_room() -> None:
    """C6, in part: neighbours with the same leader are one row, in a step and in a whole version."""
    store = Store()
    mine = store.join(1)
    store.make(mine.life, 3000)
    known = store.log().metadata
    assert len(json.dumps(known.leads.to_body())) < 200
    assert len(give(mine.life, [Give(home(each), Lead(mine.life, 0), mine.life) for each in range(3000)])[2]) == 1


def test_who_joins_gets_a_share_of_each_topic() -> None:
    """C5, in part: from whoever leads most; then nothing moves any more."""
    store = Store()
    first = store.join(1)
    store.make(first.life, 50)
    store.make(first.life, 4, UUID(int=8))
    second = store.join(2)
    known = store.log().metadata
    wishes = balance(known.leads, known.lives, 100)
    assert set(wishes.values()) == {2}
    assert 22 <= len(wishes) <= 27
    assert sum(each.topic_id == UUID(int=8) for each in wishes) == 2
    gives = [Give(each, known.leads.of(each), second.life) for each in wishes]
    store.log().commit(wish(wishes), give(first.life, gives))
    known = store.log().metadata
    assert not known.leads.wishes
    assert not balance(known.leads, known.lives, 100)


def test_who_leaves_is_given_nothing() -> None:
    """C5, in part: neither by the balance nor when others end; and its number comes back without it."""
    store = Store()
    first, second, third = (store.join(each) for each in (1, 2, 3))
    store.log().commit(leave(2, second.life))
    for _ in range(FULL_EVERY):
        store.log().commit(acting_as(1, first.life))
    store.make(first.life, 6)
    assert {each.life for each in store.leads.by_topic[ORDERS]} == {first.life, third.life}
    known = store.log().metadata
    assert not balance(known.leads, known.lives, 100)
    store.log().commit(wish({home(0): 2}), end(first))
    known = store.log().metadata
    assert {each.to for each in assign(known.leads.led_by(first.life), known.leads, known.lives)} == {third.life}
    store.log().commit(end(second))
    assert not store.log().metadata.lives.leaving
