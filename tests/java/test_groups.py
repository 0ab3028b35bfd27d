"""Groups of Kafka's Java consumers, with the classic protocol: rebalances of both kinds, static members, offsets."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.java.jvm import JavaFailure, Jvm
from tests.java.serving import Serving

EAGER = "org.apache.kafka.clients.consumer.RangeAssignor"
COOPERATIVE = "org.apache.kafka.clients.consumer.CooperativeStickyAssignor"
PARTITIONS = 4


class Group:
    """A group that reads one topic, and its members by name."""

    def __init__(self, java: Jvm, name: str, assignor: str) -> None:
        self.java = java
        self.name = name
        self._assignor = assignor
        self._members: set[str] = set()
        java.do("topics.create", topic=name, partitions=PARTITIONS)

    def join(self, member: str, **config: str) -> None:
        """Join; a name with "static" in it is also the member's instance id."""
        fixed = {
            "group.id": self.name,
            "group.instance.id": member,
            "partition.assignment.strategy": self._assignor,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": "false",
            "heartbeat.interval.ms": "100",  # Members learn of a rebalance by their heartbeats.
            "session.timeout.ms": "10000",
            "fetch.max.wait.ms": "100",  # A member that leaves waits for its last fetch.
        }
        if "static" not in member:
            del fixed["group.instance.id"]
        self.java.do("member.join", member=self._of(member), topics=[self.name], config={**fixed, **config})
        self._members.add(member)

    def settle(self, **counts: int) -> dict[str, Any]:
        """Wait until every member has this many partitions; the answer is what each has seen happen since."""
        wanted = {self._of(member): count for member, count in counts.items()}
        seen = self.java.do("member.settle", members=wanted)
        return {member: seen[self._of(member)] for member in counts}

    def do(self, what: str, member: str, **arguments: Any) -> Any:
        return self.java.do(f"member.{what}", member=self._of(member), **arguments)

    def leave(self, member: str) -> None:
        self._members.discard(member)
        self.do("leave", member)

    def leave_all(self) -> None:
        for member in sorted(self._members):
            self.leave(member)

    def produce(self, count: int) -> None:
        """Records 0, 1, 2 … in turn to the partitions."""
        sent = [
            {"topic": self.name, "partition": number % PARTITIONS, "value": b"%d" % number} for number in range(count)
        ]
        self.java.do("produce", config={"linger.ms": "20"}, records=sent)

    def of_partition(self, *numbers: int) -> list[str]:
        return [f"{self.name}-{number}" for number in numbers]

    def _of(self, member: str) -> str:
        return f"{self.name}/{member}"


@pytest.fixture
def eager(java: Jvm, name: str) -> Iterator[Group]:
    group = Group(java, name, EAGER)
    yield group
    group.leave_all()


@pytest.fixture
def cooperative(java: Jvm, name: str) -> Iterator[Group]:
    group = Group(java, name, COOPERATIVE)
    yield group
    group.leave_all()


def test_eager_rebalance(eager: Group) -> None:
    """K3: every member gives everything back, and gets its part of the new assignment."""
    eager.join("a")
    assert eager.settle(a=4)["a"]["events"] == [["assigned", eager.of_partition(0, 1, 2, 3)]]
    eager.join("b")
    seen = eager.settle(a=2, b=2)
    assert seen["a"]["events"] == [
        ["revoked", eager.of_partition(0, 1, 2, 3)],
        ["assigned", seen["a"]["assigned"]],
    ]
    assert sorted(seen["a"]["assigned"] + seen["b"]["assigned"]) == eager.of_partition(0, 1, 2, 3)
    assert seen["a"]["generation"] == seen["b"]["generation"]
    eager.leave("b")
    assert eager.settle(a=4)["a"]["generation"] == seen["a"]["generation"] + 1


def test_cooperative_rebalance(cooperative: Group) -> None:
    """K3: a member gives back only what moves, and keeps the rest throughout."""
    cooperative.join("a")
    cooperative.settle(a=4)
    cooperative.join("b")
    seen = cooperative.settle(a=2, b=2)
    assert [event for event in seen["a"]["events"] if event[1]] == [["revoked", seen["b"]["assigned"]]]
    cooperative.leave("b")
    events = cooperative.settle(a=4)["a"]["events"]
    assert [event for event in events if event[1]] == [["assigned", seen["b"]["assigned"]]]


