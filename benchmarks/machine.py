"""What the figures were taken on: no names of hosts, only what explains a figure."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import subprocess
import time
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
MEMORY_FILE_SYSTEMS = {"tmpfs", "ramfs"}


def describe(directory: Path) -> dict[str, str]:
    memory_kib = int(_first_line("/proc/meminfo").split()[1])
    return {
        "cores": str(os.cpu_count()),
        "memory": f"{memory_kib / (1 << 20):.0f} GiB",
        "kernel": f"{platform.system()} {platform.release()}",
        "file system": file_system(directory),
    }


def versions(*packages: str) -> dict[str, str]:
    """Of Python, of these packages, and of the checkout."""
    found = {name: importlib.metadata.version(name) for name in ("holdfast", *packages)}
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=CHECKOUT, capture_output=True, text=True)
    return {"python": platform.python_version(), **found, "commit": commit.stdout.strip() or "unknown"}


def file_system(directory: Path) -> str:
    """The type of the file system that holds `directory`: that of its longest mount point."""
    best = ("", "unknown")
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, point, kind, *_ = line.split()
        if directory.resolve().is_relative_to(point) and len(point) > len(best[0]):
            best = (point, kind)
    return best[1]


def busy_percent(seconds: float = 0.1) -> float:
    """How much of all cores others use while we do nothing: what spoils a run most."""
    before = _cpu_times()
    time.sleep(seconds)
    total, idle = (after - was for after, was in zip(_cpu_times(), before, strict=True))
    return round(100 * (1 - idle / total), 1) if total else 0.0


def around() -> dict[str, float]:
    """How busy the machine is before a measurement, to be kept with it."""
    return {"load": round(os.getloadavg()[0], 2), "busy_percent": busy_percent()}


def _cpu_times() -> tuple[int, int]:
    """Ticks of all cores since the machine started: all, and idle ones."""
    ticks = [int(number) for number in _first_line("/proc/stat").split()[1:]]
    return sum(ticks), ticks[3] + ticks[4]


def _first_line(path: str) -> str:
    with open(path) as file:
        return file.readline()
