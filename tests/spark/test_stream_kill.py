"""A stream from topic to topic whose driver is killed again and again, at any moment: every row arrives, and once."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.spark.sink_parts import read_committed
from tests.spark.sink_proxy import ANY, KafkaProxy, Passing, kill_session
from tests.support.broker_process import BrokerProcess
from tests.support.spark_session import no_spark
from tests.support.spark_store import StoredCluster

from holdfast.client import Client
from holdfast.io.objects.local.objects import LocalObjects
from holdfast.protocol.api import Key
from holdfast.testing import free_port

ROOT = Path(__file__).parents[2]
PARTITIONS, PER_TRIGGER = 2, 40
WAITING = 5 * PER_TRIGGER  # Rows that a driver finds when it starts: some micro-batches.
STARTS_MAX = 3
KILLS = int(os.environ.get("KILLS", "4"))  # Each takes a start of Spark.
FRAMES_MAX, DELAY_MAX_S = 80, 0.5  # About as many frames as two micro-batches send, and as long as one takes.

STAGED = Passing(Key.INIT_PRODUCER_ID, is_answer=False)  # All rows are staged, the commit begins.
SENT = Passing(Key.END_TXN, is_answer=False)  # All rows are sent, the transaction is open.
COMMITTED = Passing(Key.END_TXN, is_answer=True)  # It is committed, and Spark has not heard of it.


class Moment(NamedTuple):
    """When a driver is killed: so many frames of a kind later, and then after some time."""

    frame: Passing
    before: int
    delay_s: float


def moments(chance: random.Random) -> list[Moment]:
    """Three that matter, in the first micro-batch or the second, and others at any frame or between any two."""
    known = [Moment(frame, chance.randrange(2), 0.0) for frame in (STAGED, SENT, COMMITTED)]
    anywhere = [Moment(ANY, chance.randrange(FRAMES_MAX), DELAY_MAX_S * chance.random()) for _ in range(KILLS - 3)]
    found = known + anywhere
    chance.shuffle(found)
    return found


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


def run_driver(folder: Path, address: str, proxy: KafkaProxy, moment: Moment | None) -> bool:
    """Run a driver until it is killed or has read everything; whether it was killed.

    On a machine that is very busy Spark gives up waiting for its own Python: then it is started again.
    """
    command = [sys.executable, "-m", "tests.spark.stream_driver", str(folder), address, str(PER_TRIGGER)]
    for _ in range(STARTS_MAX):
        killed = threading.Event()
        with (folder / "said").open("ab") as said:
            driver = subprocess.Popen(command, cwd=ROOT, stdout=said, stderr=said, start_new_session=True)

        def kill(leader: int = driver.pid, killed: threading.Event = killed) -> None:
            killed.set()
            kill_session(leader)

        if moment is not None:
            later = threading.Timer(moment.delay_s, kill)
            proxy.arm(moment.frame, later.start if moment.delay_s else kill, moment.before)
        try:
            code = driver.wait(400)
        finally:
            proxy.arm(None)
            kill_session(driver.pid)
        if killed.is_set() or code == 0:
            return killed.is_set()
    raise AssertionError((folder / "said").read_text()[-3000:])


@pytest.mark.slow
@pytest.mark.timeout(1800)  # Spark starts again and again, and the machine may be busy.
def test_a_driver_killed_at_any_moment(tmp_path: Path, proxy: tuple[KafkaProxy, str]) -> None:
    """P2, P3: killed between staging and commit, inside the commit, after it, and anywhere else: what is
    visible is always whole micro-batches; run again, source and sink go on where they were, and the result is exact.
    The test of P3."""
    seed = int(os.environ.get("HOLDFAST_SEED", random.randrange(2**32)))
    print("HOLDFAST_SEED", seed)
    between, address = proxy
    partitions = StoredCluster(LocalObjects(tmp_path / "store")).topic("source", PARTITIONS)

    def values() -> list[str]:
        return sorted(message.value().decode() for message in read_committed(address, "target", PARTITIONS))

    with Client(address) as client:
        client.create_topics({"target": PARTITIONS})
    for moment in [*moments(random.Random(seed)), None]:
        there = values()
        if missing := (WAITING + len(there)) // PARTITIONS - partitions[0].next_offset:
            for each in partitions:
                each.count(missing)
                each.flush()
        killed = run_driver(tmp_path, address, between, moment)
        now = values()
        print(moment, "killed" if killed else "ended", "after", (len(now) - len(there)) // PER_TRIGGER, "micro-batches")
        assert killed == (moment is not None)
        assert len(set(now)) == len(now)
        assert set(there) <= set(now)
        assert len(now) % PER_TRIGGER == 0
    count = partitions[0].next_offset
    assert values() == sorted(f"{number}-{offset}" for number in range(PARTITIONS) for offset in range(count))
