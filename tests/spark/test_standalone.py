"""A standalone cluster of Spark: a master and two workers as processes; the Python of executors has no Holdfast."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.spark.shipped import BARE
from tests.support.broker_process import COMMAND, BrokerProcess
from tests.support.s3_server import S3Server
from tests.support.spark_session import no_spark
from tests.support.spark_store import StoredCluster
from typer.testing import CliRunner

from holdfast.cli.main import app
from holdfast.client import Client
from holdfast.io.objects.open import open_objects
from holdfast.record.build import build
from holdfast.record.records import Record

COUNT = 2000
JOB = """
import json, sys
from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
options = json.loads(sys.argv[1])
rows = spark.read.format("holdfast").options(**options).load()
print("ROWS", rows.selectExpr("count(*)", "count(distinct partition, offset)").first()[:])
spark.stop()
"""
SMALL = {
    "spark.driver.memory": "512m",
    "spark.executor.memory": "512m",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}

pytestmark = [pytest.mark.slow, pytest.mark.s3, pytest.mark.timeout(600)]  # JVMs start, and the machine may be busy.


@pytest.fixture(scope="module")
def standalone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    if reason := no_spark():
        pytest.skip(reason)
    from tests.support.spark_processes import Standalone

    with Standalone(tmp_path_factory.mktemp("standalone")) as cluster:
        yield cluster


def words(flag: str, given: dict[str, str]) -> list[str]:
    return [word for each in given.items() for word in (flag, "=".join(each))]


def submitted(folder: Path, master: str, options: list[str], given: dict[str, str]) -> str:
    """What a job of a user says, whose driver has Holdfast and whose executors have what the options bring."""
    from tests.support.spark_processes import home

    (folder / "job.py").write_text(JOB)
    python = folder / "python"  # All machines of this cluster are one: what is installed here depends on who asks.
    python.write_text(f'#!/bin/sh\nif [ "$AT_DRIVER" ]; then exec {sys.executable} "$@"; fi\nexec {BARE} -s "$@"\n')
    python.chmod(0o755)
    environment = {
        **os.environ,
        "AT_DRIVER": "yes",
        "PYSPARK_PYTHON": str(python),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    command = [str(home() / "bin" / "spark-submit"), "--master", master, *words("--conf", SMALL), *options]
    done = subprocess.run(
        [*command, "job.py", json.dumps(given)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.strip()


def test_executors_find_what_was_packed(standalone: Any, s3_store: tuple[str, dict[str, str]], tmp_path: Path) -> None:
    """P1, P4: a job of a user reads a bucket on executors to which only `holdfast spark pack` has brought Holdfast."""
    for partition in StoredCluster(open_objects(*s3_store)).topic("t", 3):
        partition.count(COUNT)
        partition.flush()
    url, options = s3_store
    given = {"path": url, "subscribe": "t", "minPartitions": "6"}
    given |= {f"store.{name}": text for name, text in options.items()}
    packed = CliRunner().invoke(app, ["spark", "pack", str(tmp_path / "modules.tar.gz")])
    assert packed.exit_code == 0, packed.output
    assert submitted(tmp_path, standalone.url, packed.stdout.split(), given) == f"ROWS {(3 * COUNT, 3 * COUNT)}"


def test_tables_are_kept_on_a_cluster_in_an_s3_server(
    standalone: Any,
    s3_server: S3Server,
    s3_store: tuple[str, dict[str, str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """P4: `tables run` on the cluster's executors, from a bucket into a bucket, beside a broker that writes on."""
    (url, options), lake = s3_store, f"s3://{s3_server.fresh_bucket()}/lake"
    for name, text in options.items():
        monkeypatch.setenv(f"AWS_{name.upper()}", text)
    configs = {"format": "parquet", "location": lake, "freshness.ms": "1000"}
    store, target = words("--store-option", options), words("--target-option", options)
    listing = ["tables", "list", "--path", url, *store, *target, "--json"]

    def listed() -> Any:
        return json.loads(CliRunner().invoke(app, listing).stdout)["rows"]

    with BrokerProcess(tmp_path / "data", options=["--store", url]) as broker, Client(broker.address) as client:
        client.create_topics({"t": 2}, {f"holdfast.table.{name}": text for name, text in configs.items()})
        run = ["tables", "run", "--path", url, *store, *target, "--bootstrap", broker.address, "--under", lake]
        run += ["--master", standalone.url, *words("--conf", SMALL)]
        environment = {**os.environ, "PYSPARK_PYTHON": str(BARE), "SPARK_LOCAL_IP": "127.0.0.1"}
        with (
            (tmp_path / "said").open("wb") as said,
            subprocess.Popen([COMMAND, *run], cwd=tmp_path, env=environment, stdout=said, stderr=said) as process,
        ):
            for step in range(2):
                for number in range(2):
                    client.produce({("t", number): build([Record(b"k", b"v%d" % n, 1) for n in range(COUNT)])})
                end_s = time.monotonic() + 200
                while listed() != 2 * COUNT * (step + 1):
                    assert process.poll() is None, (tmp_path / "said").read_text()
                    assert time.monotonic() < end_s, (tmp_path / "said").read_text()
                    time.sleep(0.2)
            process.terminate()
            assert process.wait(60) == 0
