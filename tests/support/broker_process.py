"""`holdfast serve` as a child process, for tests that need a real one: started, killed, stopped."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

COMMAND = Path(sys.executable).parent / "holdfast"
_READY = "Kafka clients at "


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class BrokerProcess:
    """One broker on one data directory. The same port each time, so that clients find it again."""

    def __init__(self, data: Path, *, port: int = 0, settings: Sequence[str] = (), options: Sequence[str] = ()) -> None:
        self._data = data
        self.port = port
        self._settings = settings
        self._options = options
        self._process: subprocess.Popen[str] | None = None
        self._reader: threading.Thread | None = None
        self.said: list[str] = []

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Start it, and wait until it says that it serves."""
        command = [str(COMMAND), "serve", "--data", str(self._data), "--listen", f"127.0.0.1:{self.port}"]
        for setting in self._settings:
            command += ["--set", setting]
        environment = {name: value for name, value in os.environ.items() if not name.startswith("HOLDFAST_")}
        self._process = subprocess.Popen(
            [*command, *self._options], env=environment, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
        )
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self.said.append(line.rstrip())
            if _READY in line:
                self.port = int(line.rstrip().rpartition(":")[2])
                break
        else:
            raise AssertionError(f"the broker did not start: {self.said[-5:]}")
        self._reader = threading.Thread(target=self._listen, args=(self._process,), daemon=True)
        self._reader.start()

    def _listen(self, process: subprocess.Popen[str]) -> None:
        """Take what it says, so that a full pipe never stops it."""
        assert process.stderr is not None
        for line in process.stderr:
            self.said.append(line.rstrip())
            del self.said[:-1000]

    def kill(self) -> None:
        """SIGKILL: no goodbye."""
        self.signal(signal.SIGKILL)
        self.wait()

    def stop(self, timeout: float = 20) -> int:
        """SIGTERM, and its exit code."""
        self.signal(signal.SIGTERM)
        return self.wait(timeout)

    def signal(self, which: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(which)

    def wait(self, timeout: float | None = None) -> int:
        assert self._process is not None
        code = self._process.wait(timeout)
        if self._reader is not None:
            self._reader.join(5)
        if self._process.stderr is not None:
            self._process.stderr.close()
        return code

    def __enter__(self) -> BrokerProcess:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None and self._process.poll() is None:
            self.kill()
