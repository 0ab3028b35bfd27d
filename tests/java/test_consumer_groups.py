"""Groups of Java's consumers of both protocols: one history from classic to consumer and back, and patterns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.java.jvm import JavaFailure, Jvm
from tests.java.test_groups import COOPERATIVE, PARTITIONS, Group

EACH = 40


class Mixed(Group):
    """A group whose members say which protocol they speak: a name that ends in "new" is one of the new kind."""

    def join(self, member: str, pattern: str | None = None, **config: str) -> None:
        fixed = {
            "group.id": self.name,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": "false",
            "fetch.max.wait.ms": "100",
            "metadata.max.age.ms": "500",
        }
        if member.endswith("new"):
            fixed["group.protocol"] = "consumer"
        else:
            fixed |= {"session.timeout.ms": "10000", "heartbeat.interval.ms": "100"}
            fixed["partition.assignment.strategy"] = COOPERATIVE
        wanted: dict[str, Any] = {"pattern": pattern} if pattern else {"topics": [self.name]}
        self.java.do("member.join", member=self._of(member), config={**fixed, **config}, **wanted)
        self._members.add(member)

    def read_all(self, *members: str) -> list[tuple[int, int]]:
        """New records, read by all members and committed: where they were."""
        self.produce(EACH * PARTITIONS)
        read = []
        for member in members:
            found = self.do("read", member, count=EACH * PARTITIONS // len(members))
            read += [(each["partition"], each["offset"]) for each in found]
            self.do("commit", member)
        return read

    def described(self) -> tuple[str, dict[str, str]]:
        """Its type, and of each instance whether it speaks the new protocol."""
        found = self.java.do("groups.describe", group=self.name)
        return found["type"], {each["instance"]: each["upgraded"] for each in found["members"]}


@pytest.fixture
def mixed(java: Jvm, name: str) -> Iterator[Mixed]:
    group = Mixed(java, name, COOPERATIVE)
    yield group
    group.leave_all()


def test_there_and_back(mixed: Mixed) -> None:
    """K3: classic members, then new ones beside them, then only new ones, then classic ones again, one of them static
    all the way: every record is read once, and each move is seen by the admin client."""
    mixed.join("a")
    mixed.join("static_b", **{"group.instance.id": "b"})
    mixed.settle(a=2, static_b=2)
    assert mixed.described() == ("Classic", {"": "", "b": ""})
    read = mixed.read_all("a", "static_b")

    mixed.join("c_new")
    mixed.leave("a")
    mixed.settle(static_b=2, c_new=2)
    assert mixed.described() == ("Consumer", {"": "true", "b": "false"})
    read += mixed.read_all("static_b", "c_new")

    mixed.leave("static_b")  # It says nothing when it goes, so its instance is taken until an operator removes it.
    mixed.java.do("groups.remove", group=mixed.name, instances=["b"])
    mixed.join("static_b_new", **{"group.instance.id": "b"})
    mixed.settle(static_b_new=2, c_new=2)
    assert mixed.described() == ("Consumer", {"": "true", "b": "true"})
    read += mixed.read_all("static_b_new", "c_new")

    mixed.leave("static_b_new")
    mixed.join("static_b", **{"group.instance.id": "b"})
    mixed.join("a")
    mixed.leave("c_new")
    mixed.settle(static_b=2, a=2)
    assert mixed.described() == ("Classic", {"": "", "b": ""})
    read += mixed.read_all("static_b", "a")

    assert sorted(read) == [(number, offset) for number in range(PARTITIONS) for offset in range(4 * EACH)]
    assert mixed.java.do("groups.list")[mixed.name][0] == "Classic"


@pytest.mark.parametrize("member", ["old", "new"])
def test_patterns(mixed: Mixed, java: Jvm, member: str) -> None:
    """K3: a member reads the topics that fit its pattern, also one that is made later; here the client looks for them,
    there the broker."""
    java.do("topics.create", topic=f"{mixed.name}-x", partitions=2)
    mixed.join(member, pattern=f"{mixed.name}-[xy]")
    assert mixed.settle(**{member: 2})[member]["assigned"] == [f"{mixed.name}-x-{number}" for number in (0, 1)]
    for name in ("y", "z", "y-no-more"):
        java.do("topics.create", topic=f"{mixed.name}-{name}", partitions=1)
    assert f"{mixed.name}-y-0" in mixed.settle(**{member: 3})[member]["assigned"]


def test_a_pattern_that_is_none(mixed: Mixed) -> None:
    """K3: whoever sends one that RE2 does not understand is told."""
    mixed.join("a_new", pattern="(")
    with pytest.raises(JavaFailure, match="InvalidRegularExpression"):
        mixed.settle(a_new=1)


def test_a_new_member_with_a_taken_instance_waits(mixed: Mixed) -> None:
    """K3: an instance id belongs to one living member; of the new kind the second one is refused, not the first."""
    mixed.join("a_new", **{"group.instance.id": "only"})
    mixed.settle(a_new=PARTITIONS)
    mixed.join("b_new", **{"group.instance.id": "only"})
    with pytest.raises(JavaFailure, match="UnreleasedInstanceId"):
        mixed.settle(b_new=1)
    assert len(mixed.read_all("a_new")) == EACH * PARTITIONS
