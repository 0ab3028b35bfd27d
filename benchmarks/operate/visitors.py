"""What visitors of the console cost: a broker with many partitions, idle and while it is written to."""

from __future__ import annotations

import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.operate.load import create
from benchmarks.operate.measure import MIB, Figures, Scale, Tell, fresh_folder
from benchmarks.operate.process import Measured

PAGES = ("/", "/topics", "/topics/many", "/topics/many/0", "/wal")
VISITORS = 16


def looked_at(directory: Path, scale: Scale, tell: Tell) -> list[Figures]:
    """Nobody, one visitor on each page, and as many as there may be while the produce benchmark runs."""
    measured = Measured(fresh_folder(directory / "console"), ("serve.console_listen=127.0.0.1:0",))
    measured.start()
    create(measured.broker.bootstrap, "many", scale.partitions)
    measured.produce("many", scale.partitions, scale.loaded_size // 8)
    tell("looking at it")
    alone = _used(measured, scale)
    rows: list[Figures] = [{"what": "idle", "visitors": 0, **alone}]
    for path in PAGES:
        with _visited(_address(measured), [path]):
            used = _used(measured, scale)
        rows.append({"what": f"idle, {path}", "visitors": 1, **used, "core_percent": _more(used, alone)})
    tell("writing to it while it is looked at")
    for paths in ([], [PAGES[number % len(PAGES)] for number in range(VISITORS)]):
        with _visited(_address(measured), paths):
            seconds = measured.produce("many", scale.partitions, scale.loaded_size)
        speed = {"mib_per_s": scale.loaded_size / MIB / seconds, "memory_mib": measured.memory_mib()}
        rows.append({"what": "loaded", "visitors": len(paths), **speed})
    measured.broker.stop(600)
    return rows


def _used(measured: Measured, scale: Scale) -> Figures:
    cpu = measured.cpu_seconds()
    time.sleep(scale.idle_s)
    used = measured.cpu_seconds() - cpu
    return {"cpu_s_per_minute": used * 60 / scale.idle_s, "memory_mib": measured.memory_mib()}


def _more(used: Figures, alone: Figures) -> float:
    return (float(str(used["cpu_s_per_minute"])) - float(str(alone["cpu_s_per_minute"]))) / 60 * 100


def _address(measured: Measured) -> str:
    [said] = [line for line in measured.broker.said if "console at " in line][-1:]
    return said.rpartition(" ")[2].rstrip("/")


@contextmanager
def _visited(address: str, paths: list[str]) -> Iterator[None]:
    """Somebody follows each of these pages."""
    stop = threading.Event()

    def follow(path: str) -> None:
        asked = urllib.request.Request(address + path, headers={"Accept": "text/event-stream"})
        with urllib.request.urlopen(asked, timeout=60) as stream:
            while not stop.is_set() and stream.readline():
                pass

    visitors = [threading.Thread(target=follow, args=(path,), daemon=True) for path in paths]
    for each in visitors:
        each.start()
    time.sleep(2.0 if paths else 0.0)
    try:
        yield
    finally:
        stop.set()
        for each in visitors:
            each.join(20)
