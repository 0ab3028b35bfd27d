"""What copies: `holdfast sync`, and MirrorMaker 2. Each is one process that copies one topic from A to B."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.broker.brokers import Running
from benchmarks.machine import CHECKOUT

OURS, PEER = "holdfast sync", "MirrorMaker 2"
JARS = CHECKOUT / ".tools" / "mirror" / "jars"
_STOP_S = 60


def peer_is_there() -> bool:
    return any(JARS.glob("connect-mirror-*.jar"))


@contextmanager
def copier(name: str, a: Running, b: Running, topic: str, folder: Path) -> Iterator[subprocess.Popen[str]]:
    """It runs, and is stopped at the end."""
    command = _ours(a, b, topic) if name == OURS else _peers(a, b, topic, folder)
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    threading.Thread(target=_read_on, args=(process,), daemon=True).start()
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _read_on(process: subprocess.Popen[str]) -> None:
    assert process.stdout is not None
    for _ in process.stdout:
        pass


def _ours(a: Running, b: Running, topic: str) -> list[str]:
    return [sys.executable, "-m", "holdfast.cli", "sync", a.address, b.address, "--topics", topic, "--json"]


def _peers(a: Running, b: Running, topic: str, folder: Path) -> list[str]:
    """Its defaults, but for names that stay as they are, four tasks (ours has four threads), and one broker each."""
    single = ("replication", "checkpoints.topic.replication", "heartbeats.topic.replication")
    single += ("offset-syncs.topic.replication", "offset.storage.replication", "status.storage.replication")
    single += ("config.storage.replication",)
    settings = {
        "clusters": "a,b",
        "a.bootstrap.servers": a.address,
        "b.bootstrap.servers": b.address,
        "a->b.enabled": "true",
        "a->b.topics": topic,
        "b->a.enabled": "false",
        "tasks.max": "4",
        "replication.policy.class": "org.apache.kafka.connect.mirror.IdentityReplicationPolicy",
        "refresh.topics.interval.seconds": "5",
        **{f"{each}.factor": "1" for each in single},
    }
    file = folder / f"{topic}.properties"
    file.write_text("\n".join(f"{name}={value}" for name, value in settings.items()) + "\n")
    quiet = "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"
    return [
        "java",
        "-Xms256M",
        "-Xmx2G",
        quiet,
        "-cp",
        f"{JARS}/*",
        "org.apache.kafka.connect.mirror.MirrorMaker",
        str(file),
    ]
