"""Clients of other languages: franz-go and sarama (Go), kafkajs (Node). Each runs the same small program.

It writes plain records, then three transactions of which one is aborted, and reads all that is committed in a group.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient
from tests.broker.librdkafka import PATIENCE_S, create
from tests.support.broker_process import BrokerProcess
from tests.support.reading import read_twice

ROOT = Path(__file__).parents[2]
TOOLS = ROOT / ".tools"
PARTITIONS = 2
COMMITTED = {f"plain-{number}" for number in range(100)} | {
    f"transaction-{number}-{each}" for number in (0, 2) for each in range(5)
}
ABORTED = {f"transaction-1-{each}" for each in range(5)}


def needs(program: Path, *tools: str, install: str) -> None:
    """Without the tool chain the test is skipped; with it, the program has to be there."""
    for tool in tools:
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is missing")
    if not program.exists():
        pytest.fail(f"{program.relative_to(ROOT)} is not there: run .ci/{install}")


def run(command: Sequence[str | Path], broker: BrokerProcess, topic: str, group: str) -> list[str]:
    done = subprocess.run(
        [*command, broker.address, topic, group],
        capture_output=True,
        text=True,
        timeout=2 * PATIENCE_S,
        env={"NODE_PATH": str(TOOLS / "node" / "node_modules"), "KAFKAJS_NO_PARTITIONER_WARNING": "1"},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def check(broker: BrokerProcess, topic: str, group: str, read: list[str]) -> None:
    assert sorted(read) == sorted(COMMITTED), "each once"
    committed, everything = read_twice(broker.address, topic, PARTITIONS)
    assert {value.decode() for _, value in committed.values()} == COMMITTED
    assert {value.decode() for _, value in everything.values()} == COMMITTED | ABORTED
    for partition in range(PARTITIONS):
        stored = [value.decode() for (number, _), (_, value) in sorted(committed.items()) if number == partition]
        assert [value for value in read if value in set(stored)] == stored, "in the order of the partition"
    consumer = Consumer({"bootstrap.servers": broker.address, "group.id": group})
    found = consumer.committed([TopicPartition(topic, number) for number in range(PARTITIONS)], PATIENCE_S)
    consumer.close()
    offsets = {each.partition: each.offset for each in found}
    assert all(offset < offsets[number] for number, offset in committed), "the group has committed all it has read"


@pytest.fixture
def shared(admin: AdminClient, topic: str) -> str:
    create(admin, topic, PARTITIONS)
    return topic


@pytest.mark.parametrize("client", ["franz", "sarama"])
def test_go(broker: BrokerProcess, shared: str, group: str, client: str) -> None:
    """K1, K3, K4: franz-go, with transactions of version 2, and sarama, which adds partitions by requests."""
    program = TOOLS / "go" / client
    needs(program, "go", install="install-go-clients")
    check(broker, shared, group, run([program], broker, shared, group))


def test_node(broker: BrokerProcess, shared: str, group: str) -> None:
    """K1, K3, K4: kafkajs."""
    needs(TOOLS / "node" / "node_modules" / "kafkajs", "node", "npm", install="install-node-clients")
    node = shutil.which("node")
    assert node is not None
    check(broker, shared, group, run([node, ROOT / "tests" / "node" / "kafkajs.js"], broker, shared, group))
