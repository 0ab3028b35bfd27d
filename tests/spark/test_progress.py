"""What somebody sees of a job who sits at a terminal: how far it is, and what it did."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from tests.spark.stored import Stored, fill, records
from tests.support.terminal import PATIENCE_S, Terminal

from holdfast.broker.topics import Topics
from holdfast.spark.jobs.run import Done, Unit, run_units


def test_progress_is_told_while_tasks_run(spark: Any, tmp_path: Path) -> None:
    """P5: each task ends only when it was told that those before it are done; the last word is that all are."""
    folder, count = str(tmp_path), 4
    told: list[Done] = []

    def work(number: int) -> int:
        deadline = time.monotonic() + 20
        while not Path(folder, str(number)).exists():
            assert time.monotonic() < deadline, "nobody has told how far the job is"
            time.sleep(0.01)
        return number

    def on_done(done: Done, total: Done) -> None:
        assert total == Done(count, 2 * count, 1000 * count)
        told.append(done)
        (tmp_path / str(done.tasks)).touch()

    units = [Unit(number, 2, 1000) for number in range(count)]
    assert run_units(spark, units, work, on_done) == list(range(count))
    assert list(dict.fromkeys(told)) == [Done(number, 2 * number, 1000 * number) for number in range(count + 1)]


def test_a_job_shows_how_far_it_is_and_sums_up(connector: None, tmp_path: Path) -> None:
    """P5: a bar with segments and bytes on the terminal while it runs; what it did is on stdout at its end.
    The test of P5."""
    cluster = Stored(tmp_path / "data")

    async def make(topics: Topics) -> None:
        log = (await topics.create("orders", 1, {})).partition(0)
        await fill(log, [records(20 * number, 20) for number in range(3)], flush_every=1)

    cluster.run(make)
    terminal = Terminal()
    process = subprocess.Popen(
        [sys.executable, "-m", "holdfast.cli", "audit", "--path", cluster.path, "--master", "local[2]"],
        stdout=subprocess.PIPE,
        stderr=terminal.theirs,
        env=terminal.environment,
        text=True,
    )
    terminal.handed_over()
    try:
        terminal.read_until(r"audit .*0/\d+ segments +0")
        terminal.read_until(r"audit .*([1-9]\d*)/\1 segments +([\d.]+)/\2 ")
        said, _ = process.communicate(timeout=PATIENCE_S)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 0
    assert "sound: 100.0000 % of" in said.splitlines()[-1]
