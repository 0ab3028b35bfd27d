"""Kafka's tools for whole clusters, run on one broker."""

from __future__ import annotations

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
