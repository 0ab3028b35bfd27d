"""What is measured of the first ten minutes: each function gives names and figures."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks.machine import CHECKOUT

from holdfast.client.client import Client
from holdfast.errors import HoldfastError
from holdfast.record.build import build
from holdfast.record.records import Record
from holdfast.testing.ports import free_port

BIN = CHECKOUT / ".venv" / "bin"
_GIVE_UP_S = 300.0
_FIXTURE = """
import time
from holdfast.testing import running_broker
for _ in range(2):
    began = time.perf_counter()
    with running_broker():
        print(time.perf_counter() - began)
"""


def set_up(folder: Path) -> Iterator[tuple[str, float]]:
    """A checkout with nothing in it, and `make run` twice."""
    subprocess.run(["git", "clone", "-q", str(CHECKOUT), str(folder)], check=True)
    for what in ("`make run` in a new checkout: set-up, and it serves", "`make run` again"):
        address = f"127.0.0.1:{free_port()}"
        given = [f"LISTEN={address}", f"CONSOLE=127.0.0.1:{free_port()}"]
        began = time.perf_counter()
        with _running(["make", "-s", "run", *given], folder) as said:
            _until_serving(said)
            yield what, time.perf_counter() - began


def starts(folder: Path) -> Iterator[tuple[str, float]]:
    """Of what is set up: from a process to something of use."""
    folder.mkdir()
    serve = [str(BIN / "holdfast"), "serve", "--data", str(folder / "data")]
    for what in ("`holdfast serve` on a new directory: it serves", "`holdfast serve` again: it serves"):
        began = time.perf_counter()
        with _running([*serve, "--listen", f"127.0.0.1:{free_port()}"], folder) as said:
            _until_serving(said)
            yield what, time.perf_counter() - began
    port = free_port()
    began = time.perf_counter()
    with _running([*serve, "--listen", f"127.0.0.1:{port}"], folder):
        _produce(f"127.0.0.1:{port}")
        yield "`holdfast serve`: the first ack", time.perf_counter() - began
    ran = subprocess.run([sys.executable, "-c", _FIXTURE], check=True, capture_output=True, text=True)
    first, second = map(float, ran.stdout.split())
    yield "`running_broker()` of `holdfast.testing`, the first", first
    yield "`running_broker()` of `holdfast.testing`, each further one", second
    for what, command in (
        ("`import holdfast.cli`", [sys.executable, "-c", "import holdfast.cli"]),
        ("a Python that does nothing", [sys.executable, "-c", ""]),
        ("`holdfast --help`", [str(BIN / "holdfast"), "--help"]),
    ):
        began = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        yield what, time.perf_counter() - began


def demo(folder: Path) -> float:
    began = time.perf_counter()
    subprocess.run([str(BIN / "holdfast"), "demo"], check=True, cwd=folder, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def sizes(folder: Path) -> Iterator[tuple[str, float]]:
    """Of what is built, and of environments with nothing else in them."""
    made = folder / "dist"
    _uv("build", "-q", "--no-build-isolation", "--python", sys.executable, "-o", made, CHECKOUT)
    [wheel], [source] = made.glob("*.whl"), made.glob("*.tar.gz")
    yield "the wheel", wheel.stat().st_size / 2**20
    yield "the source archive", source.stat().st_size / 2**20
    for extra in ("", "[arrow]", "[spark]"):
        there = folder / f"venv{extra.strip('[]')}"
        _uv("venv", "-q", "--python", sys.executable, there)
        _uv("pip", "install", "-q", "--python", there / "bin" / "python", f"{wheel}{extra}")
        files = [each for each in there.rglob("*") if each.is_file() and not each.is_symlink()]
        yield f"installed: `holdfast{extra}`", sum(each.stat().st_size for each in files if _counts(each)) / 2**20


def _counts(file: Path) -> bool:
    return file.suffix != ".pyc"


def _uv(*arguments: str | Path) -> None:
    subprocess.run([BIN / "uv", *arguments], check=True, stdout=subprocess.DEVNULL)


def _produce(bootstrap: str) -> None:
    """One record, asked for again every 5 ms until it is acknowledged."""
    limit, batch = time.perf_counter() + _GIVE_UP_S, bytes(build([Record(None, b"one", time.time_ns() // 10**6)]))
    while True:
        try:
            with Client(bootstrap, patience_s=0.0) as client:
                client.topic("first", create=True)
                client.produce({("first", 0): [batch]})
                return
        except (HoldfastError, OSError):
            if time.perf_counter() > limit:
                raise
            time.sleep(0.005)


@contextmanager
def _running(command: Sequence[str], folder: Path) -> Iterator[Iterator[str]]:
    """A process of its own, with what it says; it is stopped, with all that it has started, at the end."""
    alone = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS", "HOLDFAST"))}
    process = subprocess.Popen(
        command, cwd=folder, env=alone, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, process_group=0
    )
    assert process.stdout is not None
    try:
        yield process.stdout
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.communicate(timeout=_GIVE_UP_S)


def _until_serving(said: Iterator[str]) -> None:
    heard = []
    for line in said:
        heard.append(line)
        if "serving" in line and "Kafka clients at" in line:
            return
    raise RuntimeError(f"it ended before it served: {''.join(heard[-5:])}")
