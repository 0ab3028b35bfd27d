"""One Spark driver in a process of its own: starts, and does one job after the other, as it is told.

`jobs.py READER FOLDER` reads lines of JSON, `{"job": …, "given": {…}}`, and answers each with a line: how many rows,
and how many seconds. Whoever asks can read its CPU before and after, since it waits meanwhile.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

CHECKOUT = Path(__file__).resolve().parents[2]
JARS = CHECKOUT / ".tools" / "spark-jars"
CORES = 2
NARROW = {"count": "offset long", "sum": "value binary", "filter": "timestamp timestamp"}


class Reader:
    """Where rows come from."""

    def __init__(self, spark: Any, kind: str, given: dict[str, str]) -> None:
        self.spark, self.kind, self.given = spark, kind, given

    def frame(self, job: str) -> Any:
        if self.kind.startswith("parquet"):
            return self.spark.read.parquet(self.given["parquet"])
        if self.kind.startswith("one table"):
            from holdfast.spark import table

            more = {"bootstrap": self.given["address"]} if "address" in self.given else {}
            return table(self.spark, self.given["topic"], self.given["path"], archive=self.given["parquet"], **more)
        if self.kind.startswith("connector"):
            options = {"kafka.bootstrap.servers": self.given["address"], "subscribe": self.given["topic"]}
            return self.spark.read.format("kafka").options(**options).load()
        options = {"path": self.given["path"], "subscribe": self.given["topic"], "pushFilters": str(job == "filter")}
        reader = self.spark.read.format("holdfast").options(**options)
        return (reader.schema(NARROW[job]) if self.kind.endswith("narrow") and job in NARROW else reader).load()


def count(reader: Reader) -> int:
    if reader.kind.endswith("narrow") or reader.kind.startswith(("parquet", "one table")):
        return int(reader.frame("count").count())
    frame = reader.frame("count")  # Every column is made, as for who needs them.
    frame.write.format("noop").mode("overwrite").save()
    return int(reader.given["rows"])


def sum_of_sizes(reader: Reader) -> int:
    return int(reader.frame("sum").selectExpr("sum(length(value))").collect()[0][0]) // int(reader.given["size"])


def one_percent(reader: Reader) -> int:
    rows, start, step = (int(reader.given[name]) for name in ("rows", "start", "step"))
    first, end = (rows * part // 100 for part in (50, 51))
    low, high = (start + step * number for number in (first, end))
    frame = reader.frame("filter")
    times = f"timestamp >= timestamp_millis({low}) and timestamp < timestamp_millis({high})"
    found = int(frame.where(times).count())
    return rows if found == end - first else found * 100  # Rows that were looked at.


def archive(reader: Reader) -> int:
    with tempfile.TemporaryDirectory(dir=reader.given["folder"]) as folder:
        target = f"{folder}/out"
        if not reader.kind.startswith("holdfast"):
            reader.frame("archive").write.parquet(target)
        else:
            from holdfast.catalog.catalog import open_catalog
            from holdfast.spark.jobs.archive.archive import archive as run
            from holdfast.spark.jobs.archive.parquet import ParquetTarget, parquet_store

            catalog = open_catalog(reader.given["path"], topics=[reader.given["topic"]])
            run(reader.spark, catalog, ParquetTarget(reader.spark, parquet_store(target)))
        import pyarrow.dataset as ds

        return int(ds.dataset(target, partitioning=None).count_rows())


def audit(reader: Reader) -> int:
    if reader.kind.startswith("holdfast"):
        from holdfast.catalog.store import find_store
        from holdfast.spark.jobs.audit.audit import audit as run

        reports = run(reader.spark, find_store(reader.given["path"]), [reader.given["topic"]])
        assert all(each.is_sound for each in reports)
        return sum(each.counts.records for each in reports)
    checks = "count(*) n", "count(distinct offset) d", "max(offset) - min(offset) + 1 w", "sum(crc32(value)) c"
    rows = reader.frame("audit").groupBy("partition").agg(*map(_expression, checks)).collect()
    assert all(row.n == row.d == row.w for row in rows)
    return sum(row.n for row in rows)


def _expression(text: str) -> Any:
    from pyspark.sql.functions import expr

    body, _, name = text.rpartition(" ")
    return expr(body).alias(name)


JOBS: dict[str, Callable[[Reader], int]] = {
    "count": count,
    "sum": sum_of_sizes,
    "filter": one_percent,
    "archive": archive,
    "audit": audit,
}


def checked(job: Callable[[Reader], int], reader: Reader) -> int:
    """A job that saw other rows than were written is no measurement, however fast it was."""
    found, written = job(reader), int(reader.given["rows"])
    if found != written:
        raise ValueError(f"it found {found} rows of {written}")
    return found


def session(folder: str) -> Any:
    from holdfast.spark.session.session import SessionSettings, _start
    from holdfast.spark.source.source import HoldfastSource

    conf = {
        "spark.jars": ",".join(map(str, sorted(JARS.glob("*.jar")))),
        "spark.sql.python.filterPushdown.enabled": "true",
        "spark.driver.memory": "2g",
        "spark.driver.extraJavaOptions": "-XX:+UseParallelGC",  # Not our light one: the connector lives in the JVM.
    }
    made = _start(SessionSettings("bench", f"local[{CORES}]", conf), Path(folder))
    made.dataSource.register(HoldfastSource)
    return made


def main() -> None:
    kind, place = sys.argv[1:]
    with tempfile.TemporaryDirectory(dir=place) as folder:
        spark = session(folder)
        print("ready", flush=True)
        for line in sys.stdin:
            asked = json.loads(line)
            reader = Reader(spark, kind, asked["given"])
            started = time.perf_counter()
            try:
                answer: dict[str, object] = {"rows": checked(JOBS[asked["job"]], reader)}
            except Exception as failure:  # Told, and counted as failed; the next job may do better.
                answer = {"error": f"{type(failure).__name__}: {failure}".splitlines()[0][:300]}
            print(json.dumps(answer | {"seconds": time.perf_counter() - started}), flush=True)
        spark.stop()


if __name__ == "__main__":
    sys.path[0] = str(CHECKOUT)
    main()
