"""A broker has its machine code from the start: it loads nothing when it flushes, compacts or serves subscribers."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest
from confluent_kafka import Producer
from tests.support.broker_process import COMMAND, BrokerProcess

from holdfast.native import kernels
from holdfast.testing import free_port

pytestmark = pytest.mark.skipif(kernels is None, reason="no machine code was built: cc or Python.h is missing")

COUNT, KEYS = 4000, 50


def fill(broker: BrokerProcess, records: int) -> None:
    """Four megabytes for each topic, plain and compressed, in batches of so many records at most."""
    for topic, codec in (("plain", "none"), ("packed", "lz4")):
        broker.topic(topic, cleanup_policy="compact", min_cleanable_dirty_ratio=0.01)
        asked = {"compression.type": codec, "linger.ms": 100, "batch.num.messages": records}
        producer = Producer({"bootstrap.servers": broker.bootstrap, **asked})
        for number in range(COUNT):
            producer.produce(topic, b"%d" % number + b"v" * 1000, b"/key/%d" % (number % KEYS))
            producer.poll(0)
        assert producer.flush(30) == 0


def wait_for_compaction(broker: BrokerProcess) -> None:
    deadline = time.monotonic() + 30
    while not all(len(broker.read(topic)) < COUNT for topic in ("plain", "packed")):
        assert time.monotonic() < deadline, "nothing is compacted"


def loaded(pid: int) -> set[str]:
    """Of the libraries that would be too large, those that a process has."""
    mapped = Path(f"/proc/{pid}/maps").read_text()
    return {name for name in ("llvmlite", "numba") if name in mapped}


def test_no_compiler_is_loaded_into_a_broker(tmp_path: Path) -> None:
    """K9: large batches, flush, compaction and a subscription, and neither numba nor LLVM is there."""
    address = f"127.0.0.1:{free_port()}"
    settings = ["log.flush_age_ms_max=200", "log.compaction_check_ms=20", f"subscribe.listen={address}"]
    with BrokerProcess(tmp_path, settings=settings) as broker:
        fill(broker, 500)
        wait_for_compaction(broker)
        asked = [
            COMMAND,
            "subscribe",
            "plain",
            "packed",
            "--address",
            address,
            "--since",
            "earliest",
            "--directory",
            "/key",
        ]
        done = subprocess.run(asked, capture_output=True, text=True, timeout=60)
        assert len(done.stdout.splitlines()) >= 2 * KEYS, done.stderr
        assert loaded(broker.pid) == set()
        assert broker.stop() == 0
