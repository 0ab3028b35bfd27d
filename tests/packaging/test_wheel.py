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
from tests.support.pythons import newest_python

from holdfast.native import ADVICE, VARIABLE
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
    """Everything but Spark: what `holdfast[arrow]` brings."""
    return install(tmp_path_factory.mktemp("wheel"), "run.txt")


@pytest.fixture(scope="module")
def light(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """What `pip install holdfast` brings."""
    return install(tmp_path_factory.mktemp("light"), "base.txt")


@pytest.fixture(scope="module")
def newest(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The same on the newest Python of this machine."""
    return install(tmp_path_factory.mktemp("newest"), "base.txt", newest_python())


def install(folder: Path, pinned: str, python: str = sys.executable) -> Installed:
    """Everything pinned comes from uv's cache, which installing has filled; only what is not there is fetched."""
    uv("build", "--offline", "--wheel", "--no-build-isolation", "--python", sys.executable, "-o", folder / "dist", ROOT)
    [wheel] = (folder / "dist").glob("*.whl")
    there = Installed(wheel, folder / "venv")
    uv("venv", "-q", "--python", python, there.folder)
    uv("pip", "install", "-q", "--python", there.python, "--require-hashes", "-r", ROOT / "requirements" / pinned)
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


def test_the_light_install_serves_real_clients(light: Installed, tmp_path: Path) -> None:
    """Without numba and pyarrow: batches large and small, compressed, a compacted topic, and its own commands."""
    with RunningBroker(tmp_path, python=light.python, environment={"PYTHONPATH": ""}) as broker:
        producer = Producer({"bootstrap.servers": broker.bootstrap, "compression.type": "lz4", "linger.ms": 50})
        for number in range(1000):
            producer.produce("orders", f"{number}".encode(), key=b"k%d" % (number % 10))
        assert producer.flush(60) == 0
        read = light.run(
            "holdfast", "consume", "orders", "--bootstrap", broker.bootstrap, "--from", "earliest", "--no-follow"
        )
        assert [line.split()[-1] for line in read.stdout.splitlines()] == [str(number) for number in range(1000)], (
            read.stderr
        )
        assert not any("[fast]" in line for line in broker.said)  # Machine code came with the wheel.
        assert any("no port for subscribers" in line and "[arrow]" in line for line in broker.said)
        assert broker.stop() == 0


def test_a_light_install_that_had_no_compiler_says_what_to_do(light: Installed, tmp_path: Path) -> None:
    environment = {"PYTHONPATH": "", VARIABLE: "off"}
    with RunningBroker(tmp_path, python=light.python, environment=environment) as broker:
        broker.topic("orders", *(f"{number}" for number in range(100)))
        assert len(broker.read("orders")) == 100
        assert any(ADVICE in line for line in broker.said)
        assert broker.stop() == 0


def test_machine_code_is_in_the_wheel_and_serves_subscribers_without_numba(installed: Installed) -> None:
    with zipfile.ZipFile(installed.wheel) as wheel:
        assert "holdfast/native/kernels.abi3.so" in wheel.namelist()
        assert not any("native/source" in each for each in wheel.namelist())
    program = "import holdfast.subscribe.warm as it, sys; it.warm(); print('numba' in sys.modules)"
    assert installed.run("python", "-c", program).stdout == "False\n"


def test_the_newest_python_of_this_machine_serves_as_well(newest: Installed, tmp_path: Path) -> None:
    with RunningBroker(tmp_path, python=newest.python, environment={"PYTHONPATH": ""}) as broker:
        broker.topic("orders", *(f"{number}" for number in range(100)))
        assert len(broker.read("orders")) == 100
        assert broker.stop() == 0


def test_the_newest_python_speaks_tls_with_itself(newest: Installed) -> None:
    """Its checks of certificates are stricter than those of the oldest: broker, client and `holdfast.testing` pass."""
    program = """
import socket
from holdfast.testing import secured_broker
with secured_broker({}) as broker:
    broker.topic("orders", "tea")
    with socket.create_connection(("127.0.0.1", broker.port), 10) as plain:
        print(broker.ssl_context().wrap_socket(plain, server_hostname="localhost").version())
    print(broker.read("orders")[0].value)
"""
    done = newest.run("python", "-c", program)
    assert done.stdout.split() == ["TLSv1.3", "b'tea'"], done.stderr


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("source")
    uv("build", "--offline", "--no-build-isolation", "--python", sys.executable, "-o", folder, ROOT)
    return folder


@pytest.mark.parametrize("which", ["oldest", "newest"])
def test_the_source_archive_is_built_and_serves(source: Path, tmp_path: Path, which: str) -> None:
    """In an empty environment: with what it needs to run and to be built, and nothing else."""
    python = tmp_path / "venv" / "bin" / "python"
    uv("venv", "-q", "--python", sys.executable if which == "oldest" else newest_python(), tmp_path / "venv")
    pinned = [word for name in ("base", "install") for word in ("-r", ROOT / "requirements" / f"{name}.txt")]
    uv("pip", "install", "-q", "--python", python, "--require-hashes", *pinned)
    [archive] = source.glob("*.tar.gz")
    uv("pip", "install", "-q", "--offline", "--python", python, "--no-deps", "--no-build-isolation", archive)
    program = "from holdfast.native import kernels; print(kernels.__file__)"
    assert run(python, "-c", program).stdout.startswith(str(tmp_path))
    with RunningBroker(tmp_path / "data", python=python, environment={"PYTHONPATH": ""}) as broker:
        broker.topic("orders", "tea")
        broker.restart()
        assert [each.value for each in broker.read("orders")] == [b"tea"]


def test_the_source_archive_makes_the_same_wheel(installed: Installed, source: Path) -> None:
    [archive], [wheel] = source.glob("*.tar.gz"), source.glob("*.whl")
    assert archive.stat().st_size < 20 << 20
    with zipfile.ZipFile(wheel) as made, zipfile.ZipFile(installed.wheel) as other:
        assert set(made.namelist()) == set(other.namelist())


def test_the_light_install_is_light(light: Installed) -> None:
    """128 MB, where all but Spark takes 292."""
    size = sum(each.stat().st_size for each in light.folder.rglob("*") if each.is_file() and not each.is_symlink())
    assert size < 150 << 20


@pytest.mark.parametrize(
    ("command", "extra"),
    [
        (["subscribe", "orders"], "arrow"),
        (["archive", "orders", "lake", "--path", "nowhere"], "arrow"),
        (["demo"], "demo"),
        (["serve", "--listen", "127.0.0.1:0", "--set", "subscribe.listen=127.0.0.1:0"], "arrow"),
    ],
    ids=lambda each: each[0] if isinstance(each, list) else each,
)
def test_what_an_extra_is_needed_for_says_its_command_in_one_line(
    light: Installed, tmp_path: Path, command: list[str], extra: str
) -> None:
    where = ["--data", str(tmp_path)] if command[0] == "serve" else []
    done = light.run("holdfast", *command, *where)
    assert done.returncode == 1
    [line] = done.stderr.splitlines()
    assert f"pip install '.[{extra}]'" in line


def test_a_library_that_needs_an_extra_says_so_too(light: Installed) -> None:
    done = light.run("python", "-c", "from holdfast.catalog import read_topic")
    assert "pip install '.[arrow]'" in done.stderr.splitlines()[-1]


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
    assert found["pyspark"]["todo"].startswith("for pipelines on Spark: pip install '.[spark]' in the checkout")
    assert found["packages"]["state"] == "ok"


def test_the_wheel_says_what_it_needs_and_offers(installed: Installed) -> None:
    with zipfile.ZipFile(installed.wheel) as wheel:
        [name] = [each for each in wheel.namelist() if each.endswith(".dist-info/METADATA")]
        metadata = email.message_from_bytes(wheel.read(name))
        [name] = [each for each in wheel.namelist() if each.endswith(".dist-info/entry_points.txt")]
        entries = wheel.read(name).decode()
    assert {"arrow", "demo", "fast", "spark"} <= set(metadata.get_all("Provides-Extra") or [])
    always = [each for each in metadata.get_all("Requires-Dist") or [] if "extra" not in each]
    assert not any(name in each for each in always for name in ("pyspark", "pyarrow", "numba"))
    assert "holdfast = holdfast.cli.main:main" in entries
    assert "holdfast = holdfast.testing.plugin" in entries


def test_everything_in_the_source_tree_is_in_the_wheel(installed: Installed) -> None:
    listed = run("git", "ls-files", "--cached", "src").stdout.split()
    with zipfile.ZipFile(installed.wheel) as wheel:
        held = set(wheel.namelist())
    there = {each.removeprefix("src/") for each in listed if (ROOT / each).exists() and "native/source/" not in each}
    assert there <= held
