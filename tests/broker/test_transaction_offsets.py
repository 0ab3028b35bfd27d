"""Offsets in transactions: they count once the transaction is committed, and never if it is aborted."""

from __future__ import annotations

from typing import Any

import pytest
from tests.broker.members import Member
from tests.broker.test_offsets import commit
from tests.broker.transactor import Transactor
from tests.broker.wire import Wire, create_topic
from tests.support.broker_process import BrokerProcess

from holdfast.protocol.api import Key

BOTH_WAYS = pytest.mark.parametrize("implicit", [False, True], ids=["explicit", "implicit"])
UNSTABLE = 88


def fetched(wire: Wire, group: str, topic: str, *, stable: bool = True) -> tuple[int, int]:
    """The committed offset, and the error code."""
    groups = [{"group_id": group, "topics": [{"name": topic, "partition_indexes": [0]}]}]
    answer = wire.ask(Key.OFFSET_FETCH, 9, groups=groups, require_stable=stable)
    [[[found]]] = [[topic.partitions for topic in each.topics] for each in answer.groups]
    return found.committed_offset, found.error_code


def started(wire: Wire, name: str, group: str, *, implicit: bool) -> Transactor:
    producer = Transactor(wire, name, implicit=implicit)
    assert producer.init() == 0
    if not implicit:
        assert producer.add_offsets(group) == 0
    return producer


@BOTH_WAYS
def test_offsets_count_with_the_commit(wire: Wire, topic: str, group: str, implicit: bool) -> None:
    """K4: until then the old ones are shown, and who asks for stable ones is told to wait."""
    create_topic(wire, topic)
    assert commit(wire, group, topic, 3) == 0
    producer = started(wire, topic, group, implicit=implicit)
    assert producer.commit_offset(group, topic, 7) == 0
    assert fetched(wire, group, topic) == (-1, UNSTABLE)
    assert fetched(wire, group, topic, stable=False) == (3, 0)
    assert producer.end(commit=True) == 0
    assert fetched(wire, group, topic) == (7, 0)


@BOTH_WAYS
def test_offsets_of_an_aborted_transaction(wire: Wire, topic: str, group: str, implicit: bool) -> None:
    """K4: it is as if they had not been sent."""
    create_topic(wire, topic)
    assert commit(wire, group, topic, 3) == 0
    producer = started(wire, topic, group, implicit=implicit)
    assert producer.commit_offset(group, topic, 7) == 0
    assert producer.end(commit=False) == 0
    assert fetched(wire, group, topic) == (3, 0)
    absent = f"{group}-absent"
    if not implicit:
        assert producer.add_offsets(absent) == 0
    assert producer.commit_offset(absent, topic, 7) == 0
    assert producer.end(commit=False) == 0
    assert fetched(wire, absent, topic) == (-1, 0)


def test_a_later_commit_outside_the_transaction_holds(wire: Wire, topic: str, group: str) -> None:
    """K4: offsets are decided in the order of the log."""
    create_topic(wire, topic)
    producer = started(wire, topic, group, implicit=True)
    assert producer.commit_offset(group, topic, 7) == 0
    assert commit(wire, group, topic, 9) == 0
    assert producer.end(commit=True) == 0
    assert fetched(wire, group, topic) == (9, 0)


def test_offsets_that_were_not_announced(wire: Wire, topic: str, group: str) -> None:
    """K4: in the explicit way a group has to be added first."""
    create_topic(wire, topic)
    producer = Transactor(wire, topic, implicit=False)
    assert producer.init() == 0
    assert producer.commit_offset(group, topic, 7, version=3) == 48
    assert producer.commit_offset(group, topic, 7, version=4) == 120
    assert fetched(wire, group, topic) == (-1, 0)


def test_only_members_commit_for_their_group(broker: BrokerProcess, wire: Wire, topic: str, group: str) -> None:
    """K4: a member of an older generation is a zombie, too: it must not move the group's offsets."""
    create_topic(wire, topic)
    member = Member(broker.port, group)
    member.join()
    producer = started(wire, topic, group, implicit=True)
    who: dict[str, Any] = {"member": member.id, "generation": member.generation}
    assert producer.commit_offset(group, topic, 1, **who) == 0, "also while the assignment is being made"
    member.sync({member.id: b""})
    assert producer.commit_offset(group, topic, 2, **who) == 0
    assert producer.commit_offset(group, topic, 3, member=member.id, generation=member.generation - 1) == 22
    assert producer.commit_offset(group, topic, 3, member="nobody", generation=member.generation) == 25
    assert producer.commit_offset(f"{group}-absent", topic, 3, generation=1) == 22
    assert producer.commit_offset(group, topic, 4) == 0, "who says nothing of itself is let in, as in Kafka"
    assert producer.end(commit=True) == 0
    assert fetched(wire, group, topic) == (4, 0)
    member.close()


def test_offsets_of_topics_that_are_not_there(wire: Wire, topic: str, group: str) -> None:
    """K4: they are refused one by one."""
    producer = started(wire, topic, group, implicit=True)
    assert producer.commit_offset(group, "absent", 1) == 3
    assert producer.end(commit=True) == 48, "nothing has begun"
