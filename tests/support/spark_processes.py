"""Spark in processes of its own: a Connect server, and a standalone cluster of a master and workers."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import pyspark
from tests.spark.sink_proxy import kill_session, members
from tests.support.spark_session import settings

from holdfast.testing import free_port

HERE = "127.0.0.1"
_READY_S = 120.0
_SMALL = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Dspark.deploy.maxExecutorRetries=-1"  # Tests kill many.


class SparkProcess:
    """A class of Spark in a JVM. What it says goes to a file; all that it starts ends with it."""

    def __init__(self, folder: Path, name: str, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self.said = folder / f"{name}.log"
        folder.mkdir(parents=True, exist_ok=True)
        with self.said.open("ab") as said:
            self._process = subprocess.Popen(
                [*command],
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                env={**os.environ, "SPARK_LOCAL_IP": HERE, **environment},
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    def wait_for(self, port: int) -> None:
        """Until it answers at a port."""
        end = time.monotonic() + _READY_S
        while time.monotonic() < end:
            if self._process.poll() is not None:
                break
            try:
                socket.create_connection((HERE, port), timeout=1).close()
                return
            except OSError:
                time.sleep(0.1)
        raise AssertionError(f"Spark did not start:\n{self.said.read_text()[-3000:]}")

    def kill(self) -> None:
        """Now, with all that it has started: Python workers and executors are of its session."""
        kill_session(self._process.pid)
        self._process.wait()

    def executors(self) -> list[int]:
        """The executors that it has started, if it is a worker."""
        return [pid for pid in members(self._process.pid) if b"CoarseGrainedExecutorBackend" in _command(pid)]


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def home() -> Path:
    return Path(pyspark.__file__).parent


class ConnectServer:
    """Spark Connect on two cores of this machine."""

    def __init__(self, folder: Path, conf: Mapping[str, str] | None = None) -> None:
        self.port = free_port()
        given = {
            **settings(folder, jars=False),
            "spark.connect.grpc.binding.address": HERE,
            "spark.connect.grpc.binding.port": str(self.port),
            **(conf or {}),
        }
        options = [part for name, value in given.items() for part in ("--conf", f"{name}={value}")]
        command = [str(home() / "bin" / "spark-submit"), "--master", "local[2]", *options]
        command += ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal"]
        python = {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}
        self._process = SparkProcess(folder, "connect", command, python)

    def session(self) -> Any:
        """A session of a client, which knows the server by its address alone."""
        from pyspark.sql.connect.session import SparkSession

        return SparkSession.builder.remote(f"sc://{HERE}:{self.port}").getOrCreate()

    def __enter__(self) -> ConnectServer:
        self._process.wait_for(self.port)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()


class Standalone:
    """A cluster of a master and two workers, each a process; their executors are of their process groups."""

    def __init__(self, folder: Path, *, workers: int = 2, cores: int = 1) -> None:
        self._folder = folder
        self._cores = cores
        self.port = free_port()
        self.master = self._start("master", "master.Master", "--port", str(self.port))
        self.master.wait_for(self.port)
        self.workers = [self.start_worker() for _ in range(workers)]

    @property
    def url(self) -> str:
        return f"spark://{HERE}:{self.port}"

    def start_worker(self) -> SparkProcess:
        limits = ["--cores", str(self._cores), "--memory", "1g", "--work-dir", str(self._folder / "work")]
        return self._start(f"worker-{free_port()}", "worker.Worker", *limits, self.url)

    def _start(self, name: str, what: str, *options: str) -> SparkProcess:
        command = [str(home() / "bin" / "spark-class"), f"org.apache.spark.deploy.{what}", "--host", HERE]
        small = {"SPARK_DAEMON_JAVA_OPTS": _SMALL, "SPARK_DAEMON_MEMORY": "256m"}
        return SparkProcess(self._folder, name, [*command, "--webui-port", "0", *options], small)

    def __enter__(self) -> Standalone:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for each in (*self.workers, self.master):
            each.kill()
