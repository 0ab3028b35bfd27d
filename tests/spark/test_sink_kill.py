"""The sink's driver killed at the moments that matter: every row arrives, and once."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.spark.sink_parts import read_committed
from tests.spark.sink_proxy import KafkaProxy, Passing, kill_session
from tests.support.broker_process import BrokerProcess, free_port

from holdfast.client import Client
from holdfast.protocol.api import Key

ROOT = Path(__file__).parents[2]
BATCHES, ROWS = 3, 40

STAGED = Passing(Key.INIT_PRODUCER_ID, is_answer=False)  # All rows are staged, the commit begins.
SENT = Passing(Key.END_TXN, is_answer=False)  # All rows are sent, the transaction is open.
COMMITTED = Passing(Key.END_TXN, is_answer=True)  # It is committed, and Spark has not heard of it.


@pytest.fixture
def proxy(tmp_path: Path) -> Iterator[tuple[KafkaProxy, str]]:
    """A proxy, and the address at which clients find it and, by the broker's own word, nobody else."""
    port = free_port()
    with BrokerProcess(tmp_path / "data", options=("--advertise", f"127.0.0.1:{port}")) as broker:
        between = KafkaProxy(("127.0.0.1", broker.port), port)
        yield between, f"127.0.0.1:{port}"
        between.close()


def run_driver(folder: Path, address: str, proxy: KafkaProxy, stop_at: Passing | None) -> int:
    command = [sys.executable, "-m", "tests.spark.sink_driver", str(folder), address, "target"]
    with (folder / "said").open("ab") as said:
        driver = subprocess.Popen(command, cwd=ROOT, stdout=said, stderr=said, start_new_session=True)
        proxy.arm(stop_at, lambda: kill_session(driver.pid))
        try:
            return driver.wait(200)
        finally:
            kill_session(driver.pid)


@pytest.mark.slow
@pytest.mark.timeout(900)  # Spark starts several times, and the machine may be busy.
def test_a_driver_killed_at_any_moment(tmp_path: Path, proxy: tuple[KafkaProxy, str]) -> None:
    """P3: killed between staging and commit, inside the commit, and after it: run again, the result is exact."""
    between, address = proxy
    (tmp_path / "input").mkdir()
    for batch in range(BATCHES):
        lines = [{"key": f"k{row}", "value": f"{batch}-{row}"} for row in range(ROWS)]
        (tmp_path / "input" / f"{batch}.json").write_text("".join(json.dumps(line) + "\n" for line in lines))
    with Client(address) as client:
        client.create_topics({"target": 2})
        seen = []
        for stop_at in (STAGED, SENT, COMMITTED, None):
            code = run_driver(tmp_path, address, between, stop_at)
            assert (code == 0) == (stop_at is None), (tmp_path / "said").read_text()[-3000:]
            seen.append(len(read_committed(address, "target", 2)))
        assert seen == [0, 0, ROWS, BATCHES * ROWS]
    found = sorted(message.value().decode() for message in read_committed(address, "target", 2))
    assert found == sorted(f"{batch}-{row}" for batch in range(BATCHES) for row in range(ROWS))
