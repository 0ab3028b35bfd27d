"""A stream whose driver is killed again and again, at any moment: every record arrives once."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tests.spark.stream_driver import numbers
from tests.support.spark_session import missing
from tests.support.spark_store import StoredCluster, StoredPartition

from holdfast.io.local_objects import LocalObjects

KILLS = int(os.environ.get("HOLDFAST_SPARK_KILLS", "3"))
ROOT = Path(__file__).parents[2]
PER_TRIGGER = 40
PATIENCE_S = 240


def begin(folder: Path, total: int) -> subprocess.Popen[bytes]:
    """Start the driver, in a process group of its own."""
    command = [sys.executable, ROOT / "tests" / "spark" / "stream_driver.py", folder, folder / "store", "t"]
    return subprocess.Popen(
        [*command, str(PER_TRIGGER), str(total)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=(folder / "said").open("ab"),
        start_new_session=True,
    )


def kill(driver: subprocess.Popen[bytes]) -> None:
    """Kill the driver and its JVM; Python workers end when they lose it."""
    os.killpg(driver.pid, signal.SIGKILL)
    driver.wait()


def begun(folder: Path) -> int:
    return len(numbers(folder / "checkpoint" / "offsets"))


def fill(partitions: list[StoredPartition], records: int) -> None:
    for each in partitions:
        each.count(records)
        each.flush()


def rows(folder: Path) -> list[tuple[int, int]]:
    """The rows in the files that the sink has committed: its log lists them, and every tenth list is of all so far."""
    log = folder / "rows" / "_spark_metadata"
    names = [each for each in log.iterdir() if not each.name.startswith(".")]
    lists = sorted((int(each.name.split(".")[0]), each.suffix != ".compact", each) for each in names)
    last_full = max((number for number, is_part, _ in lists if not is_part), default=-1)
    found = {}
    for number, is_part, path in lists:
        if number > last_full or (number == last_full and not is_part):
            for line in path.read_text().splitlines()[1:]:
                found[json.loads(line)["path"]] = None
    tables = [pq.read_table(each.removeprefix("file://")) for each in found]
    return sorted((row["partition"], row["offset"]) for table in tables for row in table.to_pylist())


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_every_record_once_however_often_the_driver_is_killed(tmp_path: Path) -> None:
    """P2: a killed driver's stream, started again, has neither lost nor doubled a record."""
    if missing():
        pytest.skip(str(missing()))
    seed = int(os.environ.get("HOLDFAST_SEED", random.randrange(2**32)))
    print("HOLDFAST_SEED", seed)
    chance = random.Random(seed)
    partitions = StoredCluster(LocalObjects(tmp_path / "store")).topic("t", 2)
    total = 0
    for _ in range(KILLS):
        fill(partitions, 5 * PER_TRIGGER)
        total += 10 * PER_TRIGGER
        wanted = begun(tmp_path) + 1 + chance.randrange(4)
        driver = begin(tmp_path, total)
        deadline = time.monotonic() + PATIENCE_S
        while begun(tmp_path) < wanted and driver.poll() is None:
            assert time.monotonic() < deadline, (tmp_path / "said").read_text()
            time.sleep(0.01)
        time.sleep(chance.random() * 0.5)
        kill(driver)
    fill(partitions, 1)
    total += 2
    driver = begin(tmp_path, total)
    try:
        assert driver.wait(PATIENCE_S) == 0, (tmp_path / "said").read_text()
    finally:
        if driver.poll() is None:
            kill(driver)
    assert rows(tmp_path) == [(number, offset) for number in range(2) for offset in range(total // 2)]
