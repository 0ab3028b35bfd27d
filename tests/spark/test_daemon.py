"""Python workers that are forked with everything loaded: by tasks of ours, and by whoever else uses the session."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

from holdfast.spark.session.session import SessionSettings, _defaults

_THREADS = """
import os
from holdfast.spark.daemon import preload
preload()
print(*(open(f"/proc/self/task/{each}/comm").read().strip() for each in os.listdir("/proc/self/task")), sep="\\n")
"""

_FORKED = """
import os
from holdfast.spark.daemon import preload
preload()
for _ in range(2):
    if not os.fork():
        import numpy
        os.write(1, b"%r\\n" % numpy.random.random())
        os._exit(0)
    os.wait()
"""
_WITHOUT = """
import sys
sys.modules["pyarrow"] = None
from holdfast.spark.daemon import preload
preload()
"""


def _loaded(_: int) -> tuple[bool, bool]:
    import gc
    import sys

    wanted = {"holdfast.record.loops.read_loops", "pyarrow.parquet"}
    return wanted <= sys.modules.keys(), gc.get_freeze_count() > 0


def test_a_fresh_worker_has_what_it_needs(spark: Any) -> None:
    """P1: a worker neither imports nor loads machine code anew, and does not look at it after each task."""
    assert spark.sparkContext.parallelize([0], 1).map(_loaded).collect() == [(True, True)]
    assert spark.range(10).count() == 10


def test_sessions_of_commands_have_it(tmp_path: Any) -> None:
    """P4: jobs of ours are forked from it."""
    found = _defaults(SessionSettings("test", "local[1]"), tmp_path)
    assert found["spark.python.daemon.module"] == "holdfast.spark.daemon"


def test_no_thread_is_there_before_the_fork() -> None:
    """P1: what is loaded ahead starts no thread that a worker would lack, but the one of jemalloc, which knows."""
    done = subprocess.run([sys.executable, "-c", _THREADS], capture_output=True, text=True, check=True)
    started = done.stdout.split()
    assert len([name for name in started if name != "jemalloc_bg_thd"]) == 1, started


def test_what_cannot_be_loaded_is_left_to_who_needs_it() -> None:
    """P1: where Arrow is missing workers start all the same: not every task of a session reads our segments."""
    subprocess.run([sys.executable, "-c", _WITHOUT], check=True)


def test_workers_have_random_numbers_of_their_own() -> None:
    """P1: a user's function that asks numpy for a random number gets another one in each worker."""
    done = subprocess.run([sys.executable, "-c", _FORKED], capture_output=True, text=True, check=True)
    first, second = done.stdout.split()
    assert first != second
