"""Plans a read of many partitions in a process of its own, and prints what it took: `python -m tests.spark.wide_plan`.

The store is memory: what is measured is the driver's own work, and not the answers of a store.
"""

from __future__ import annotations

import json
import pickle
import resource
import sys
import time
from dataclasses import dataclass, field

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
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "tasks": len(tasks),
        "segments": len({piece.segment.name for task in tasks for piece in task.pieces}),
        "largest_task": max(sum(piece.size for piece in task.pieces) for task in tasks),
        "sent_size": sum(map(len, sent)),
    }
    print(json.dumps(told))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
