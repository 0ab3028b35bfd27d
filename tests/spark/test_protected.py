"""Spark's source, sink and jobs through a protected broker; their secrets are in no plan, log, event or checkpoint."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.broker_process import COMMAND
from tests.support.every_way import MARK, EveryWay

from holdfast.client import Client

ROOT = Path(__file__).parents[2]
WAY = "SASL_SSL SCRAM-SHA-512"


@pytest.fixture(scope="module")
def place(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EveryWay]:  # Without Spark not needed.
    with EveryWay(tmp_path_factory.mktemp("protected")).running() as made:
        yield made


def options(place: EveryWay, way: str = WAY, **changes: Any) -> dict[str, str]:
    """As Spark's users write them."""
    return {f"kafka.{word}": text for word, text in place.words(way, **changes).items()}


def holds(folder: Path, *secrets: str) -> list[Path]:
    """Which files hold one of the secrets."""
    files = [each for each in folder.rglob("*") if each.is_file()]
    return [each for each in files if any(secret.encode() in each.read_bytes() for secret in secrets)]


@pytest.mark.slow
def test_no_secret_is_in_a_plan_a_log_an_event_or_a_checkpoint(place: EveryWay, tmp_path: Path) -> None:
    """X11: of a batch, a stream and a sink, with every plan printed, the logs at INFO, and what fails."""
    with Client(place.process.address) as client:
        client.create_topics({"shown": 2, "shown-copy": 2})
    file = tmp_path / "options.json"
    given = {"right": options(place), "wrong": options(place, password=f"{MARK}wrong")}
    file.write_text(json.dumps({"data": str(place.folder / "data"), "topic": "shown", **given}))
    folder = tmp_path / "spark"
    folder.mkdir()
    driver = [sys.executable, "-m", "tests.spark.protected_driver", str(folder), str(file)]
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "PYTHONPATH": str(ROOT)}
    ran = subprocess.run(driver, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=240, check=False)
    assert ran.returncode == 0, ran.stderr[-2000:]
    done = json.loads((folder / "done.json").read_text())
    assert done["rows"] == 20
    assert len(done["failures"]) == 2
    assert all("correct sasl.jaas.config" in each for each in done["failures"])
    lines = [line for line in (ran.stdout + ran.stderr).splitlines() if MARK in line]
    assert lines == []
    assert "Physical Plan" in ran.stdout
    assert list((folder / "events").iterdir())
    assert list((folder / "checkpoint").iterdir())
    assert holds(folder, MARK) == []
    assert holds(place.folder / "data", MARK) == []
    with Client(place.process.address) as client:
        ends = client.list_offsets({("shown-copy", number): -1 for number in range(2)})
    assert sum(each.offset > 0 for each in ends.values()) > 0


@pytest.mark.parametrize("way", ["SSL certificate", "SASL_PLAINTEXT PLAIN", "SASL_SSL OAUTHBEARER"])
def test_rows_go_to_a_topic_and_back(spark: Any, place: EveryWay, way: str) -> None:
    """X11: the sink's driver and executors, and the source's unflushed tail, each by its own connections."""
    topic = way.replace(" ", "-")
    with Client(place.process.address) as client:
        client.create_topics({topic: 2})
    at = {"path": str(place.folder / "data"), **options(place, way)}
    frame = spark.range(50).selectExpr("cast(concat('v', id) as binary) value")
    frame.write.format("holdfast").mode("append").options(**at, topic=topic).save()
    read = spark.read.format("holdfast").options(**at, subscribe=topic).load()
    assert read.count() == 50
    assert MARK not in read._jdf.queryExecution().toString()


def test_an_archive_is_replayed_through_a_protected_broker(spark: Any, place: EveryWay, tmp_path: Path) -> None:
    """X11: `holdfast archive`, then `replay` and `audit` with --command-config."""
    config = ["--command-config", str(place.file(WAY, "replay.properties"))]
    data = str(place.folder / "data")

    def holdfast(*arguments: str, said: str = "") -> str:
        command = [str(COMMAND), *arguments]
        done = subprocess.run(command, input=said, capture_output=True, text=True, timeout=200, check=False)
        assert done.returncode == 0, done.stderr
        assert MARK not in done.stdout + done.stderr
        return done.stdout

    holdfast("topic", "create", "old", *config)
    holdfast("topic", "create", "again", *config)
    holdfast("produce", "old", *config, said="a\nb\nc\n")
    place.process.stop()  # Everything is stored now.
    place.process.start()
    holdfast("archive", "old", str(tmp_path / "lake"), "--path", data)
    assert "3 records written" in holdfast("replay", str(tmp_path / "lake"), "--topic", "again", *config)
    audited = json.loads(holdfast("audit", "again", "--path", f"{data}/objects", "--json", *config))
    assert (audited["sound"], audited["offsets"]) == (True, 4)  # With the marker of its transaction.
    assert holds(tmp_path, MARK) == []
