"""Where share groups begin and how they are moved, how much a fetch waits for, and the limits they keep to."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.broker.inside import InsideBroker
from tests.broker.test_share_groups import ACCEPT, RELEASE, RENEW, Sharing
from tests.broker.wire import Wire, batch, create_topic, produce

from holdfast.broker.settings import BrokerSettings
from holdfast.io.objects.memory import MemoryObjects
from holdfast.protocol.api import Key
from holdfast.protocol.codes import Code

COUNT = 4
HOUR_MS = 3_600_000
SETTINGS = BrokerSettings(group_share_max_groups=2, group_share_max_partitions=2)


class Place:
    """A data directory with a store, on which brokers run one after the other."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._objects = MemoryObjects()

    def broker(self) -> InsideBroker:
        return InsideBroker(self._path, self._objects, broker=SETTINGS)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture
def wire(place: Place) -> Iterator[Wire]:
    with place.broker() as inside, Wire(inside.port) as wire:
        create_topic(wire, "t", partitions=3)
        produce(wire, "t", batch(*(b"%d" % number for number in range(COUNT))))
        yield wire


def sharing(wire: Wire, group: str = "g") -> Sharing:
    [found] = wire.ask(Key.METADATA, 12, topics=[{"name": "t", "topic_id": None}]).topics
    return Sharing(wire, group, "t", found.topic_id)


def alter(wire: Wire, group: str, *starts: tuple[str, int, int]) -> tuple[int, list[int]]:
    """The code of the answer, and of each partition."""
    topics = [
        {"topic_name": topic, "partitions": [{"partition_index": number, "start_offset": start}]}
        for topic, number, start in starts
    ]
    answer = wire.ask(Key.ALTER_SHARE_GROUP_OFFSETS, 0, group_id=group, topics=topics)
    return int(answer.error_code), [part.error_code for each in answer.responses for part in each.partitions]


def delete(wire: Wire, group: str, *topics: str) -> tuple[int, list[int]]:
    named = [{"topic_name": each} for each in topics]
    answer = wire.ask(Key.DELETE_SHARE_GROUP_OFFSETS, 0, group_id=group, topics=named)
    return int(answer.error_code), [each.error_code for each in answer.responses]


def offsets(wire: Wire, group: str) -> dict[int, int]:
    """Where the group begins, by partition."""
    [found] = wire.ask(Key.DESCRIBE_SHARE_GROUP_OFFSETS, 1, groups=[{"group_id": group, "topics": None}]).groups
    return {part.partition_index: part.start_offset for topic in found.topics for part in topic.partitions}


def test_a_group_without_members_is_moved(wire: Wire) -> None:
    """K8: back and forth; what was judged is forgotten."""
    share = sharing(wire)
    share.join("a")
    assert share.given(share.fetch("a", 0)) == [(0, 3, 1)]
    assert share.code(share.acknowledge("a", 1, (0, 1, ACCEPT), (2, 2, RELEASE))) == 0
    assert alter(wire, "g", ("t", 0, 1))[0] == Code.NON_EMPTY_GROUP
    share.beat("a", -1)
    assert alter(wire, "g", ("t", 0, 1), ("t", 7, 0), ("absent", 0, 0), ("t", 1, -1)) == (0, [0, 3, 3, 42])
    assert offsets(wire, "g") == {0: 1}
    assert share.code(share.acknowledge("a", 2, (3, 3, ACCEPT))) == Code.INVALID_RECORD_STATE
    share.join("b")
    assert share.given(share.fetch("b", 0)) == [(1, 3, 1)]
    share.beat("b", -1)
    assert alter(wire, "g", ("t", 0, 3)) == (0, [0])
    assert share.given(share.fetch("c", 0)) == [(3, 3, 1)]


def test_what_was_moved_stays_moved(place: Place) -> None:
    """K8: also a group that was made by it, and one whose place was deleted, over a start of the broker."""
    with place.broker() as inside, Wire(inside.port) as wire:
        create_topic(wire, "t", partitions=3)
        produce(wire, "t", batch(*(b"%d" % number for number in range(COUNT))))
        assert alter(wire, "new", ("t", 0, 3)) == (0, [0])
        assert alter(wire, "new", ("t", 0, 2)) == (0, [0])
        share = sharing(wire)
        share.join("a")
        assert share.given(share.fetch("a", 0, max_records=1)) == [(0, 0, 1)]
        assert share.code(share.acknowledge("a", 1, (0, 0, ACCEPT))) == 0
        assert delete(wire, "g", "t")[0] == Code.NON_EMPTY_GROUP
        share.beat("a", -1)
        assert delete(wire, "g", "t", "absent") == (0, [0, 3])
        assert delete(wire, "g", "t") == (0, [3])
        assert delete(wire, "nobody", "t")[0] == Code.GROUP_ID_NOT_FOUND
        assert offsets(wire, "g") == {}
    with place.broker() as inside, Wire(inside.port) as wire:
        assert offsets(wire, "g") == {}
        assert offsets(wire, "new") == {0: 2}
        share = sharing(wire)
        share.join("a")
        assert share.given(share.fetch("a", 0)) == [(0, 3, 1)]
        share = sharing(wire, "new")
        share.join("a")
        assert share.given(share.fetch("a", 0)) == [(2, 3, 1)]


