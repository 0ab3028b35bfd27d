"""A stream from topic to topic whose driver is killed at the moments that matter: every row arrives, and once."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.spark.sink_parts import read_committed
from tests.spark.sink_proxy import KafkaProxy, Passing, kill_session
from tests.support.broker_process import BrokerProcess, free_port
from tests.support.spark_session import no_spark
from tests.support.spark_store import StoredCluster

from holdfast.client import Client
from holdfast.io.local_objects import LocalObjects
from holdfast.protocol.api import Key

ROOT = Path(__file__).parents[2]
PARTITIONS, PER_TRIGGER = 2, 40

STAGED = Passing(Key.INIT_PRODUCER_ID, is_answer=False)  # All rows are staged, the commit begins.
SENT = Passing(Key.END_TXN, is_answer=False)  # All rows are sent, the transaction is open.
COMMITTED = Passing(Key.END_TXN, is_answer=True)  # It is committed, and Spark has not heard of it.


@pytest.fixture
def proxy(tmp_path: Path) -> Iterator[tuple[KafkaProxy, str]]:
    """A proxy, and the address at which clients find it and, by the broker's own word, nobody else."""
    if reason := no_spark():
        pytest.skip(reason)
    port = free_port()
    with BrokerProcess(tmp_path / "data", options=("--advertise", f"127.0.0.1:{port}")) as broker:
        between = KafkaProxy(("127.0.0.1", broker.port), port)
        yield between, f"127.0.0.1:{port}"
        between.close()


def run_driver(folder: Path, address: str, proxy: KafkaProxy, stop_at: Passing | None, before: int) -> int:
    command = [sys.executable, "-m", "tests.spark.stream_driver", str(folder), address, str(PER_TRIGGER)]
    with (folder / "said").open("ab") as said:
        driver = subprocess.Popen(command, cwd=ROOT, stdout=said, stderr=said, start_new_session=True)
        proxy.arm(stop_at, lambda: kill_session(driver.pid), before)
        try:
            return driver.wait(200)
        finally:
            kill_session(driver.pid)


@pytest.mark.slow
@pytest.mark.timeout(900)  # Spark starts several times, and the machine may be busy.
def test_a_driver_killed_at_any_moment(tmp_path: Path, proxy: tuple[KafkaProxy, str]) -> None:
    """P2, P3: killed between staging and commit, inside the commit, and after it, in the first batch that is planned
    or a later one: run again, source and sink go on where they were, and the result is exact."""
    seed = int(os.environ.get("HOLDFAST_SEED", random.randrange(2**32)))
    print("HOLDFAST_SEED", seed)
    chance = random.Random(seed)
    between, address = proxy
    partitions = StoredCluster(LocalObjects(tmp_path / "store")).topic("source", PARTITIONS)
    with Client(address) as client:
        client.create_topics({"target": PARTITIONS})
        written = 0
        for stop_at in (STAGED, SENT, COMMITTED, None):
            for each in partitions:
                each.count(3 * PER_TRIGGER // PARTITIONS)
                each.flush()
            before = chance.randrange(2)
            code = run_driver(tmp_path, address, between, stop_at, before)
            assert (code == 0) == (stop_at is None), (tmp_path / "said").read_text()[-3000:]
            written += before + (stop_at == COMMITTED)
            if stop_at is not None:
                assert len(read_committed(address, "target", PARTITIONS)) == written * PER_TRIGGER
    found = sorted(message.value().decode() for message in read_committed(address, "target", PARTITIONS))
    count = partitions[0].next_offset
    assert found == sorted(f"{number}-{offset}" for number in range(PARTITIONS) for offset in range(count))
