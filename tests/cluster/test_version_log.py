"""Versions of what a cluster shares: whoever leads, and whoever did before."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest

from holdfast.cluster.metadata import Topic, create_topic
from holdfast.cluster.metadata_log import MetadataLog
from holdfast.io.chance import SeededChance
from holdfast.io.clock import ManualClock
from holdfast.io.objects.counting import CountingObjects
from holdfast.io.objects.faulty import Delay, FaultyObjects, WrongByte, once
from holdfast.io.objects.memory import MemoryBucket, MemoryObjects
from holdfast.io.store_errors import HigherEpoch
from holdfast.io.versions import FULL_EVERY, GRACE_S, VersionRetries


class Store:
    """One store, and processes that look at it."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.objects = MemoryObjects(MemoryBucket(), clock=self.clock)
        self._count = 0

    def log(self) -> MetadataLog:
        self._count += 1
        patience = VersionRetries(self.clock, SeededChance(self._count), self.clock.advance)
        return MetadataLog(self.objects, "c", "w", patience, str(self._count))


def made(name: str) -> list[object]:
    return create_topic(Topic(name, UUID(int=len(name)), 1, {}))


def test_who_led_before_changes_nothing_any_more() -> None:
    """D2: a process that wakes up behind another's start is fenced, at its first commit and after a long silence."""
    store = Store()
    sleeper, waker = store.log(), store.log()
    assert sleeper.lead()
    waker.refresh()
    assert waker.lead()
    with pytest.raises(HigherEpoch):
        sleeper.commit(made("a"))
    store.clock.advance(GRACE_S)
    with pytest.raises(HigherEpoch):
        sleeper.commit(made("a"))
    assert not waker.commit(made("bb")).topics.keys() - {"bb"}
    assert set(store.log().metadata.topics) == {"bb"}


def test_of_two_that_begin_to_lead_only_one_does() -> None:
    """D2: the other hears it, and has to look first whether it still is the owner."""
    store = Store()
    first, second = store.log(), store.log()
    assert first.lead()
    assert not second.lead()
    first.commit(made("a"))
    second.refresh()
    assert second.lead()
    with pytest.raises(HigherEpoch):
        first.commit(made("bb"))
    assert set(second.commit(made("bb")).topics) == {"a", "bb"}


def test_a_byte_that_is_misread_behind_a_put_changes_nothing() -> None:
    """D2, D9: the version below is looked at; read wrongly, it is read again, and the commit is not tried twice."""
    store = Store()
    first = store.log()
    first.commit(made("a"))
    name = "meta/00000000000000000000.json"
    at = store.objects.get(name).index(b'"nonce":"') + 12
    faulty = FaultyObjects(store.objects, once("get", name, WrongByte(at)))
    patience = VersionRetries(store.clock, SeededChance(7), store.clock.advance)
    log = MetadataLog(store.objects, "c", "w", patience)
    log._versions = replace(log._versions, objects=faulty)
    assert set(log.commit(made("bb")).topics) == {"a", "bb"}


def test_who_leads_meets_a_change_of_somebody_who_leads_nothing() -> None:
    """D2: a tool that changes the metadata fences nobody, and is not taken for a leader."""
    store = Store()
    leader = store.log()
    assert leader.lead()
    store.log().commit(made("a"))
    assert set(leader.commit(made("bb")).topics) == {"a", "bb"}
    assert leader.lead()


def test_a_look_at_the_metadata_is_one_read() -> None:
    """C10: a listing is twelve times dearer, and only made when there is something new, or after a long silence.

    The test of C10.
    """
    store = Store()
    writer = store.log()
    writer.commit(made("a"))
    counting = CountingObjects(store.objects)
    patience = VersionRetries(store.clock, SeededChance(7), store.clock.advance)
    reader = MetadataLog(counting, "c", "w", patience)
    before = counting.counts
    for _ in range(10):
        assert set(reader.refresh().topics) == {"a"}
        store.clock.advance(GRACE_S / 4)
    assert (counting.counts.gets - before.gets, counting.counts.requests - before.requests) == (10, 10)
    writer.commit(made("bb"))
    assert set(reader.refresh().topics) == {"a", "bb"}
    assert counting.counts.lists - before.lists == 1


def test_whoever_was_silent_for_long_lists_before_it_believes_that_nothing_is_new() -> None:
    """D2, C10: the number above may have been used and deleted; also while the read was under way."""
    for asleep_in_it in (False, True):
        store = Store()
        writer = store.log()
        writer.commit(made("a"))
        sleeps = Delay(lambda store=store: store.clock.suspend(GRACE_S))
        plan = once("get", "00001.json", sleeps) if asleep_in_it else once("nothing", "", sleeps)
        patience = VersionRetries(store.clock, SeededChance(7), store.clock.advance)
        reader = MetadataLog(FaultyObjects(store.objects, plan), "c", "w", patience)
        for number in range(FULL_EVERY):
            writer.commit(made("b" * (number + 2)))
        for number in range(1, FULL_EVERY):
            store.objects.delete(f"meta/{number:020}.json")
        if not asleep_in_it:
            store.clock.suspend(GRACE_S)
        assert len(reader.refresh().topics) == FULL_EVERY + 1
