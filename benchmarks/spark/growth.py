"""How our jobs grow: with the rows, and with the segments that the same rows lie in."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

from benchmarks.spark import servers
from benchmarks.spark.measure import Driver, Place
from benchmarks.spark.places import Asked, facts, fill, warm_facts

SIZE = 100
SEGMENT_SIZE = 64 << 20  # As it is by default.
JOBS = ("count", "filter", "archive", "audit")
UNMERGED = "log.compaction_check_ms=86400000"  # Or the broker would make few segments of many.


def growth(asked: Asked) -> Iterator[dict[str, object]]:
    """A fifth, two and four fifths of the rows; then the fifth in ever more segments."""
    fifth = max(asked.rows // 5, 1)
    with Driver("holdfast", asked.folder) as driver:
        for rows in (fifth, 2 * fifth, 4 * fifth):
            yield from _measured(asked, driver, "rows", rows, SEGMENT_SIZE)
        for segment_size in (1 << 20, 1 << 18):
            yield from _measured(asked, driver, "segments", fifth, segment_size)


def _measured(asked: Asked, driver: Driver, kind: str, rows: int, segment_size: int) -> Iterator[dict[str, object]]:
    data = asked.folder / f"growth-{rows}-{segment_size}"
    with servers.ours(data, f"log.segment_size_max={segment_size}", UNMERGED) as filled:
        fill(filled.address, SIZE, rows)
    segments = len(list((data / "objects" / "segments").rglob("*.seg")))
    place = Place("holdfast", facts(rows, SIZE, asked.folder) | {"path": str(data)}, warm_facts(asked.folder))
    for job in JOBS:
        asked.tell(f"growth: {rows} rows in {segments} segments, {job} …")
        around = {"round": 0, "label": f"growth.{kind}.{job}", "size": SIZE, "total": rows, "segments": segments}
        yield around | driver.measure(job, place)
    shutil.rmtree(data, ignore_errors=True)
