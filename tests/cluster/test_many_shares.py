"""Share groups over real brokers that share a store: partitions and coordinators moved, a broker killed under them."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, TypeVar

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from tests.broker.test_share_groups import ACCEPT, Sharing
from tests.broker.wire import Wire
from tests.cluster.test_many import leaders, many, start
from tests.cluster.test_pair import QUICK, SEVERAL, Cluster
from tests.kill.numbers import QUIET
from tests.support.broker_process import COMMAND

from holdfast.coordinator.runtime.internal_topic import partition_of
from holdfast.protocol.api import Key
from holdfast.protocol.codes import Code

GROUP, TOPIC, OFFSETS = "jobs", "tasks", "__consumer_offsets"
SHARDS = 3
SETTINGS = (*QUICK, f"offsets.topic.num.partitions={SHARDS}")
NUMBER = partition_of(GROUP, SHARDS)
T = TypeVar("T")


def until(found: Callable[[], T], is_so: Callable[[T], bool], seconds: float = 60.0) -> T:
    deadline = time.monotonic() + seconds
    while not is_so(last := found()):
        assert time.monotonic() < deadline, last
        time.sleep(0.1)
    return last


def move(cluster: Cluster, store: Path, topic: str, partition: int, to: int) -> None:
    """And wait until all know that it leads."""
    subprocess.run([COMMAND, "cluster", "move", str(store), f"{topic}:{partition}", str(to)], check=True)
    for asked in cluster.brokers:
        until(lambda asked=asked: leaders(cluster, asked, topic)[partition], lambda leader: leader == to)


@contextmanager
def wires(cluster: Cluster, *numbers: int) -> Iterator[dict[int, Wire]]:
    with ExitStack() as stack:
        yield {each: stack.enter_context(Wire(cluster.brokers[each].port)) for each in numbers}


def make_topic(cluster: Cluster, partitions: int) -> None:
    admin = AdminClient(cluster.settings())
    [made] = admin.create_topics([NewTopic(TOPIC, partitions)]).values()
    made.result()


def produce(cluster: Cluster, count: int) -> None:
    """To the first partition, in one batch or several."""
    producer = Producer({**QUIET, **SEVERAL, "bootstrap.servers": cluster.bootstrap})
    for number in range(count):
        producer.produce(TOPIC, b"%d" % number, partition=0)
    assert producer.flush(60) == 0


def coordinator(wire: Wire, key_type: int, key: str) -> int:
    [found] = wire.ask(Key.FIND_COORDINATOR, 6, key_type=key_type, coordinator_keys=[key]).coordinators
    assert found.error_code == Code.NONE, found
    return int(found.node_id)


def joined(sharing: Sharing, wire: Wire, member: str) -> None:
    """Told until the broker coordinates the group, and has read what there is of it."""
    sharing.wire = wire
    until(lambda: sharing.join(member).error_code, lambda code: code == 0)


def fetched(sharing: Sharing, wire: Wire, member: str) -> list[tuple[int, int, int]]:
    """In a new session, until there is something."""

    def fetch() -> list[tuple[int, int, int]]:
        sharing.wire = wire
        answer = sharing.fetch(member, 0)
        return sharing.given(answer) if answer.error_code == 0 else []

    return until(fetch, bool)


def partition_in(answer: Any) -> Any:
    return answer.responses[0].partitions[0]


def test_members_find_their_coordinator_and_the_leaders(tmp_path: Path) -> None:
    """K8, C7: both are told by any broker; whoever is neither says so; moves and kill -9 bring nothing back.

    What one member accepted is not delivered again, whichever of coordinator and leader goes elsewhere.
    """
    with many(tmp_path, *SETTINGS) as cluster:
        start(cluster, 1, 2)
        make_topic(cluster, 2)
        store = tmp_path / "store"
        move(cluster, store, TOPIC, 0, 2)
        move(cluster, store, OFFSETS, NUMBER, 1)
        with wires(cluster, 1, 2) as at:
            [found] = at[2].ask(Key.METADATA, 12, topics=[{"name": TOPIC, "topic_id": None}]).topics
            sharing = Sharing(at[2], GROUP, TOPIC, found.topic_id)
            produce(cluster, 10)
            for wire in at.values():
                assert coordinator(wire, 0, GROUP) == coordinator(wire, 2, f"{GROUP}:{found.topic_id}:0") == 1
            assert sharing.join("a").error_code == Code.NOT_COORDINATOR
            joined(sharing, at[1], "a")

            sharing.wire = at[1]
            refused = sharing.fetch("a", 0)
            assert partition_in(refused).error_code == Code.NOT_LEADER_OR_FOLLOWER
            assert partition_in(refused).current_leader.leader_id == 2
            assert [each.port for each in refused.node_endpoints] == [cluster.brokers[2].port]

            assert fetched(sharing, at[2], "a") == [(0, 9, 1)]
            assert sharing.code(sharing.acknowledge("a", 1, (0, 1, ACCEPT))) == 0

            move(cluster, store, TOPIC, 0, 1)
            assert sharing.code(sharing.acknowledge("a", 2, (2, 2, ACCEPT))) == Code.NOT_LEADER_OR_FOLLOWER
            assert fetched(sharing, at[1], "a") == [(2, 9, 1)]
            assert sharing.code(sharing.acknowledge("a", 1, (2, 3, ACCEPT))) == 0

            move(cluster, store, OFFSETS, NUMBER, 2)
            assert sharing.code(sharing.acknowledge("a", 2, (4, 4, ACCEPT))) == 0, "It asks the next coordinator."
            joined(sharing, at[2], "a")
            listed = [each.group_id for wire in at.values() for each in wire.ask(Key.LIST_GROUPS, 5).groups]
            assert listed.count(GROUP) == 1

            cluster.brokers[2].kill()  # With the coordinator.
            until(lambda: leaders(cluster, 1, OFFSETS)[NUMBER], lambda leader: leader == 1)
            sharing.wire = at[1]
            assert sharing.code(sharing.acknowledge("a", 3, (5, 5, ACCEPT))) == 0
            joined(sharing, at[1], "b")
            cluster.start(2)
            cluster.until_known()
            move(cluster, store, TOPIC, 0, 2)
            with Wire(cluster.brokers[2].port) as new:
                assert fetched(sharing, new, "b") == [(6, 9, 1)]


def test_groups_of_one_leader_go_on_with_many(tmp_path: Path) -> None:
    """K8, C8: what a share group accepted while one broker led is not delivered again, and the rest is."""
    store = tmp_path / "store"
    with Cluster(tmp_path, str(store), (f"offsets.topic.num.partitions={SHARDS}",)) as before:
        before.start(1)
        before.until(1, "broker 1 leads")
        make_topic(before, 1)
        produce(before, 5)
        with Wire(before.brokers[1].port) as wire:
            [found] = wire.ask(Key.METADATA, 12, topics=[{"name": TOPIC, "topic_id": None}]).topics
            sharing = Sharing(wire, GROUP, TOPIC, found.topic_id)
            assert sharing.join("a").error_code == 0
            assert fetched(sharing, wire, "a") == [(0, 4, 1)]
            assert sharing.code(sharing.acknowledge("a", 1, (0, 0, ACCEPT), (3, 3, ACCEPT))) == 0
        assert before.brokers[1].stop() == 0
    with many(tmp_path, *SETTINGS, store=str(store)) as cluster:
        start(cluster, 1)
        with Wire(cluster.brokers[1].port) as wire:
            until(
                lambda: [each.group_id for each in wire.ask(Key.LIST_GROUPS, 5).groups],
                lambda found: GROUP in found,
                30,
            )
            joined(sharing, wire, "b")
            assert fetched(sharing, wire, "b") == [(1, 2, 1), (4, 4, 1)]
