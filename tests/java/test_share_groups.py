"""Share groups of Java's share consumers: verdicts, deliveries, locks, several members, and kill -9 in between."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import Producer
from kafka import KafkaProducer
from tests.java.jvm import Jvm
from tests.java.serving import Serving

LOCK_MS = 1500
SETTINGS = (
    "group.share.min.heartbeat.interval.ms=100",
    "group.share.heartbeat.interval.ms=100",
    "group.share.min.session.timeout.ms=5000",
    "group.share.session.timeout.ms=5000",
    f"group.share.min.record.lock.duration.ms={LOCK_MS}",
    f"group.share.record.lock.duration.ms={LOCK_MS}",
)


@pytest.fixture(scope="module")
def sharing(needs_java: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """A broker whose locks are short."""
    with Serving(tmp_path_factory.mktemp("sharing"), *SETTINGS) as serving:
        yield serving


@pytest.fixture(scope="module")
def share_java(sharing: Serving) -> Iterator[Jvm]:
    with Jvm(sharing.address) as jvm:
        yield jvm


class Share:
    """A share group, which begins at the earliest record, and its topic."""

    def __init__(self, java: Jvm, serving: Serving, name: str) -> None:
        self.java = java
        self.name = name
        self._serving = serving
        self._members: set[str] = set()
        java.do("topics.create", topic=name, partitions=1)
        self.configure("share.auto.offset.reset", "earliest")

    def configure(self, name: str, value: str) -> None:
        self.java.do("configs.alter", type="GROUP", name=self.name, changes={name: ["SET", value]})

    def produce(self, count: int, start: int = 0) -> None:
        producer = KafkaProducer(bootstrap_servers=self._serving.address)
        for number in range(start, start + count):
            producer.send(self.name, b"v%d" % number, partition=0)
        producer.flush()
        producer.close()

    def join(self, member: str, **config: str) -> None:
        fixed = {"group.id": self.name, "fetch.max.wait.ms": "100", **config}
        self.java.do("share.join", member=f"{self.name}-{member}", topics=[self.name], config=fixed)
        self._members.add(member)

    def explicit(self, member: str) -> None:
        self.join(member, **{"share.acknowledgement.mode": "explicit"})

    def read(self, member: str, count: int, **more: Any) -> list[tuple[int, int]]:
        """Offsets and delivery counts."""
        found = self.java.do("share.read", member=f"{self.name}-{member}", count=count, **more)
        assert all(value == f"v{offset}" for _, offset, _, value in found)
        return [(offset, deliveries) for _, offset, deliveries, _ in found]

    def commit(self, member: str) -> dict[str, Any]:
        found: dict[str, Any] = self.java.do("share.commit", member=f"{self.name}-{member}")
        return found

    def leave(self, member: str) -> None:
        self._members.remove(member)
        self.java.do("share.leave", member=f"{self.name}-{member}")

    def start_offset(self) -> int:
        return int(self.java.do("share.offsets", group=self.name)[f"{self.name}-0"][0])

    def end(self) -> None:
        for member in list(self._members):
            self.leave(member)


@pytest.fixture
def share(share_java: Jvm, sharing: Serving, name: str) -> Iterator[Share]:
    share = Share(share_java, sharing, name)
    yield share
    share.end()


def once(count: int, start: int = 0) -> list[tuple[int, int]]:
    return [(offset, 1) for offset in range(start, start + count)]


def test_implicit_acknowledgement(share: Share) -> None:
    """K8: what a member was given is acknowledged by its next poll; after all of it the group begins behind it."""
    share.produce(10)
    share.join("a")
    assert share.read("a", 10) == once(10)
    assert share.commit("a") == {"committed": {"0": ""}, "failed": []}
    assert share.start_offset() == 10
    share.produce(5, start=10)
    assert share.read("a", 5) == once(5, start=10)
    share.read("a", 1, ms=300)
    assert share.start_offset() == 15


def test_verdicts(share: Share) -> None:
    """K8: accepted and rejected records are done with; a released one comes again, with its delivery counted."""
    share.produce(4)
    share.explicit("a")
    assert share.read("a", 4, verdicts={"0": "ACCEPT", "1": "RELEASE", "2": "REJECT", "3": "ACCEPT"}) == once(4)
    assert share.commit("a")["committed"] == {"0": ""}
    assert share.start_offset() == 1
    assert share.read("a", 1, verdict="ACCEPT") == [(1, 2)]
    share.commit("a")
    assert share.start_offset() == 4
    assert share.read("a", 1, ms=500) == []


def test_delivery_count_limit(share: Share) -> None:
    """K8: a record that is released again and again is delivered five times, and then no more."""
    share.produce(2)
    share.explicit("a")
    for delivery in range(1, 6):
        verdicts = {"0": "RELEASE", "1": "ACCEPT"}
        found = share.read("a", 2 if delivery == 1 else 1, verdicts=verdicts)
        assert found[0] == (0, delivery)
        share.commit("a")
    assert share.read("a", 1, ms=500) == []
    assert share.start_offset() == 2


def test_a_lock_runs_out(share: Share) -> None:
    """K8: what a member keeps for too long goes to another, and the first one's verdict is refused."""
    share.produce(1)
    share.explicit("slow")
    assert share.read("slow", 1, verdict="RELEASE") == once(1)  # Which is said with the commit, when it is too late.
    share.explicit("quick")
    assert share.read("quick", 1, verdict="ACCEPT") == [(0, 2)]
    assert share.commit("quick")["committed"] == {"0": ""}
    assert share.commit("slow")["committed"] == {"0": "InvalidRecordStateException"}
    assert share.start_offset() == 1


