"""kcat, the command line client of librdkafka: an old one, as distributions have it."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from tests.support.broker_process import BrokerProcess

TIMEOUT_S = 60

pytestmark = pytest.mark.skipif(shutil.which("kcat") is None, reason="kcat is not installed: see .ci/install-kcat")


def kcat(broker: BrokerProcess, *arguments: str, said: str = "") -> str:
    """Run it; what it printed."""
    done = subprocess.run(
        ["kcat", "-b", broker.address, *arguments], input=said, capture_output=True, text=True, timeout=TIMEOUT_S
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_lines_come_back(broker: BrokerProcess, topic: str, codec: str) -> None:
    """K1, K2: with keys and headers, in order, in every codec."""
    lines = "".join(f"k{number}:v{number}\n" for number in range(50))
    kcat(broker, "-P", "-t", topic, "-K", ":", "-z", codec, "-H", "color=green", said=lines)
    found = kcat(broker, "-C", "-t", topic, "-e", "-q", "-f", "%k:%s %h %o\n")
    assert found == "".join(f"k{number}:v{number} color=green {number}\n" for number in range(50))


def test_the_cluster_is_listed(broker: BrokerProcess, topic: str) -> None:
    """K1: brokers, topics, leaders."""
    kcat(broker, "-P", "-t", topic, said="x\n")
    listed = kcat(broker, "-L")
    assert f"broker 0 at {broker.address}" in listed
    assert f'topic "{topic}" with 1 partitions' in listed
    assert "partition 0, leader 0, replicas: 0, isrs: 0" in listed.split(f'topic "{topic}"')[1].split("topic")[0]


def test_offsets_are_asked_for(broker: BrokerProcess, topic: str) -> None:
    """K2: by time; the end is -1 in its words."""
    kcat(broker, "-P", "-t", topic, said="a\nb\n")
    assert kcat(broker, "-Q", "-t", f"{topic}:0:1") == f"{topic} [0] offset 0\n"
    assert kcat(broker, "-Q", "-t", f"{topic}:0:-1") == f"{topic} [0] offset 2\n"


def test_a_group_reads_and_goes_on(broker: BrokerProcess, topic: str, group: str) -> None:
    """K1, K3: a balanced consumer commits, and the next one gets only what is new."""
    read = ["-G", group, topic, "-e", "-q", "-X", "auto.offset.reset=earliest", "-f", "%s\n"]
    kcat(broker, "-P", "-t", topic, said="a\nb\n")
    assert kcat(broker, *read) == "a\nb\n"
    kcat(broker, "-P", "-t", topic, said="c\n")
    assert kcat(broker, *read) == "c\n"
