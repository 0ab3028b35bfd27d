"""Apache Kafka as a process that is killed and started again on the same port and data, as `RunningBroker` is."""

from __future__ import annotations

import socket
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from holdfast.testing import free_port

JARS = Path(__file__).parents[3] / ".tools" / "java" / "jars"
_START_S = 90.0
_JAVA = ("java", "-cp", f"{JARS}/*", "-Dorg.slf4j.simpleLogger.defaultLogLevel=error")
_CLUSTER = "MkU3OEVBNTcwNTJENDM2Qg"


class ApacheKafka:
    """One node, broker and controller, with its default settings."""

    def __init__(self, folder: Path, advertise: str = "") -> None:
        self._folder = folder
        self._properties = folder / "server.properties"
        self._process: subprocess.Popen[bytes] | None = None
        self.port = free_port()
        self._advertise = advertise or self.bootstrap  # Where clients are told to go.

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        self._folder.mkdir(parents=True, exist_ok=True)
        controller = free_port()
        lines = [
            "process.roles=broker,controller",
            "node.id=0",
            f"listeners=PLAINTEXT://{self.bootstrap},CONTROLLER://127.0.0.1:{controller}",
            f"advertised.listeners=PLAINTEXT://{self._advertise}",
            "controller.listener.names=CONTROLLER",
            f"controller.quorum.voters=0@127.0.0.1:{controller}",
            f"log.dirs={self._folder / 'data'}",
            "offsets.topic.replication.factor=1",
            "transaction.state.log.replication.factor=1",
            "transaction.state.log.min.isr=1",
            "group.initial.rebalance.delay.ms=0",
        ]
        self._properties.write_text("\n".join(lines) + "\n")
        form = [*_JAVA, "kafka.tools.StorageTool", "format", "-t", _CLUSTER, "-c", str(self._properties)]
        subprocess.run(form, check=True, capture_output=True)
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()

    def start(self) -> None:
        with (self._folder / "said").open("ab") as said:
            command = [*_JAVA, "-Xmx512m", "kafka.Kafka", str(self._properties)]
            self._process = subprocess.Popen(command, stdout=said, stderr=said)
        deadline = time.monotonic() + _START_S
        while time.monotonic() < deadline and self._process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                time.sleep(0.1)
        raise RuntimeError(f"Kafka did not start, see {self._folder / 'said'}")

    def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait()
