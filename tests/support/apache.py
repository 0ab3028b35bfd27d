"""Apache Kafka as a process: one node, broker and controller, started in a new directory on a free port.

Tests, proofs and benchmarks start it here, each with the settings that it needs beside those of one node.
"""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from holdfast.testing import free_port

JARS = Path(__file__).parents[2] / ".tools" / "java" / "jars"
NEEDED = "run .ci/install-java-clients, which needs a JDK and Maven"
SMALL = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx256m")  # A test ends before the second compiler would pay.
LIKE_ITS_SCRIPT = ("-Xmx1G", "-Xms1G", "-XX:+UseG1GC")  # As Kafka's own start script has it.
FOR_TESTS = (
    "offsets.topic.num.partitions=1",
    "transaction.state.log.num.partitions=1",
    "log.retention.ms=-1",  # Records of tests have old timestamps.
)
_START_S = 120.0
_STOP_S = 20.0
_CLUSTER = "MkU3OEVBNTcwNTJENDM2Qg"


def missing() -> str | None:
    """Why it cannot be started, or None."""
    if shutil.which("java") is None:
        return "java is missing"
    return None if any(JARS.glob("kafka_2.13-*.jar")) else f"no Apache Kafka: {NEEDED}"


class ApacheKafka:
    """Its settings are the defaults, but for what one node needs and what is given. It is killed at the end."""

    def __init__(
        self, folder: Path, *, settings: Sequence[str] = FOR_TESTS, machine: Sequence[str] = SMALL, advertise: str = ""
    ) -> None:
        self._folder = folder
        self._properties = folder / "server.properties"
        self.more = tuple(settings)  # What counts last.
        self._java = ("java", *machine, "-Dorg.slf4j.simpleLogger.defaultLogLevel=error", "-cp", f"{JARS}/*")
        self._process: subprocess.Popen[bytes] | None = None
        self.port, self.controller_port = free_port(), free_port()
        self._advertise = advertise or self.bootstrap  # Where clients are told to go.

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def __enter__(self) -> Self:
        self._folder.mkdir(parents=True, exist_ok=True)
        self._properties.write_text("\n".join([*self._settings(), *self.more]) + "\n")
        form = [*self._java, "kafka.tools.StorageTool", "format", "-t", _CLUSTER, "-c", str(self._properties)]
        subprocess.run(form, check=True, capture_output=True)
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def _settings(self) -> list[str]:
        return [
            "process.roles=broker,controller",
            "node.id=0",
            f"listeners=PLAINTEXT://{self.bootstrap},CONTROLLER://127.0.0.1:{self.controller_port}",
            f"advertised.listeners=PLAINTEXT://{self._advertise}",
            "controller.listener.names=CONTROLLER",
            f"controller.quorum.voters=0@127.0.0.1:{self.controller_port}",
            f"log.dirs={self._folder / 'data'}",
            "offsets.topic.replication.factor=1",
            "transaction.state.log.replication.factor=1",
            "transaction.state.log.min.isr=1",
            "group.initial.rebalance.delay.ms=0",
        ]

    def start(self) -> None:
        """Start it, on the port and with the data that it had."""
        command = [*self._java, "kafka.Kafka", str(self._properties)]
        with (self._folder / "said").open("ab") as said:
            self._process = subprocess.Popen(command, stdout=said, stderr=said)
        deadline = time.monotonic() + _START_S
        while time.monotonic() < deadline and self._process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                time.sleep(0.1)
        self.kill()
        raise RuntimeError(f"Apache Kafka did not start: {(self._folder / 'said').read_text()[-500:]}")

    def stop(self) -> None:
        """Stop it cleanly; kill it when that takes too long."""
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait()
