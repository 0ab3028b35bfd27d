"""The assignors against what they promise."""

from __future__ import annotations

from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.coordinator.group.assignor import ASSIGNORS, Wish, assign, most_wanted
from holdfast.types import PartitionId

TOPICS = [UUID(int=number) for number in range(1, 5)]
COUNTS = st.dictionaries(st.sampled_from(TOPICS), st.integers(1, 9), max_size=4)
MEMBERS = st.dictionaries(
    st.text("abcdef", min_size=1, max_size=2), st.frozensets(st.sampled_from(TOPICS)), min_size=1, max_size=6
)
NAMES = st.sampled_from(sorted(ASSIGNORS))
Held = dict[str, frozenset[PartitionId]]


def fresh(name: str, members: dict[str, frozenset[UUID]], counts: dict[UUID, int]) -> Held:
    return assign(name, {member: Wish(topics, frozenset()) for member, topics in members.items()}, counts)


def again(name: str, members: dict[str, frozenset[UUID]], counts: dict[UUID, int], before: Held) -> Held:
    wishes = {member: Wish(topics, before.get(member, frozenset())) for member, topics in members.items()}
    return assign(name, wishes, counts)


def everything(members: dict[str, frozenset[UUID]], counts: dict[UUID, int]) -> set[PartitionId]:
    wanted = frozenset().union(*members.values())
    return {PartitionId(topic, number) for topic in wanted for number in range(counts.get(topic, 0))}


@settings(max_examples=150, deadline=None)
@given(name=NAMES, first=MEMBERS, then=MEMBERS, counts=COUNTS, later=COUNTS)
def test_every_partition_goes_to_one_member_that_wants_it(
    name: str,
    first: dict[str, frozenset[UUID]],
    then: dict[str, frozenset[UUID]],
    counts: dict[UUID, int],
    later: dict[UUID, int],
) -> None:
    """K3: also when members, topics and partitions come and go in between; and equal input gives equal output."""
    before = fresh(name, first, counts)
    after = again(name, then, later, before)
    assert after == again(name, dict(reversed(list(then.items()))), later, before)
    for members, found, topics in ((first, before, counts), (then, after, later)):
        assert sorted(each for own in found.values() for each in own) == sorted(everything(members, topics))
        assert found.keys() == members.keys()
        assert all(each.topic_id in members[member] for member, own in found.items() for each in own)


@settings(max_examples=100, deadline=None)
@given(name=NAMES, members=MEMBERS, counts=COUNTS)
def test_nothing_moves_without_a_reason(
    name: str, members: dict[str, frozenset[UUID]], counts: dict[UUID, int]
) -> None:
    """K3: what an assignor has assigned it assigns again."""
    before = fresh(name, members, counts)
    assert again(name, members, counts, before) == before


@settings(max_examples=100, deadline=None)
@given(members=MEMBERS, then=MEMBERS, counts=COUNTS)
def test_uniform_is_even(
    members: dict[str, frozenset[UUID]], then: dict[str, frozenset[UUID]], counts: dict[UUID, int]
) -> None:
    """K3: nobody who wants a topic has two partitions less than somebody who holds a part of it."""
    found = again("uniform", then, counts, fresh("uniform", members, counts))
    for own in found.values():
        for each in own:
            others = [len(found[other]) for other, topics in then.items() if each.topic_id in topics]
            assert len(own) - min(others) <= 1


@settings(max_examples=100, deadline=None)
@given(count=st.integers(1, 30), before=st.integers(1, 6), after=st.integers(1, 6))
def test_uniform_moves_as_little_as_it_can(count: int, before: int, after: int) -> None:
    """K3: where all want the same, only what somebody has too much of changes hands."""
    topics, counts = frozenset(TOPICS[:1]), {TOPICS[0]: count}
    old = fresh("uniform", {f"m{number}": topics for number in range(before)}, counts)
    new = again("uniform", {f"m{number}": topics for number in range(after)}, counts, old)
    kept = sum(len(old.get(member, frozenset()) & own) for member, own in new.items())
    assert kept == sum(min(len(old[member]), len(new[member])) for member in old.keys() & new.keys())
    sizes = {len(own) for own in new.values()}
    assert max(sizes) - min(sizes) <= 1


@settings(max_examples=100, deadline=None)
@given(count=st.integers(1, 12), sizes=st.lists(st.integers(1, 5), min_size=1, max_size=4))
def test_range_cuts_topics_that_are_alike_in_the_same_way(count: int, sizes: list[int]) -> None:
    """K3: whoever has partition n of one of them has it of all of them, however often members come and go."""
    topics, counts = frozenset(TOPICS), dict.fromkeys(TOPICS, count)
    found: Held = {}
    for size in sizes:
        found = again("range", {f"m{number}": topics for number in range(size)}, counts, found)
        for own in found.values():
            numbers = [{each.partition for each in own if each.topic_id == topic} for topic in TOPICS]
            assert all(each == numbers[0] for each in numbers)
        shares = [len(own) // len(TOPICS) for own in found.values()]
        assert max(shares) - min(shares) <= 1


def test_range_gives_runs_to_a_fresh_group() -> None:
    """K3: in the order of the members, the first ones having one more."""
    found = fresh("range", dict.fromkeys(("a", "b", "c"), frozenset(TOPICS[:1])), {TOPICS[0]: 8})
    assert [sorted(each.partition for each in found[member]) for member in "abc"] == [[0, 1, 2], [3, 4, 5], [6, 7]]


def test_an_instance_keeps_its_place_under_another_id() -> None:
    """K3: members with an instance id are served by that, so that a restart changes nothing for the others."""
    topics, counts = frozenset(TOPICS[:1]), {TOPICS[0]: 5}
    first = assign("range", {"z": Wish(topics, frozenset(), "i"), "b": Wish(topics, frozenset())}, counts)
    then = assign("range", {"a": Wish(topics, frozenset(), "i"), "b": Wish(topics, frozenset())}, counts)
    assert (first["z"], first["b"]) == (then["a"], then["b"])


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ([], "uniform"),
        ([None, None], "uniform"),
        (["range", None, None], "range"),
        (["uniform", "range", "range"], "range"),
    ],
)
def test_the_assignor_that_most_members_want(names: list[str | None], expected: str) -> None:
    """K3: those who do not care are not counted."""
    assert most_wanted(names, "uniform") == expected
