"""A subscriber in another language, which has nothing but the proto file of the installation."""

from __future__ import annotations

import json
import shutil
import subprocess
from importlib.resources import as_file, files
from pathlib import Path

import pytest

from holdfast.client import Client
from holdfast.record.build import build
from holdfast.record.records import Record
from holdfast.testing import free_port, running_broker

ROOT = Path(__file__).parents[2]
MODULES = ROOT / ".tools" / "node" / "node_modules"


def test_node() -> None:
    """S1: a client of a few lines, made from the proto file that is installed, reads a topic once and in order; what is
    wrong it is told in a sentence."""
    node = shutil.which("node")
    if node is None or shutil.which("npm") is None:
        pytest.skip("node is missing")
    if not (MODULES / "@grpc" / "grpc-js").exists():
        pytest.fail("gRPC for Node is not there: run .ci/install-node-clients")
    program = ROOT / "tests" / "node" / "subscribe.js"
    port = free_port()
    with running_broker(subscribe_listen=f"127.0.0.1:{port}") as broker, Client(broker.bootstrap) as client:
        client.create_topics({"t": 2})
        for number in range(2):
            client.produce({("t", number): build([Record(f"k{each}".encode(), b"v", each) for each in range(50)])})
        with as_file(files("holdfast.subscribe.wire.schema") / "subscribe.proto") as proto:

            def read(topic: str) -> subprocess.CompletedProcess[str]:
                command = [node, str(program), str(proto), f"127.0.0.1:{port}", topic]
                environment = {"NODE_PATH": str(MODULES)}
                return subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment, check=False)

            done, refused = read("t"), read("absent")
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    for partition in range(2):
        own = [(each["offset"], each["key"]) for each in found if each["partition"] == partition]
        assert own == [(each, f"k{each}") for each in range(50)]
    assert refused.returncode == 1
    assert "absent" in refused.stderr
