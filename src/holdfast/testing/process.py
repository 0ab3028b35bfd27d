"""`holdfast serve` as a child process: started, stopped, killed, started again on the same port and data."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from holdfast.errors import Unavailable
from holdfast.testing.ports import free_port

if TYPE_CHECKING:
    from holdfast.client import ClientSettings
    from holdfast.record.records import Record
    from holdfast.testing.template import ForkedProcess
    from holdfast.testing.topics import Written

_READY = "Kafka clients at "  # In lines of either form.
_START_S = 60.0  # A start takes half a second; a machine may be very busy.
_STOP_S = 20.0
_SAID_MAX = 1000  # Lines that are kept.


class BrokerDidNotStart(Unavailable):
    """The broker ended before it listened, or took too long. What it said last tells why."""

    def __init__(self, said: Sequence[str]) -> None:
        super().__init__("the broker did not start; it said last:\n" + "\n".join(said[-5:]))
        self.said = tuple(said)


class RunningBroker:
    """One broker on one data directory. It keeps its port when it is started again, so that clients find it."""

    def __init__(
        self,
        data: Path,
        *,
        port: int = 0,
        python: str | Path = sys.executable,
        environment: Mapping[str, str] | None = None,
        options: Sequence[str] = (),
        entry: Sequence[str] = ("-m", "holdfast.cli"),
        sets_listeners: bool = False,
        forks: bool = False,
    ) -> None:
        self.data = data
        self.port = port or free_port()
        self.said: list[str] = []
        self._python = str(python)  # Of the environment that Holdfast is installed in.
        self._environment = dict(environment or {})
        self._options = tuple(options)
        self._entry = tuple(entry)  # What Python runs as the command `holdfast`.
        self._listen_option = () if sets_listeners else ("--listen", self.bootstrap)  # Or its settings name `port`.
        self._forks = forks  # Out of a process that has loaded everything, where that can be had.
        self._process: subprocess.Popen[str] | ForkedProcess | None = None
        self._listener: threading.Thread | None = None
        self._said_enough = threading.Event()  # It listens, or has ended.
        self._listens = False

    @property
    def bootstrap(self) -> str:
        """What clients call `bootstrap.servers`."""
        return f"127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        return self._started().pid

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start it, and come back when it serves clients."""
        assert not self.is_running, "it is running already"
        arguments = ["serve", "--data", str(self.data), *self._listen_option, *self._options]
        own = {name: value for name, value in os.environ.items() if not name.startswith("HOLDFAST_")}
        self._said_enough.clear()
        self._listens = False
        process = self._process = self._spawn(
            arguments, {**own, "HOLDFAST_SERVE_ENDS_WITH_STDIN": "true", **self._environment}
        )
        self._listener = threading.Thread(target=self._listen, args=(process,), daemon=True)
        self._listener.start()
        self._said_enough.wait(_START_S)
        if not self._listens:
            self.close()
            raise BrokerDidNotStart(list(self.said))

    def _spawn(self, arguments: list[str], environment: dict[str, str]) -> subprocess.Popen[str] | ForkedProcess:
        """Its stdin is closed by the system when this process ends, in whatever way."""
        if self._forks:
            from holdfast.testing.template import TEMPLATE

            with contextlib.suppress(OSError):
                return TEMPLATE.start(arguments, environment)
        return subprocess.Popen(
            [self._python, *self._entry, *arguments],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",  # A library may say what strangers have sent.
        )

    def _listen(self, process: subprocess.Popen[str] | ForkedProcess) -> None:
        """Take what it says for as long as it lives, so that a full pipe never stops it."""
        assert process.stderr is not None
        with process.stderr as lines:
            for line in lines:
                self.said.append(line.rstrip())
                del self.said[:-_SAID_MAX]
                if not self._listens and _READY in line:
                    self._listens = True
                    self._said_enough.set()
        self._said_enough.set()

    def topic(self, name: str, *records: Written, partitions: int | None = None, **configs: object) -> str:
        """Make a topic with these records: values, pairs of key and value, or whole ones. Gives its name.

        It has as many partitions as the broker's `num_partitions` says, unless they are named. A config has its name
        with `_` for every dot: `cleanup_policy="compact"`.
        """
        from holdfast.testing.topics import make_topic

        make_topic(self.client_settings(), name, partitions, records, configs)
        return name

    def write(self, topic: str, *records: Written) -> None:
        """Add records to a topic that is there, and come back when they are acknowledged."""
        from holdfast.testing.topics import write

        write(self.client_settings(), topic, records)

    def read(self, topic: str) -> list[Record]:
        """All records of a topic, partition by partition: `key`, `value`, `headers`, `timestamp`, `offset`."""
        from holdfast.testing.topics import read

        return read(self.client_settings(), topic)

    def client_settings(self) -> ClientSettings:
        """How our own client comes in."""
        from holdfast.client import ClientSettings

        return ClientSettings.at(self.bootstrap)

    def kill(self) -> None:
        """SIGKILL, in the middle of whatever it does."""
        self.signal(signal.SIGKILL)
        self.wait()

    def stop(self, timeout: float = _STOP_S) -> int:
        """Stop it cleanly; its exit code."""
        self.signal(signal.SIGTERM)
        return self.wait(timeout)

    def restart(self) -> None:
        """Start it again, on the same port and data; one that still runs is stopped cleanly first."""
        if self.is_running:
            self.stop()
        self.start()

    def signal(self, which: signal.Signals) -> None:
        self._started().send_signal(which)

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end; its exit code."""
        process = self._started()
        code = process.wait(timeout)
        if process.stdin is not None:
            process.stdin.close()
        if self._listener is not None:
            self._listener.join()
        return code

    def close(self) -> None:
        """End it, however it is."""
        if self.is_running:
            self.kill()

    def _started(self) -> subprocess.Popen[str] | ForkedProcess:
        assert self._process is not None, "it was never started"
        return self._process

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None = None,
        error: BaseException | None = None,
        trace: TracebackType | None = None,
    ) -> None:
        self.close()