def test_two_members_share_a_partition(share: Share) -> None:
    """K8: two members of one partition are each given other records, and together all of them, once."""
    share.configure("share.record.lock.duration.ms", "30000")
    share.join("a", **{"max.poll.records": "5", "share.acquire.mode": "record_limit"})
    share.join("b", **{"max.poll.records": "5", "share.acquire.mode": "record_limit"})
    share.read("a", 1, ms=300)
    share.read("b", 1, ms=300)
    share.produce(40)
    read = {"a": list[tuple[int, int]](), "b": list[tuple[int, int]]()}
    while sum(map(len, read.values())) < 40:
        for member, found in read.items():
            found += share.read(member, 1, ms=1000)
    assert sorted(read["a"] + read["b"]) == once(40)
    assert read["a"]
    assert read["b"]
    found = share.java.do("share.describe", group=share.name)
    assert found == {"state": "Stable", "members": [[f"{share.name}-0"]] * 2}
    assert share.java.do("groups.list")[share.name] == ["Share", "share", "Stable"]


def test_what_was_not_polled_is_free_at_once(share: Share) -> None:
    """K8: a member that closes gives back what it has not judged; it does not count as a delivery."""
    share.produce(3)
    share.explicit("a")
    assert share.read("a", 3, verdicts={"0": "ACCEPT"}) == once(3)
    share.leave("a")
    share.explicit("b")
    assert share.read("b", 2, verdict="ACCEPT") == [(1, 1), (2, 1)]


def test_read_committed(share: Share, sharing: Serving) -> None:
    """K8: with share.isolation.level=read_committed an aborted record is never seen, and blocks nobody."""
    share.configure("share.isolation.level", "read_committed")
    producer = Producer({"bootstrap.servers": sharing.address, "transactional.id": share.name})
    producer.init_transactions()
    for number, end in enumerate((producer.commit_transaction, producer.abort_transaction) * 2):
        producer.begin_transaction()
        producer.produce(share.name, f"in {number}", partition=0)
        producer.flush()
        end()
    share.join("a")
    found = share.java.do("share.read", member=f"{share.name}-a", count=2)
    assert [value for _, _, _, value in found] == ["in 0", "in 2"]
    share.commit("a")
    assert share.start_offset() in (7, 8)  # The last marker is skipped when somebody reads that far.


def test_a_group_is_deleted(share: Share) -> None:
    """K8: a group without members is deleted with what it knows; its name is free."""
    share.produce(1)
    share.join("a")
    assert share.read("a", 1) == once(1)
    share.leave("a")
    share.java.do("share.delete", group=share.name)
    assert share.name not in share.java.do("groups.list")


def test_console_share_consumer(share: Share, sharing: Serving) -> None:
    """K8: kafka-console-share-consumer prints what was produced."""
    share.produce(3)
    arguments = ["--bootstrap-server", sharing.address, "--topic", share.name, "--group", share.name]
    arguments += ["--max-messages", "3", "--timeout-ms", "20000"]
    tool = "org.apache.kafka.tools.consumer.ConsoleShareConsumer"
    done = share.java.do("tool", main=tool, arguments=arguments, given="")
    assert (done["code"], done["out"].split()) == (0, ["v0", "v1", "v2"]), done


