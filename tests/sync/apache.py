"""Apache Kafka as a process: one node, broker and controller, started in a new directory on a free port."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from pathlib import Path
from typing import Self

from holdfast.testing import free_port

JARS = Path(__file__).parents[2] / ".tools" / "java" / "jars"
_START_S = 120.0
_CLUSTER = "MkU3OEVBNTcwNTJENDM2Qg"
_JAVA = (
    "java",
    "-XX:TieredStopAtLevel=1",  # A test ends before the second compiler would pay.
    "-XX:+UseSerialGC",
    "-Xmx256m",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=error",
    "-cp",
    f"{JARS}/*",
)


def missing() -> str | None:
    """Why it cannot be started, or None."""
    for needed in ("java", "mvn"):
        if shutil.which(needed) is None:
            return f"{needed} is missing"
    return None if any(JARS.glob("kafka_2.13-*.jar")) else "no Apache Kafka: run .ci/install-java-clients"


class ApacheKafka:
    """Its settings are the defaults, but for what one node needs."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._properties = folder / "server.properties"
        self._process: subprocess.Popen[bytes] | None = None
        self._port, self._controller_port = free_port(), free_port()

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self._port}"

    def __enter__(self) -> Self:
        self._folder.mkdir(parents=True, exist_ok=True)
        self._properties.write_text("\n".join(self._settings()) + "\n")
        form = [*_JAVA, "kafka.tools.StorageTool", "format", "-t", _CLUSTER, "-c", str(self._properties)]
        subprocess.run(form, check=True, capture_output=True)
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def _settings(self) -> list[str]:
        return [
            "process.roles=broker,controller",
            "node.id=0",
            f"listeners=PLAINTEXT://{self.bootstrap},CONTROLLER://127.0.0.1:{self._controller_port}",
            f"advertised.listeners=PLAINTEXT://{self.bootstrap}",
            "controller.listener.names=CONTROLLER",
            f"controller.quorum.voters=0@127.0.0.1:{self._controller_port}",
            f"log.dirs={self._folder / 'data'}",
            "offsets.topic.replication.factor=1",
            "offsets.topic.num.partitions=1",
            "transaction.state.log.replication.factor=1",
            "transaction.state.log.min.isr=1",
            "transaction.state.log.num.partitions=1",
            "group.initial.rebalance.delay.ms=0",
            "log.retention.ms=-1",  # Records of tests have old timestamps.
        ]

    def start(self) -> None:
        with (self._folder / "said").open("ab") as said:
            self._process = subprocess.Popen([*_JAVA, "kafka.Kafka", str(self._properties)], stdout=said, stderr=said)
        deadline = time.monotonic() + _START_S
        while time.monotonic() < deadline and self._process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", self._port), 1).close()
                return
            except OSError:
                time.sleep(0.1)
        raise RuntimeError(f"Apache Kafka did not start: {(self._folder / 'said').read_text()[-500:]}")

    def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait()
