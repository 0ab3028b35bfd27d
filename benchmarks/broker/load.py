"""The load generator (load.c): built once by `cc`, and run beside a broker."""

from __future__ import annotations

import shutil
import subprocess
import time
from pathlib import Path

from benchmarks.broker.brokers import Running
from benchmarks.broker.latency import produce_frame
from benchmarks.broker.looking import cpu_seconds
from benchmarks.machine import CHECKOUT

from holdfast.record.build import build as build_batch
from holdfast.record.records import Record

_SOURCE = Path(__file__).with_name("load.c")
_TOOL = CHECKOUT / ".tools" / "load" / "load"
_WARM_S = 2.0  # Before the figures: a JVM compiles meanwhile.
_LEADER_S_MAX = 20.0


def build() -> Path | str:
    """The tool, or in one sentence why there is none."""
    if _TOOL.exists() and _TOOL.stat().st_mtime > _SOURCE.stat().st_mtime:
        return _TOOL
    if shutil.which("cc") is None:
        return "the load generator is not built because cc is missing"
    _TOOL.parent.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(["cc", "-O2", "-o", str(_TOOL), str(_SOURCE)], capture_output=True, text=True)
    return f"the load generator could not be built: {done.stderr.strip()[-200:]}" if done.returncode else _TOOL


def requests(
    tool: Path, broker: Running, topic: str, size: int, count: int, connections: int, under_way: int, seconds: float
) -> dict[str, float]:
    """Requests of `count` records of `size` bytes each, acks=all; the CPU is that of all threads of the broker."""
    stamp = int(time.time() * 1000)
    frame = produce_frame(topic, bytes(build_batch([Record(None, bytes(size), stamp)] * count)), 0)
    error_at = 4 + 4 + 4 + 2 + len(topic.encode()) + 4 + 4  # Behind size, id, topics, name, partitions and index.
    command = [str(tool), *map(str, (broker.port, connections, under_way))]
    _warm([*command, str(min(_WARM_S, seconds)), str(error_at)], frame)
    used = cpu_seconds(broker.pid)
    found = _run([*command, str(seconds), str(error_at)], frame)
    found["cpu_us_per_request"] = (cpu_seconds(broker.pid) - used) / found["requests"] * 1e6
    return found


def _warm(command: list[str], frame: bytes) -> None:
    """Kafka has no leader yet for a topic that was just made: it is asked again."""
    deadline = time.monotonic() + _LEADER_S_MAX
    while True:
        try:
            _run(command, frame)
            return
        except RuntimeError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)


def _run(command: list[str], frame: bytes) -> dict[str, float]:
    done = subprocess.run(command, input=frame, capture_output=True, timeout=120)
    if done.returncode:
        raise RuntimeError(done.stderr.decode()[-400:])
    return {name: float(value) for name, value in (word.split("=") for word in done.stdout.decode().split())}
