"""`holdfast group` against a real broker, with a real consumer as a member."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import Consumer, TopicPartition
from tests.cli.conftest import Commands
from typer.testing import CliRunner

from holdfast.cli.main import app
from holdfast.client.admin.groups import partitions_of


@pytest.fixture
def group(topic: str) -> str:
    return f"group-of-{topic}"


@pytest.fixture
def member(holdfast: Commands, make_topic: Callable[..., str], group: str) -> Iterator[Consumer]:
    """A member that has read two of three records of each of two partitions."""
    topic = make_topic("--partitions", "2")
    for partition in "01":
        holdfast.run("produce", topic, "--partition", partition, stdin=b"one\ntwo\nthree\n")
    settings = {"bootstrap.servers": holdfast.address, "group.id": group, "enable.auto.commit": False}
    consumer = Consumer({**settings, "client.id": "reader", "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    assert consumer.poll(20) is not None
    consumer.commit(offsets=[TopicPartition(topic, each, 2) for each in (0, 1)], asynchronous=False)
    yield consumer
    consumer.close()


def test_a_group_is_listed_and_described(holdfast: Commands, topic: str, group: str, member: Consumer) -> None:
    """K3: state, members, and what each of them reads."""
    assert {"group": group, "state": "Stable", "protocol_type": "consumer"} in holdfast.json("group", "list")
    [found] = holdfast.json("group", "describe", group)
    assert (found["state"], found["protocol"]) == ("Stable", "range")
    [only] = found["members"]
    assert only["client"] == "reader"
    assert only["partitions"] == {topic: [0, 1]}
    shown = holdfast.run("group", "describe", group).stdout.splitlines()
    assert shown[0] == f"group {group}, Stable, protocol range, 1 member"
    assert shown[2].endswith(f"{topic}-0,1")


def test_a_group_whose_coordinator_assigns_is_described(
    holdfast: Commands, make_topic: Callable[..., str], group: str
) -> None:
    """K3: as any other; its protocol is the assignor."""
    topic = make_topic("--partitions", "2")
    settings = {"bootstrap.servers": holdfast.address, "group.id": group, "group.protocol": "consumer"}
    consumer = Consumer({**settings, "client.id": "reader"})
    consumer.subscribe([topic])
    try:
        deadline = time.monotonic() + 20
        while len(consumer.assignment()) < 2:
            assert time.monotonic() < deadline
            consumer.poll(0.05)
        [found] = holdfast.json("group", "describe", group)
        assert (found["state"], found["protocol"], found["protocol_type"]) == ("Stable", "uniform", "consumer")
        [only] = found["members"]
        assert (only["client"], only["partitions"]) == ("reader", {topic: [0, 1]})
    finally:
        consumer.close()


def test_the_lag_of_each_partition_is_told(holdfast: Commands, topic: str, group: str, member: Consumer) -> None:
    """K3: committed offsets, beside the ends."""
    lags = holdfast.json("group", "offsets", group)
    assert [(each["partition"], each["committed"], each["end"], each["lag"]) for each in lags] == [
        (0, 2, 3, 1),
        (1, 2, 3, 1),
    ]
    table = holdfast.run("group", "offsets", group).stdout.splitlines()
    assert table[0].split() == ["topic", "partition", "committed", "end", "lag", "metadata"]
    assert table[1].split() == [topic, "0", "2", "3", "1", "-"]


def test_a_group_with_members_is_not_deleted(holdfast: Commands, group: str, member: Consumer) -> None:
    """K3: group admin."""
    assert "non empty group" in holdfast.run("group", "delete", group, "--yes", code=1).stderr
    member.close()
    assert holdfast.run("group", "delete", group, "--yes").stdout == f"group {group} deleted\n"
    assert group not in {each["group"] for each in holdfast.json("group", "list")}


@pytest.mark.parametrize("command", ["describe", "offsets"])
def test_a_group_that_is_not_there_is_one_sentence(holdfast: Commands, command: str) -> None:
    done = holdfast.run("group", command, "nobody", code=1)
    assert (done.stdout, done.stderr) == ("", "holdfast: there is no group nobody\n")


def test_a_delete_is_asked_for(holdfast: Commands) -> None:
    assert "Say so with --yes" in holdfast.run("group", "delete", "nobody", code=1).stderr


def test_an_assignment_of_another_form_is_not_misread() -> None:
    """K7: bytes of a group's members are theirs; we only look."""
    assert partitions_of(b"") == {}
    assert partitions_of(b"\x00\x01\x7f\xff\xff\xff") is None
    assert partitions_of(b"\x00\x01\x00\x00\x00\x01\x00\x01\xff\x00\x00\x00\x00") is None
    assert partitions_of(b"\x00\x01\x00\x00\x00\x01\x00\x01t\x7f\xff\xff\xff") is None


@pytest.mark.parametrize("command", ["list", "describe", "offsets", "delete"])
def test_every_command_has_an_example(command: str) -> None:
    shown = CliRunner().invoke(app, ["group", command, "--help"]).stdout
    assert f"holdfast group {command}" in shown.split("Examples:")[1]


def test_a_group_goes_on_where_it_is_told_to(holdfast: Commands, topic: str, group: str, member: Consumer) -> None:
    """K3: not while it has members; a dry run changes nothing; by a word, an offset, a distance and a time."""
    busy = holdfast.run("group", "seek", group, "earliest", "--yes", code=1)
    assert f"group {group} has 1 member: stop every one first" in busy.stderr
    member.close()

    def committed() -> list[int]:
        return [each["committed"] for each in holdfast.json("group", "offsets", group)]

    shown = holdfast.json("group", "seek", group, "earliest", "--dry-run")
    assert [(each["committed"], each["new"]) for each in shown] == [(2, 0), (2, 0)]
    assert committed() == [2, 2]
    asked = holdfast.run("group", "seek", group, "earliest", code=1)
    assert "Say so with --yes" in asked.stderr
    for where, new in (("earliest", 0), ("latest", 3), ("1", 1), ("2000-01-01", 0), ("1d", 0)):
        holdfast.json("group", "seek", group, where, "--yes")
        assert committed() == [new, new], where
    holdfast.run("group", "seek", group, "-2", "--topic", topic, "--partition", "1", "--yes")
    assert committed() == [0, 1]
    assert "has no partition 7" in holdfast.run("group", "seek", group, "latest", "--partition", "7", code=1).stderr
    fresh = holdfast.run("group", "seek", f"new-{group}", "earliest", "--yes", code=1)
    assert "say with --topic where it is to begin" in fresh.stderr
    holdfast.run("group", "seek", f"new-{group}", "latest", "--topic", topic, "--yes")
    assert [each["committed"] for each in holdfast.json("group", "offsets", f"new-{group}")] == [3, 3]