def test_every_record_reaches_one_member(cooperative: Group) -> None:
    """K3: what one member has committed the other goes on from: nothing is read twice, nothing is left out."""
    cooperative.produce(100)
    cooperative.join("a")
    cooperative.settle(a=4)
    read = cooperative.do("read", "a", count=100)
    cooperative.do("commit", "a")
    cooperative.join("b")
    cooperative.settle(a=2, b=2)
    cooperative.produce(100)
    read += cooperative.do("read", "a", count=50)
    read += cooperative.do("read", "b", count=50)
    assert sorted((each["partition"], each["offset"]) for each in read) == [
        (partition, offset) for partition in range(PARTITIONS) for offset in range(50)
    ]


@pytest.mark.parametrize("restarted", ["static_a", "static_b"])  # The first one leads the group.
def test_a_static_member_comes_back(eager: Group, restarted: str) -> None:
    """K3: a static member that restarts gets its partitions again, and nobody else notices."""
    eager.join("static_a")
    eager.settle(static_a=4)
    eager.join("static_b")
    before = eager.settle(static_a=2, static_b=2)
    other = "static_b" if restarted == "static_a" else "static_a"
    eager.leave(restarted)
    eager.join(restarted)
    after = eager.settle(static_a=2, static_b=2)
    assert after[other]["events"] == []
    assert after[restarted]["assigned"] == before[restarted]["assigned"]
    assert after[restarted]["generation"] == before[restarted]["generation"]
    assert after[restarted]["id"] != before[restarted]["id"]


def test_a_second_static_member_fences_the_first(eager: Group) -> None:
    """K3: of two members with the same instance id, the older one is told to stop."""
    eager.join("static_a")
    eager.settle(static_a=4)
    eager.join("second", **{"group.instance.id": "static_a"})
    eager.settle(second=4)
    with pytest.raises(JavaFailure, match="FencedInstanceIdException"):
        eager.do("read", "static_a", count=1)


def test_an_operator_removes_a_static_member(java: Jvm, eager: Group) -> None:
    """K3: by its instance id."""
    eager.join("static_a")
    eager.settle(static_a=4)
    eager.leave("static_a")
    [member] = java.do("groups.describe", group=eager.name)["members"]
    assert member["instance"] == "static_a"
    java.do("groups.remove", group=eager.name, instances=["static_a"])
    assert java.do("groups.describe", group=eager.name)["state"] == "Empty"


@pytest.mark.parametrize("waits", [True, False])
def test_commits(eager: Group, waits: bool) -> None:
    """K3: commits are kept with their metadata; what was never committed has none."""
    eager.join("a")
    eager.settle(a=4)
    offsets = [[eager.name, 0, 5, "so far"], [eager.name, 1, 7]]
    eager.do("commit", "a", offsets=offsets, **({} if waits else {"async": True}))
    committed = eager.do("committed", "a", partitions=[[eager.name, number] for number in range(3)])
    assert committed == dict(zip(eager.of_partition(0, 1, 2), ([5, "so far"], [7, ""], None), strict=True))


def test_seek_back(eager: Group) -> None:
    """L1: a member may read again what it has read."""
    eager.produce(20)
    eager.join("a")
    eager.settle(a=4)
    assert len(eager.do("read", "a", count=20)) == 20
    eager.do("seek", "a", partition=[eager.name, 2], offset=3)
    again = eager.do("read", "a", count=2)
    assert [(each["partition"], each["offset"]) for each in again] == [(2, 3), (2, 4)]


def test_a_group_outlives_the_broker(needs_java: None, tmp_path: Path, name: str) -> None:
    """A8: after kill -9 a member carries on, one that joins anew begins where the group had committed, or goes back."""
    with Serving(tmp_path) as broker, Jvm(broker.address) as java:
        group = Group(java, name, COOPERATIVE)
        group.produce(20)
        group.join("a")
        group.settle(a=4)
        assert len(group.do("read", "a", count=20)) == 20
        group.do("commit", "a")
        broker.kill()
        broker.start()
        group.produce(20)
        assert [each["offset"] >= 5 for each in group.do("read", "a", count=20)] == [True] * 20
        group.leave("a")
        group.join("b")
        group.settle(b=4)
        read = group.do("read", "b", count=20)
        assert sorted((each["partition"], each["offset"]) for each in read) == [
            (partition, offset) for partition in range(PARTITIONS) for offset in range(5, 10)
        ]
        group.do("seek", "b", partition=[name, 1], offset=0)
        assert [each["offset"] for each in group.do("read", "b", count=10)] == list(range(10))