def test_a_name_of_another_kind_of_group_is_not_moved(wire: Wire) -> None:
    """K8: neither is one that nobody may have."""
    beat = {"group_id": "c", "member_id": "m", "rebalance_timeout_ms": 1000, "topic_partitions": []}
    assert wire.ask(Key.CONSUMER_GROUP_HEARTBEAT, 1, subscribed_topic_names=["t"], **beat).error_code == 0
    assert alter(wire, "c", ("t", 0, 1))[0] == Code.GROUP_ID_NOT_FOUND
    assert delete(wire, "c", "t")[0] == Code.GROUP_ID_NOT_FOUND
    assert alter(wire, "", ("t", 0, 1))[0] == Code.INVALID_GROUP_ID


def test_share_groups_and_their_partitions_are_bounded(wire: Wire) -> None:
    """K8, K10: by group.share.max.groups and group.share.max.partitions; who comes too late is told so."""
    assert alter(wire, "g", ("t", 0, 1), ("t", 1, 0)) == (0, [0, 0])
    assert alter(wire, "g", ("t", 2, 1))[0] == Code.COORDINATOR_NOT_AVAILABLE
    assert alter(wire, "g", ("t", 1, 1)) == (0, [0])
    assert delete(wire, "g", "t") == (0, [0])
    assert alter(wire, "g", ("t", 2, 1)) == (0, [0])
    assert alter(wire, "h", ("t", 1, 1)) == (0, [0])
    assert alter(wire, "i")[0] == Code.COORDINATOR_NOT_AVAILABLE


@pytest.mark.parametrize(("ago", "first"), [("PT2H", 4), ("P1DT2H0.5S", 0), ("PT0S", 8), ("pt90m", 4)])
def test_a_group_begins_by_duration(wire: Wire, ago: str, first: int) -> None:
    """K8: with the first record that is not older than it says; with the next one when all are older."""
    now_ms = int(time.time() * 1000)
    create_topic(wire, "old")
    produce(wire, "old", batch(*[b"x"] * 4, timestamp=now_ms - 25 * HOUR_MS))
    produce(wire, "old", batch(*[b"x"] * 4, timestamp=now_ms - HOUR_MS))
    [found] = wire.ask(Key.METADATA, 12, topics=[{"name": "old", "topic_id": None}]).topics
    share = Sharing(wire, "g", "old", found.topic_id)
    assert share.configure("share.auto.offset.reset", f"by_duration:{ago}") == 0
    share.join("a")
    given = share.given(share.fetch("a", 0))
    assert given == ([] if first == 8 else [(first, 7, 1)])
    assert offsets(wire, "g") == {0: first}


@pytest.mark.parametrize(
    "text", ["by_duration:", "by_duration:P", "by_duration:PT", "by_duration:-PT1H", "by_duration:1h", "PT1H"]
)
def test_what_is_no_duration_is_refused(wire: Wire, text: str) -> None:
    """K8: as Kafka refuses it."""
    assert sharing(wire).configure("share.auto.offset.reset", text) == Code.INVALID_CONFIG


def test_a_fetch_waits_for_its_smallest_size(wire: Wire) -> None:
    """K8: until there are as many bytes, or its time is up; then it gets what there is. Nothing is held meanwhile."""
    share = sharing(wire)
    share.join("a")
    began = time.monotonic()
    answer = share.fetch("a", 0, max_wait_ms=300, min_bytes=10_000)
    assert time.monotonic() - began >= 0.3
    assert share.given(answer) == [(0, 3, 1)]
    assert share.code(share.acknowledge("a", 1, (0, 3, ACCEPT))) == 0
    number = wire.send(Key.SHARE_FETCH, 2, **share.request("a", 2, max_wait_ms=20_000, min_bytes=10_000))
    with Wire(wire.socket.getpeername()[1]) as other:
        produce(other, "t", batch(b"small"))
        quick = Sharing(other, "g", "t", share.topic_id)
        assert quick.given(quick.fetch("b", 0)) == [(4, 4, 1)]  # The first one has looked, and taken nothing.
        produce(other, "t", batch(b"y" * 6_000))
        produce(other, "t", batch(b"z" * 6_000))
    assert share.given(wire.answer(Key.SHARE_FETCH, 2, number)) == [(5, 6, 1)]
    assert time.monotonic() - began < 15


def test_renewals_can_be_turned_off(wire: Wire) -> None:
    """K8: by share.renew.acknowledge.enable; every other verdict is taken as before."""
    share = sharing(wire)
    assert share.configure("share.renew.acknowledge.enable", "false") == 0
    share.join("a")
    assert share.given(share.fetch("a", 0)) == [(0, 3, 1)]
    assert share.code(share.acknowledge("a", 1, (0, 0, RENEW), is_renew_ack=True)) == Code.INVALID_RECORD_STATE
    assert share.code(share.acknowledge("a", 2, (0, 0, ACCEPT))) == 0


def test_a_group_has_limits_of_its_own(wire: Wire) -> None:
    """K8: deliveries, records under way, and the interval of its members; they are in force at once."""
    share = sharing(wire)
    for name, value in (("delivery.count.limit", "2"), ("heartbeat.interval.ms", "6000")):
        assert share.configure(f"share.{name}", value) == 0
    assert share.join("a").heartbeat_interval_ms == 6000
    for delivery in (1, 2):
        assert share.given(share.fetch("a", 2 * delivery - 2))[0] == (0, 3, delivery)
        assert share.code(share.acknowledge("a", 2 * delivery - 1, (0, 3, RELEASE))) == 0
    assert share.given(share.fetch("a", 4)) == []
    assert offsets(wire, "g") == {0: COUNT}
    assert share.configure("share.partition.max.record.locks", "100") == 0
    produce(wire, "t", batch(*[b"x"] * 150))
    assert share.given(share.fetch("a", 5, max_records=1000)) == [(4, 103, 1)]
