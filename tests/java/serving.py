"""`holdfast serve` as a process, on a port that it keeps when it is started again."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from types import TracebackType

COMMAND = Path(sys.executable).parent / "holdfast"
SETTINGS = ("group.initial.rebalance.delay.ms=0", "group.min.session.timeout.ms=1000")
_START_SECONDS_MAX = 30
_STOP_SECONDS_MAX = 15


class Serving:
    """A broker for as long as a `with` block lasts. `address` is where it serves Kafka clients."""

    def __init__(self, data: Path, *settings: str) -> None:
        self._data = data
        self._settings = [part for each in (*SETTINGS, *settings) for part in ("--set", each)]
        self.address = "127.0.0.1:0"
        self.said: list[str] = []

    def start(self) -> None:
        """Start, and wait until it has said that it serves."""
        self._ready = threading.Event()
        self._process = subprocess.Popen(
            [COMMAND, "serve", "--data", self._data, "--listen", self.address, *self._settings],
            env={name: value for name, value in os.environ.items() if not name.startswith("HOLDFAST_")},
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()
        if not self._ready.wait(_START_SECONDS_MAX) or self._process.poll() is not None:
            self.kill()
            raise AssertionError("holdfast serve did not start:\n" + "".join(self.said))

    def _listen(self) -> None:
        """Take what it says as it comes, or it would wait for a reader one day."""
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self.said.append(line)
            if line.startswith("holdfast: serving"):
                self.address = line.split()[-1]
                self._ready.set()
        self._ready.set()

    def stop(self) -> int:
        """Stop cleanly; the answer is the exit code."""
        self._process.terminate()
        try:
            code = self._process.wait(_STOP_SECONDS_MAX)
        finally:
            self.kill()
        return code

    def kill(self) -> None:
        """Stop at once."""
        self._process.kill()
        self._process.wait()
        self._listener.join()

    def __enter__(self) -> Serving:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()
