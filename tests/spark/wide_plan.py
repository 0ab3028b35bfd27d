"""Plans a read of many partitions in a process of its own, and prints what it took: `python -m tests.spark.wide_plan`.

The store is memory: what is measured is the driver's own work, and not the answers of a store.
"""

from __future__ import annotations

import json
import pickle
import re
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.spark_store import T0, StoredCluster

from holdfast.catalog.catalog import catalog_in
from holdfast.catalog.plan import plan
from holdfast.catalog.store import Store
from holdfast.io.objects import Objects
from holdfast.io.objects.memory import MemoryObjects
from holdfast.segment.manifest.changes import Append
from holdfast.segment.manifest.info import SegmentInfo

OFFSETS, SIZE = 10, 400_000


@dataclass(frozen=True)
class HeldStore(Store):
    """A store that is held in this process."""

    objects: Objects = field(default_factory=MemoryObjects, compare=False)

    def open(self) -> Objects:
        return self.objects


def _peak_mb() -> float:
    """Of this program alone: what `getrusage` tells may be of the process that has started it."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found is not None
    return int(found[1]) / 1024


def main(partitions: int, segments: int) -> None:
    store = HeldStore("memory")
    cluster = StoredCluster(store.objects)
    for partition in cluster.topic("t", partitions):
        names = (f"{partition.home.segments}{OFFSETS * n:020}-1-{n:016x}.seg" for n in range(segments))
        made = tuple(
            SegmentInfo(name, OFFSETS * n, OFFSETS * (n + 1), SIZE, 200, T0, T0, OFFSETS)  # type: ignore[arg-type]
            for n, name in enumerate(names)
        )
        partition.log.commit(Append(made, made[-1].end, {}, cluster.patience.clock.monotonic()))
    before_s = time.process_time()
    catalog = catalog_in(store)
    tasks = plan(catalog, {where: catalog.readable(where) for where in catalog.manifests})
    sent = [pickle.dumps(task) for task in tasks]
    told = {
        "cpu_s": time.process_time() - before_s,
        "peak_mb": _peak_mb(),
        "tasks": len(tasks),
        "segments": len({piece.segment.name for task in tasks for piece in task.pieces}),
        "largest_task": max(sum(piece.size for piece in task.pieces) for task in tasks),
        "sent_size": sum(map(len, sent)),
    }
    print(json.dumps(told))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
