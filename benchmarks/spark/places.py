"""The same rows in every place that they are read from, and all jobs of all readers on them."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from benchmarks.broker import brokers
from benchmarks.spark import servers
from benchmarks.spark.measure import Driver, Place

WARM_ROWS = 4_000
JOBS = ("count", "sum", "filter", "archive", "audit")
ONCE = ("connector on holdfast",)  # No aim is held against it, and it takes long.


@dataclass(frozen=True)
class Asked:
    """How much is measured, and where."""

    rows: int
    rounds: int
    sizes: tuple[int, ...]
    folder: Path
    tell: Callable[[str], None]


def compared(asked: Asked) -> Iterator[dict[str, object]]:
    """Every job by every reader, in rounds; the order of the readers turns round in every second one."""
    for size in asked.sizes:
        folder = asked.folder / str(size)
        with ExitStack() as stack:
            places = list(_places(asked, size, folder, stack))
            for number in range(asked.rounds):
                for place in places[::-1] if number % 2 else places:
                    if number == 0 or place.reader not in ONCE:
                        yield from _jobs(asked, place, number, size)
        shutil.rmtree(folder, ignore_errors=True)


def _jobs(asked: Asked, place: Place, number: int, size: int) -> Iterator[dict[str, object]]:
    with Driver(place.reader, asked.folder) as driver:
        for job in JOBS:
            if place.reader == "holdfast narrow" and job in ("archive", "audit"):
                continue  # The same as the whole reader's.
            asked.tell(f"round {number + 1} of {asked.rounds}, {size} B: {place.reader}, {job} …")
            yield {"round": number, "label": f"{place.reader}.{job}", "size": size, **driver.measure(job, place)}


def _places(asked: Asked, size: int, folder: Path, stack: ExitStack) -> Iterator[Place]:
    """The brokers are filled; ours is stopped once, so that all is flushed, and serves again for the connector."""
    data = folder / "holdfast"
    given, warm = facts(asked.rows, size, folder), warm_facts(folder)
    asked.tell(f"filling with {asked.rows} rows of {size} B …")
    with servers.ours(data) as filled:
        fill(filled.address, size, asked.rows)
    ours = stack.enter_context(servers.ours(data))
    for topic in ("rows", "warm"):
        _to_parquet(data, topic, folder / f"parquet-{topic}")
    yield Place("holdfast", given | {"path": str(data)}, warm)
    yield Place("holdfast narrow", given | {"path": str(data)}, warm)
    yield Place("connector on holdfast", given | {"address": ours.address}, warm, ours.pid)
    if brokers.kafka_is_there():
        kafka = stack.enter_context(brokers.kafka(folder / "kafka", fsync=False))
        fill(kafka.address, size, asked.rows)
        yield Place("connector on kafka", given | {"address": kafka.address}, warm, kafka.pid)
    yield Place("parquet", given, warm)


def facts(rows: int, size: int, folder: Path) -> dict[str, str]:
    """What a job is told of the rows and of where they are."""
    told = {"rows": rows, "size": size, "start": servers.T0, "step": servers.STEP_MS}
    places = {"topic": "rows", "folder": str(folder), "parquet": str(folder / "parquet-rows")}
    return {name: str(value) for name, value in told.items()} | places


def warm_facts(folder: Path) -> dict[str, str]:
    """What is different for the small topic."""
    return {"rows": str(WARM_ROWS), "topic": "warm", "parquet": str(folder / "parquet-warm")}


def fill(address: str, size: int, rows: int) -> None:
    servers.fill(address, "warm", size, WARM_ROWS)
    servers.fill(address, "rows", size, rows)


def _to_parquet(data: Path, topic: str, target: Path) -> None:
    """The same rows as Parquet, for the reader that has nothing to decode."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from holdfast.catalog.catalog import open_catalog
    from holdfast.catalog.plan import plan
    from holdfast.catalog.read import read
    from holdfast.catalog.rows import TYPES

    catalog = open_catalog(str(data), topics=[topic])
    columns = [name for name in TYPES if name != "headers"]
    target.mkdir()
    tasks = plan(catalog, {where: catalog.readable(where) for where in catalog.manifests})
    for number, task in enumerate(tasks):
        rows = pa.Table.from_batches(list(read(task, columns, catalog.store)))  # A task is small.
        pq.write_table(rows, target / f"{number}.parquet")
