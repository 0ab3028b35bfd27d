"""What the driver takes to plan a read of 10,000 partitions and 100,000 segments, from a store in a directory.

python -m benchmarks.spark.planning [partitions=10000] [segments=10]

The store is made first, which takes a minute: manifests only, since planning reads nothing else.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.machine import CHECKOUT, around
from tests.support.spark_store import T0, StoredCluster

from holdfast.catalog.catalog import catalog_in
from holdfast.catalog.plan import plan
from holdfast.catalog.store import find_store
from holdfast.io.objects.local.objects import LocalObjects
from holdfast.segment.manifest.changes import Append
from holdfast.segment.manifest.info import SegmentInfo


def fill(folder: Path, partitions: int, segments: int) -> None:
    """Manifests that list segments of 40 KB."""
    cluster = StoredCluster(LocalObjects(folder))
    made = cluster.topic("t", partitions)
    made[0].count(10)
    made[0].flush()
    first = made[0].log.manifest.segments[0]
    for number, each in enumerate(made):
        base = 10 if number == 0 else 0
        more = tuple(
            SegmentInfo(
                f"{first.name[:-4]}{number}-{n}.seg", base + 10 * n, base + 10 * n + 10, 40_000, 200, T0, T0, 10
            )  # type: ignore[arg-type]
            for n in range(segments)
        )
        each.log.commit(Append(more, more[-1].end, {}, cluster.patience.clock.monotonic()))


def measure(folder: str) -> None:
    """In a process of its own, whose memory is counted."""
    began = time.perf_counter()
    catalog = catalog_in(find_store(folder))
    tasks = plan(catalog, {where: catalog.readable(where) for where in catalog.manifests})
    seconds = time.perf_counter() - began
    began = time.perf_counter()
    catalog.refresh()
    found = {
        "seconds": round(seconds, 2),
        "again_seconds": round(time.perf_counter() - began, 2),
        "mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10,
        "tasks": len(tasks),
        "segments": sum(len(each.pieces) for each in tasks),
    }
    print(json.dumps(found))


def main() -> int:
    if sys.argv[1:2] == ["measure"]:
        measure(sys.argv[2])
        return 0
    given = dict(each.split("=", 1) for each in sys.argv[1:] if "=" in each)
    partitions, segments = int(given.get("partitions", "10000")), int(given.get("segments", "10"))
    with TemporaryDirectory() as folder:
        fill(Path(folder), partitions, segments)
        now = around()
        command = [sys.executable, "-m", "benchmarks.spark.planning", "measure", folder]
        told = subprocess.run(command, capture_output=True, text=True, check=True, cwd=CHECKOUT).stdout
        row = {**now, "partitions": partitions, **json.loads(told)}
    print(json.dumps(row))
    (CHECKOUT / "benchmarks/results/spark-planning.json").write_text(json.dumps([row], indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