def share_groups(share: Share, sharing: Serving, *arguments: str, code: int = 0) -> str:
    """What kafka-share-groups prints."""
    tool = "org.apache.kafka.tools.consumer.group.ShareGroupCommand"
    given = ["--bootstrap-server", sharing.address, "--group", share.name, *arguments]
    done = share.java.do("tool", main=tool, arguments=given, given="")
    assert done["code"] == code, done
    return str(done["out"] + done["err"])


def test_offsets_are_reset(share: Share, sharing: Serving) -> None:
    """K8: kafka-share-groups moves a group to the beginning, the end and a time, unless it has members."""
    share.produce(3)
    share.join("a")
    assert share.read("a", 3) == once(3)
    assert share.commit("a")["committed"] == {"0": ""}
    reset = "--reset-offsets", "--execute", "--topic", share.name
    assert "is not empty" in share_groups(share, sharing, *reset, "--to-earliest", code=1)
    share.leave("a")
    assert share.start_offset() == 3
    for to, start in (("--to-earliest", 0), ("--to-latest", 3), ("--to-datetime=2020-01-01T00:00:00.000", 0)):
        assert share.name in share_groups(share, sharing, *reset, *to.split("="))
        assert share.start_offset() == start
    share.join("b")
    assert share.read("b", 3) == once(3)


def test_offsets_are_deleted(share: Share, sharing: Serving) -> None:
    """K8: by kafka-share-groups; the group then begins by its configs."""
    share.produce(3)
    share.join("a")
    assert share.read("a", 3) == once(3)
    share.leave("a")
    assert "Successful" in share_groups(share, sharing, "--delete-offsets", "--topic", share.name)
    assert share.java.do("share.offsets", group=share.name) == {}
    share.join("b")
    assert share.read("b", 3) == once(3)
    assert share.name in share_groups(share, sharing, "--describe", "--offsets")
    assert "Stable" in share_groups(share, sharing, "--describe", "--state")


def test_by_duration(share: Share) -> None:
    """K8: with share.auto.offset.reset=by_duration a group begins with the first record that is not older."""
    share.configure("share.auto.offset.reset", "by_duration:PT1H")
    share.produce(3)
    share.join("a")
    assert share.read("a", 3) == once(3)


def test_the_smallest_size_is_waited_for(share: Share) -> None:
    """K8: a share consumer with fetch.min.bytes gets nothing before there is as much, or its time is up."""
    wait = {"fetch.min.bytes": "2000", "fetch.max.wait.ms": "20000"}
    share.join("a", **wait)
    assert share.read("a", 1, ms=1000) == []
    share.produce(3)
    assert share.read("a", 1, ms=1000) == []
    share.produce(300, start=3)
    began = time.monotonic()
    assert share.read("a", 303) == once(303)
    assert time.monotonic() - began < 15


def test_kill(share: Share, sharing: Serving) -> None:
    """K8: after kill -9 what was acknowledged never comes again, what was released comes with its count, and what was
    under way comes again. The test of K8."""
    share.produce(6)
    share.explicit("a")
    verdicts = {"0": "ACCEPT", "1": "RELEASE", "2": "REJECT", "4": "ACCEPT"}
    assert share.read("a", 6, verdicts=verdicts) == once(6)
    assert share.commit("a")["committed"] == {"0": ""}
    sharing.kill()
    sharing.start()
    assert share.start_offset() == 1
    share.explicit("b")
    assert sorted(share.read("b", 3, verdict="ACCEPT")) == [(1, 2), (3, 1), (5, 1)]
    assert share.commit("b")["committed"] == {"0": ""}
    assert share.start_offset() == 6


def test_a_member_goes_on_after_a_kill(share: Share, sharing: Serving) -> None:
    """K8: the same member, which was a broker's member before it was killed, reads on behind what it acknowledged."""
    share.produce(3)
    share.join("a")
    assert share.read("a", 3) == once(3)
    assert share.commit("a")["committed"] == {"0": ""}
    sharing.kill()
    sharing.start()
    share.produce(3, start=3)
    assert share.read("a", 3) == once(3, start=3)
    assert share.commit("a")["committed"] == {"0": ""}
    assert share.start_offset() == 6
