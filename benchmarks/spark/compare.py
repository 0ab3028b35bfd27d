"""One run: the same records in Kafka, in Holdfast and in Parquet; every job by every reader; then how it grows."""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from benchmarks import results
from benchmarks.bars import write_bars
from benchmarks.broker import brokers
from benchmarks.machine import CHECKOUT, versions
from benchmarks.spark import servers
from benchmarks.spark.measure import Driver, Place
from benchmarks.spark.tables import ratio_bars, tables
from rich.console import Console

METHOD = (
    "Every reader has a Spark driver (`local[2]`) of its own, and does each job on a small topic before it is "
    "measured. Rows a second are of the job alone. CPU seconds are those of the driver, the JVM, all Python workers "
    "and, for readers that need one, the broker, from the job's beginning to its end; workers that ended are counted. "
    "`count` of the whole readers makes all columns of all rows and throws them away; `narrow` asks for one column. "
    "`archive` writes Parquet; `audit` counts offsets and checks the bytes. Records have a key of 10 bytes and a value "
    "of the size given, in batches of lz4, in four partitions."
)
SIZES = (100, 1024)
WARM_ROWS = 4_000
RESULTS = CHECKOUT / "benchmarks" / "results"
talk = Console(stderr=True)


def main() -> int:
    asked = _arguments()
    shutil.rmtree(asked.dir, ignore_errors=True)
    asked.dir.mkdir(parents=True)
    notes = []
    if not brokers.kafka_is_there():
        notes.append("Apache Kafka is not there: run .ci/install-java-clients, which needs a JDK and Maven")
    measurements = [*_compared(asked), *_growth(asked)]
    shutil.rmtree(asked.dir, ignore_errors=True)
    scale = {"rounds": asked.rounds, "quick": asked.quick, "rows": asked.rows}
    run = results.new_run(scale, asked.dir.parent, versions("pyspark", "pyarrow"), measurements)
    run["versions"]["kafka"] = "4.3.1"
    run["notes"] += notes + sorted({f"{m['label']}: {m['error']}" for m in measurements if "error" in m})
    made = tables(run)
    for table in made:
        talk.print(table.to_rich())
    asked.results.mkdir(exist_ok=True)
    results.write_json(run, asked.results / "spark.json")
    results.write_markdown(run, "Spark", METHOD, made, asked.results / "spark.md")
    write_bars(ratio_bars(run), asked.results / "spark.png")
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one round, and values of 100 bytes only")
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--rounds", type=int, default=0, help="default 2, or 1 with --quick")
    parser.add_argument("--dir", type=Path, default=CHECKOUT / ".tools" / "bench" / "spark")
    parser.add_argument("--results", type=Path, default=RESULTS)
    asked = parser.parse_args()
    asked.rounds = asked.rounds or (1 if asked.quick else 2)
    return asked


def _compared(asked: argparse.Namespace) -> Iterator[dict[str, object]]:
    for size in SIZES[:1] if asked.quick else SIZES:
        folder = asked.dir / str(size)
        with ExitStack() as stack:
            places = list(_places(asked, size, folder, stack))
            for number in range(asked.rounds):
                for place in places[::-1] if number % 2 else places:
                    yield from _jobs(place, folder, number, size)
        shutil.rmtree(folder, ignore_errors=True)


def _jobs(place: Place, folder: Path, number: int, size: int) -> Iterator[dict[str, object]]:
    with Driver(place.reader, folder) as driver:
        for job in ("count", "sum", "filter", "archive", "audit"):
            if place.reader == "holdfast narrow" and job in ("archive", "audit"):
                continue  # The same as the whole reader's.
            talk.print(f"round {number + 1}, {size} B: {place.reader}, {job} …")
            yield {"round": number, "label": f"{place.reader}.{job}", "size": size, **driver.measure(job, place)}


