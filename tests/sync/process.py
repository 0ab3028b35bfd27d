"""`holdfast sync` as a child process: started, killed, started again."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from typing import Any

from holdfast.sync.run import Sync


class SyncProcess:
    """One sync. Its figures come as lines of JSON, which are kept."""

    def __init__(self, *arguments: str) -> None:
        command = [sys.executable, "-m", "holdfast.cli", "sync", *arguments, "--json"]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.said: list[str] = []
        self.looks: list[dict[str, Any]] = []
        self._news = threading.Condition()
        self._threads = [threading.Thread(target=each, daemon=True) for each in (self._listen, self._read)]
        for each in self._threads:
            each.start()

    def _listen(self) -> None:
        assert self._process.stderr is not None
        with self._process.stderr as lines:
            self.said += lines

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                with self._news:
                    self.looks.append(json.loads(line))
                    self._news.notify_all()
        with self._news:
            self._news.notify_all()

    def wait_for(self, what: str, least: int, timeout_s: float = 60) -> None:
        """Until a figure of any direction is at least so large."""
        with self._news:
            reached = self._news.wait_for(
                lambda: any(each[what] >= least for each in self.looks) or not self.is_running, timeout_s
            )
        assert reached, f"{what} did not reach {least}: {self.said} {self.looks[-2:]}"
        assert any(each[what] >= least for each in self.looks), f"it ended: {self.said}"

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def kill(self) -> None:
        """SIGKILL, in the middle of whatever it does."""
        self._process.kill()
        self.wait()

    def stop(self) -> int:
        """A clean stop; its exit code."""
        self._process.send_signal(signal.SIGTERM)
        return self.wait()

    def wait(self, timeout_s: float = 300) -> int:
        """Wait for its end; its exit code."""
        code = self._process.wait(timeout_s)
        for each in self._threads:
            each.join()
        return code


class Live(threading.Thread):
    """A sync in this process, in a thread of its own."""

    def __init__(self, sync: Sync) -> None:
        super().__init__(daemon=True)
        self._sync = sync
        self.failure: BaseException | None = None
        self.start()

    def run(self) -> None:
        try:
            self._sync.run()
        except BaseException as failure:
            self.failure = failure

    def stop(self) -> None:
        """A clean stop; raises what it failed with."""
        self._sync.stop()
        self.join(60)
        assert not self.is_alive(), "it does not stop"
        if self.failure is not None:
            raise self.failure
