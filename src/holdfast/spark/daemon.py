"""Spark's Python daemon, with what our tasks need loaded before the first worker is forked from it.

Every worker of Spark's own daemon loads Arrow and our code anew, which costs about as much as reading a million
records. Forked from this one it has them already. `spark.python.daemon.module` names it; a session that does
not name it works the same, and starts later.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os

# What a task imports on its way, directly or not. Nothing here may start a thread, since threads do not survive a fork;
# that of the jemalloc inside Arrow knows how to.
PRELOADED = (
    "pyspark.worker",
    "pyarrow.parquet",
    "holdfast.spark.source.source",
    "holdfast.spark.jobs.run",
    "holdfast.spark.jobs.archive.write",
    "holdfast.spark.jobs.audit.segment",
)
_KEPT_SIZE = 256 * 1024 * 1024  # A worker may hold on to so much memory that it does not use.
_LARGEST_KEPT_SIZE = 128 * 1024 * 1024


def preload() -> None:
    """Load the modules, and the machine code of the loops that read."""
    # Loaded, it would start a thread for each core at once, and no worker has them after a fork: docs/guides/spark.md.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")  # One allocator, which keeps what it has.
    _keep_memory()
    for name in PRELOADED:
        with contextlib.suppress(ImportError):  # A task that needs it says so.
            importlib.import_module(name)
    with contextlib.suppress(Exception):  # So does one that reads; others of the session need nothing of it.
        _load_loops()
    with contextlib.suppress(ImportError):
        _part_chances()
    gc.collect()
    gc.freeze()  # A worker collects after each task. What it need not look at stays shared with its siblings.


def _keep_memory() -> None:
    """Use memory again instead of giving it back: a page that the kernel has to clear costs more than decoding it."""
    from holdfast.io.allocator import set_limits

    set_limits(_LARGEST_KEPT_SIZE, _KEPT_SIZE)


def _load_loops() -> None:
    """Decode one batch: what that imports is loaded then, and without C numba takes machine code from disk."""
    from holdfast.record.build import build
    from holdfast.record.columnar.decode import decode
    from holdfast.record.records import Record

    decode([build([Record(b"key", b"value", 0, (("name", b"value"),))])])


def _part_chances() -> None:
    """Let every worker have random numbers of its own: numpy, loaded before the fork, would give all the same ones."""
    from numpy import random

    os.register_at_fork(after_in_child=random.seed)


if __name__ == "__main__":
    from pyspark.daemon import manager

    preload()
    manager()
