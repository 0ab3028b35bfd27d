"""The wheel: built, installed into an empty environment, and a broker out of it that a client can write to."""

from __future__ import annotations

import email
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import NamedTuple

import pytest
from confluent_kafka import Producer

from holdfast.testing import RunningBroker

ROOT = Path(__file__).parents[2]
UV = Path(sys.executable).parent / "uv"


class Installed(NamedTuple):
    """A wheel, and an environment with nothing else than it and what it needs to run."""

    wheel: Path
    folder: Path

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"

    def run(self, command: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        return run(self.folder / "bin" / command, *arguments)


def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("HOLDFAST_", "PYTHONPATH"))}
    return subprocess.run(command, cwd=ROOT, env=clean, capture_output=True, text=True)


def uv(*arguments: str | Path) -> None:
    done = run(UV, *arguments)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """Everything pinned comes from uv's cache, which installing has filled; only what is not there is fetched."""
    folder = tmp_path_factory.mktemp("wheel")
    uv("build", "--offline", "--wheel", "--no-build-isolation", "--python", sys.executable, "-o", folder / "dist", ROOT)
    [wheel] = (folder / "dist").glob("*.whl")
    there = Installed(wheel, folder / "venv")
    uv("venv", "-q", "--python", sys.executable, there.folder)
    pinned = ROOT / "requirements" / "run.txt"
    uv("pip", "install", "-q", "--python", there.python, "--require-hashes", "-r", pinned)
    uv("pip", "install", "-q", "--offline", "--python", there.python, "--no-deps", wheel)
    return there


def test_a_client_can_write_to_a_broker_from_the_wheel(installed: Installed, tmp_path: Path) -> None:
    with RunningBroker(tmp_path, python=installed.python, environment={"PYTHONPATH": ""}) as broker:
        acked: list[object] = []
        producer = Producer({"bootstrap.servers": broker.bootstrap})
        producer.produce("orders", b"one", on_delivery=lambda error, _: acked.append(error))
        assert producer.flush(60) == 0
        assert acked == [None]
        assert broker.stop() == 0


def test_the_command_is_there_and_comes_from_the_wheel(installed: Installed) -> None:
    assert installed.run("holdfast", "--version").stdout.startswith("holdfast ")
    where = installed.run("python", "-c", "import holdfast.cli.main as it; print(it.__file__)").stdout.strip()
    assert Path(where).is_relative_to(installed.folder)


def test_without_spark_everything_else_works_and_the_doctor_says_how_to_get_it(
    installed: Installed, tmp_path: Path
) -> None:
    done = installed.run("holdfast", "doctor", "--data", str(tmp_path), "--listen", "127.0.0.1:0", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    found = {each["check"]: each for each in map(json.loads, done.stdout.splitlines())}
    assert found["pyspark"]["todo"] == "for pipelines on Spark: pip install 'holdfast[spark]'"
    assert found["packages"]["state"] == "ok"


def test_the_wheel_says_what_it_needs_and_offers(installed: Installed) -> None:
    with zipfile.ZipFile(installed.wheel) as wheel:
        [name] = [each for each in wheel.namelist() if each.endswith(".dist-info/METADATA")]
        metadata = email.message_from_bytes(wheel.read(name))
        [name] = [each for each in wheel.namelist() if each.endswith(".dist-info/entry_points.txt")]
        entries = wheel.read(name).decode()
    assert {"arrow", "spark"} <= set(metadata.get_all("Provides-Extra") or [])
    assert not any("pyspark" in each and "extra" not in each for each in metadata.get_all("Requires-Dist") or [])
    assert "holdfast = holdfast.cli.main:main" in entries
    assert "holdfast = holdfast.testing.plugin" in entries


def test_everything_in_the_source_tree_is_in_the_wheel(installed: Installed) -> None:
    listed = run("git", "ls-files", "--cached", "src/holdfast").stdout.split()
    with zipfile.ZipFile(installed.wheel) as wheel:
        held = set(wheel.namelist())
    there = {each.removeprefix("src/") for each in listed if (ROOT / each).exists()}
    assert there <= held
