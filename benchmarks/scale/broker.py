"""One broker of ours that is started, asked, killed and started again in the same folder."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.broker.looking import cpu_seconds
from benchmarks.machine import CHECKOUT
from tests.broker.wire import Wire

from holdfast.testing import free_port

_START_SECONDS_MAX = 120
_MIB = 1 << 20


def _environment() -> dict[str, str]:
    """This checkout's code under whichever Python, compiled once."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return kept | {"PYTHONPATH": str(CHECKOUT / "src")}


class Broker:
    """A process. CPU and memory are its own."""

    def __init__(self, folder: Path, *settings: str, python: str = sys.executable) -> None:
        self._folder = folder
        self._settings = settings
        self._python = python
        self.start()

    def start(self) -> float:
        """Start it again; the CPU seconds until it takes connections."""
        self.port = free_port()
        command = [self._python, "-m", "holdfast", "serve", "--data", str(self._folder / "data")]
        command += [word for each in self._settings for word in ("--set", each)]
        self._folder.mkdir(parents=True, exist_ok=True)
        with (self._folder / "said").open("a") as said:
            self._process = subprocess.Popen(
                [*command, "--listen", f"127.0.0.1:{self.port}"],
                stdout=said,
                stderr=said,
                env=_environment(),
            )
        deadline = time.monotonic() + _START_SECONDS_MAX
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return self.cpu_s
            except OSError:
                if time.monotonic() > deadline or self._process.poll() is not None:
                    raise RuntimeError(f"the broker does not start: see {self._folder / 'said'}") from None
                time.sleep(0.005)

    @property
    def cpu_s(self) -> float:
        return cpu_seconds(self._process.pid)

    @property
    def memory_mib(self) -> float:
        pages = int(Path(f"/proc/{self._process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / _MIB

    def cpu_us(self, calls: int, call: Callable[[int], object]) -> float:
        """Microseconds of the broker's CPU for one of so many calls."""
        before = self.cpu_s
        for number in range(calls):
            call(number)
        return (self.cpu_s - before) / calls * 1e6

    def wire(self) -> Wire:
        return Wire(self.port)

    def kill(self) -> None:
        """Also one that has ended."""
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        """So that all it has is in the store."""
        self._process.send_signal(signal.SIGTERM)
        self._process.wait(60)

    def __enter__(self) -> Broker:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