def _places(asked: argparse.Namespace, size: int, folder: Path, stack: ExitStack) -> Iterator[Place]:
    """The brokers are filled; ours is stopped once, so that all is flushed, and serves again for the connector."""
    data = folder / "holdfast"
    given, warm = _given(asked.rows, size, folder), _warm(folder)
    talk.print(f"filling with {asked.rows} rows of {size} B …")
    with servers.ours(data) as filled:
        _fill(filled.address, size, asked.rows)
    ours = stack.enter_context(servers.ours(data))
    for topic in ("rows", "warm"):
        _to_parquet(data, topic, folder / f"parquet-{topic}")
    yield Place("holdfast", given | {"path": str(data)}, warm)
    yield Place("holdfast narrow", given | {"path": str(data)}, warm)
    yield Place("connector on holdfast", given | {"address": ours.address}, warm, ours.pid)
    if brokers.kafka_is_there():
        kafka = stack.enter_context(brokers.kafka(folder / "kafka", fsync=False))
        _fill(kafka.address, size, asked.rows)
        yield Place("connector on kafka", given | {"address": kafka.address}, warm, kafka.pid)
    yield Place("parquet", given, warm)


def _given(rows: int, size: int, folder: Path) -> dict[str, str]:
    facts = {"rows": rows, "size": size, "start": servers.T0, "step": servers.STEP_MS}
    places = {"topic": "rows", "folder": str(folder), "parquet": str(folder / "parquet-rows")}
    return {name: str(value) for name, value in facts.items()} | places


def _warm(folder: Path) -> dict[str, str]:
    return {"rows": str(WARM_ROWS), "topic": "warm", "parquet": str(folder / "parquet-warm")}


def _fill(address: str, size: int, rows: int) -> None:
    servers.fill(address, "warm", size, WARM_ROWS)
    servers.fill(address, "rows", size, rows)


def _to_parquet(data: Path, topic: str, target: Path) -> None:
    """The same rows as Parquet, for the reader that has nothing to decode."""
    import pyarrow.parquet as pq

    from holdfast.spark.catalog import open_catalog
    from holdfast.spark.plan import plan
    from holdfast.spark.read import read
    from holdfast.spark.rows import TYPES

    catalog = open_catalog(str(data), topics=[topic])
    columns = [name for name in TYPES if name != "headers"]
    target.mkdir()
    tasks = plan(catalog, {where: catalog.readable(where) for where in catalog.manifests})
    for number, task in enumerate(tasks):
        writer = None
        for batch in read(task, columns, catalog.store):
            writer = writer or pq.ParquetWriter(target / f"{number}.parquet", batch.schema)
            writer.write_batch(batch)
        if writer is not None:
            writer.close()


def _growth(asked: argparse.Namespace) -> Iterator[dict[str, object]]:
    """Ours alone: a quarter, a half and all of the rows; then the quarter in ever more segments."""
    folder = asked.dir / "growth"
    folder.mkdir()
    quarter = asked.rows // 4
    with Driver("holdfast", folder) as driver:
        for kind, rows, segment_size in (
            ("rows", quarter, 64 << 20),
            ("rows", 2 * quarter, 64 << 20),
            ("rows", 4 * quarter, 64 << 20),
            ("segments", quarter, 1 << 20),
            ("segments", quarter, 1 << 18),
        ):
            data = folder / f"{rows}-{segment_size}"
            unmerged = "log.compaction_check_ms=86400000"  # Or the broker would make few of many.
            with servers.ours(data, f"log.segment_size_max={segment_size}", unmerged) as filled:
                _fill(filled.address, 100, rows)
            segments = len(list((data / "objects" / "segments").rglob("*.seg")))
            place = Place("holdfast", _given(rows, 100, folder) | {"path": str(data)}, _warm(folder))
            for job in ("count", "filter", "archive", "audit"):
                talk.print(f"growth: {rows} rows in {segments} segments, {job} …")
                facts = {"round": 0, "label": f"growth.{kind}.{job}", "size": 100, "total": rows, "segments": segments}
                yield facts | driver.measure(job, place)
            shutil.rmtree(data, ignore_errors=True)
