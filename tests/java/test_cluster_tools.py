"""Kafka's tools for whole clusters, run on one broker."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.java.jvm import Jvm
from tests.java.serving import Serving

TOOLS = "org.apache.kafka.tools"


class Tools:
    """Runs tools against a broker; the answer is what one printed, and it must have ended well."""

    def __init__(self, java: Jvm, broker: Serving) -> None:
        self._java = java
        self._address = broker.address

    def run(self, tool: str, *arguments: str) -> str:
        done = self._java.do("tool", main=tool, arguments=("--bootstrap-server", self._address, *arguments), given="")
        assert done["code"] == 0, done
        out: str = done["out"]
        return out


@pytest.fixture(scope="module")
def tools(java: Jvm, broker: Serving) -> Tools:
    return Tools(java, broker)


def test_the_quorum_is_one_broker(tools: Tools) -> None:
    """K1: kafka-metadata-quorum shows its status and its one voter."""
    said = tools.run(f"{TOOLS}.MetadataQuorumCommand", "describe", "--status")
    assert "LeaderId:               0" in said
    assert "MaxFollowerLag:         0" in said
    lines = tools.run(f"{TOOLS}.MetadataQuorumCommand", "describe", "--replication").splitlines()
    assert [line.split()[0] for line in lines[1:]] == ["0"]


def test_partitions_are_reassigned_to_where_they_are(tools: Tools, java: Jvm, name: str, tmp_path: Path) -> None:
    """K1: kafka-reassign-partitions makes a plan, executes it, verifies it, and lists what is under way: nothing."""
    java.do("topics.create", topic=name, partitions=2)
    tool = f"{TOOLS}.reassign.ReassignPartitionsCommand"
    wanted, plan = tmp_path / "topics.json", tmp_path / "plan.json"
    wanted.write_text(json.dumps({"version": 1, "topics": [{"topic": name}]}))
    said = tools.run(tool, "--generate", "--topics-to-move-json-file", str(wanted), "--broker-list", "0")
    plan.write_text(said.strip().splitlines()[-1])
    said = tools.run(tool, "--execute", "--reassignment-json-file", str(plan))
    assert "Successfully started partition reassignments" in said
    said = tools.run(tool, "--verify", "--reassignment-json-file", str(plan))
    assert f"Reassignment of partition {name}-0 is completed." in said
    assert "No partition reassignments found." in tools.run(tool, "--list")


def test_configs_of_brokers_groups_and_users(tools: Tools, name: str) -> None:
    """K1, K11: kafka-configs sets and shows what can be set while the broker runs, and quotas, also of addresses."""
    tool = "kafka.admin.ConfigCommand"
    for kind, entity, value in (
        ("brokers", "0", "log.retention.ms=123456789"),
        ("groups", name, "consumer.heartbeat.interval.ms=4321"),
        ("users", name, "producer_byte_rate=1000"),
        ("ips", "10.1.2.3", "connection_creation_rate=777"),
    ):
        where = ("--entity-type", kind, "--entity-name", entity)
        tools.run(tool, *where, "--alter", "--add-config", value)
        assert value.split("=")[1] in tools.run(tool, *where, "--describe")
        tools.run(tool, *where, "--alter", "--delete-config", value.split("=")[0])
        assert value not in tools.run(tool, *where, "--describe")
