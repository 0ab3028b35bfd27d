"""The brokers that are compared, each as a process: ours, and Apache Kafka as it is and with an fsync for every ack."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.apache import JARS as JARS
from tests.support.apache import LIKE_ITS_SCRIPT, NEEDED, ApacheKafka, missing

from holdfast.testing import free_port

KAFKA_VERSION = "4.3.1"
NO_KAFKA = f"Apache Kafka is not there: {NEEDED}"
_START_SECONDS_MAX = 60
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Usage:
    """What a process has used so far."""

    cpu_seconds: float
    memory_mib: float  # Resident.


@dataclass(frozen=True)
class Running:
    """A broker that takes connections."""

    name: str
    port: int
    pid: int

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def usage(self) -> Usage:
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        return Usage((int(fields[11]) + int(fields[12])) / _TICKS, pages * os.sysconf("SC_PAGE_SIZE") / (1 << 20))


def kafka_is_there() -> bool:
    return missing() is None


@contextmanager
def ours(folder: Path, *settings: str) -> Iterator[Running]:
    """`holdfast serve`, with its defaults where nothing else is set: an fsync before every ack."""
    port = free_port()
    command = [str(Path(sys.executable).parent / "holdfast"), "serve", "--data", str(folder)]
    command += [word for each in settings for word in ("--set", each)]
    yield from run("holdfast", [*command, "--listen", f"127.0.0.1:{port}"], port, folder)


@contextmanager
def profiled(folder: Path) -> Iterator[Running]:
    """Ours under Python's profiler; what it found is in `folder / "said"` after the end, if `folder` is kept."""
    port = free_port()
    command = [sys.executable, str(Path(__file__).with_name("profiled_serve.py")), str(folder)]
    yield from run("holdfast", [*command, f"127.0.0.1:{port}"], port, folder, keep=True)


@contextmanager
def kafka(folder: Path, *, fsync: bool) -> Iterator[Running]:
    """Apache Kafka as one node with its default settings; with `fsync`, a flush of the log after every append."""
    settings = ("log.flush.interval.messages=1",) if fsync else ()
    broker = ApacheKafka(folder, settings=settings, machine=LIKE_ITS_SCRIPT)
    try:
        with broker:
            yield Running("kafka + fsync" if fsync else "kafka", broker.port, broker.pid)
            broker.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def run(name: str, command: list[str], port: int, folder: Path, *, keep: bool = False) -> Iterator[Running]:
    """A broker of ours, from its start to its end."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "said").open("w") as said:
        process = subprocess.Popen(command, stdout=said, stderr=said)
    try:
        _wait_for(port, process, folder / "said")
        yield Running(name, port, process.pid)
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)


def _wait_for(port: int, process: subprocess.Popen[bytes], said: Path) -> None:
    deadline = time.monotonic() + _START_SECONDS_MAX
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with socket.create_connection(("127.0.0.1", port), 1):
                return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError(f"the broker did not start: {said.read_text()[-500:]}")
