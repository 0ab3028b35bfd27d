"""A topic into an Iceberg table on a standalone cluster, while executors, workers, drivers and the broker are killed.

TABLE_MINUTES=60 does so for an hour; TABLE_SEED repeats a schedule as far as processes allow.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from pyiceberg.catalog import load_catalog
from tests.spark.sink_parts import read_committed
from tests.spark.sink_proxy import kill_session
from tests.support.broker_process import COMMAND, BrokerProcess
from tests.support.spark_session import no_spark

from holdfast.client import Client

MINUTES = float(os.environ.get("TABLE_MINUTES", "0.2"))
PARTITIONS = 2
CATCH_UP_S = 300
CONF = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.executor.memory": "512m",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.archives": "",  # All machines of this cluster are one, and have everything.
}


class Load:
    """A producer that goes on whatever happens to its broker; all that it has sent is acknowledged in the end."""

    def __init__(self, address: str) -> None:
        self._producer = Producer(
            {"bootstrap.servers": address, "enable.idempotence": True, "linger.ms": 5, "message.timeout.ms": 120_000}
        )
        self._ends = threading.Event()
        self.failed: list[Any] = []
        self.sent = 0
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._ends.wait(0.05):
            for _ in range(20):
                value = b"%d" % self.sent
                self._producer.produce(
                    "t", key=value, value=value, partition=self.sent % PARTITIONS, callback=self._told
                )
                self.sent += 1
            self._producer.poll(0)

    def _told(self, failure: Any, _: Any) -> None:
        if failure is not None:
            self.failed.append(failure)

    def stop(self) -> None:
        self._ends.set()
        self._thread.join()
        assert self._producer.flush(CATCH_UP_S) == 0


class Driver:
    """`holdfast archive --follow`, which is started again whenever it has ended."""

    def __init__(self, folder: Path, master: str, address: str) -> None:
        conf = [part for each in CONF.items() for part in ("--conf", "=".join(each))]
        where = ["t", str(folder / "lake"), "--path", str(folder / "data"), "--bootstrap", address, "--to", "iceberg"]
        self._command = [COMMAND, "archive", *where, "--follow", "--every", "500ms", "--master", master, *conf]
        self._folder = folder
        self.starts = 0
        self.start()

    def start(self) -> None:
        self.starts += 1
        own = {"TMPDIR": str(self._folder), "SPARK_LOCAL_IP": "127.0.0.1"}  # Who is killed leaves its folder behind.
        environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, **own}
        with (self._folder / "driver.log").open("ab") as said:
            self.process = subprocess.Popen(
                self._command, cwd=self._folder, env=environment, stdout=said, stderr=said, start_new_session=True
            )

    def look_after(self) -> None:
        if self.process.poll() is not None:
            kill_session(self.process.pid)
            self.start()

    def kill(self) -> None:
        kill_session(self.process.pid)
        self.process.wait()

    @property
    def said(self) -> str:
        return (self._folder / "driver.log").read_text()[-4000:]


def rows_of(lake: Path) -> list[tuple[int, int, bytes, bytes]]:
    """What an Iceberg of its own reads in the table."""
    properties = {"type": "sql", "uri": f"sqlite:///{lake}/catalog.db", "warehouse": f"file://{lake}"}
    table = load_catalog("holdfast", **properties).load_table("holdfast.records").scan().to_arrow()
    return sorted(zip(*(table[name].to_pylist() for name in ("partition", "offset", "key", "value")), strict=True))


def count_of(lake: Path) -> int:
    if not (lake / "catalog.db").exists():
        return 0
    with contextlib.suppress(Exception):  # It is being made.
        properties = {"type": "sql", "uri": f"sqlite:///{lake}/catalog.db", "warehouse": f"file://{lake}"}
        snapshot = load_catalog("holdfast", **properties).load_table("holdfast.records").current_snapshot()
        return int(snapshot.summary["total-records"]) if snapshot and snapshot.summary else 0
    return 0


@pytest.mark.slow
@pytest.mark.timeout(int(60 * MINUTES) + 900)
def test_the_table_equals_the_topic_whoever_is_killed(tmp_path: Path) -> None:
    """P2, P4: every kind of process is killed at least once, by chance, under load; then the table holds the records of
    the topic, row by row, and nothing else."""
    if reason := no_spark():
        pytest.skip(reason)
    from tests.support.spark_processes import Standalone

    seed = int(os.environ.get("TABLE_SEED", random.randrange(2**32)))
    print("TABLE_SEED", seed)
    chance = random.Random(seed)
    killed: Counter[str] = Counter()
    lake = tmp_path / "lake"
    with Standalone(tmp_path / "spark") as spark, BrokerProcess(tmp_path / "data") as broker:
        with Client(broker.address) as client:
            client.create_topics({"t": PARTITIONS})
        load, driver = Load(broker.address), Driver(tmp_path, spark.url, broker.address)

        def until(is_so: Any, what: str) -> None:
            end_s = time.monotonic() + CATCH_UP_S
            while not is_so():
                driver.look_after()
                assert time.monotonic() < end_s, (what, killed, driver.said)
                time.sleep(0.2)

        def kill_executor() -> bool:
            found = [pid for each in spark.workers for pid in each.executors()]
            with contextlib.suppress(ProcessLookupError):  # It has ended by itself meanwhile: the next one.
                if found:
                    os.kill(chance.choice(found), signal.SIGKILL)
                    return True
            return False

        def kill(kind: str) -> None:
            if kind == "executor":
                until(kill_executor, "no executor came")
            elif kind == "worker":
                number = chance.randrange(len(spark.workers))
                spark.workers[number].kill()
                spark.workers[number] = spark.start_worker()
            elif kind == "driver":
                driver.kill()
            else:
                broker.kill()
                broker.start()
            killed[kind] += 1

        kinds = ["executor", "worker", "broker", "driver"]
        end_s = time.monotonic() + 60 * MINUTES
        try:
            until(lambda: count_of(lake) > 0, "nothing came")
            first = chance.sample(kinds, len(kinds))
            while first or time.monotonic() < end_s:
                time.sleep(chance.uniform(0.1, 2 if MINUTES < 1 else 10))
                kill(first.pop() if first else chance.choice(kinds))
                driver.look_after()
            load.stop()
            until(lambda: count_of(lake) >= load.sent, "the table did not catch up")
            driver.process.terminate()
            driver.process.wait(120)
        finally:
            driver.kill()
        assert load.failed == []
        wanted = sorted(
            (m.partition(), m.offset(), m.key(), m.value()) for m in read_committed(broker.address, "t", PARTITIONS)
        )
    print(f"{load.sent} records, {driver.starts} drivers, killed {dict(killed)}")
    assert sorted(int(value) for *_, value in wanted) == list(range(load.sent))
    assert rows_of(lake) == wanted
