"""What security costs: TLS beside Apache Kafka with TLS, and the authorizer beside a broker without one."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.broker import clients
from benchmarks.broker.brokers import Running, ours, run
from benchmarks.broker.plan import Measured, Workload
from tests.support.apache import LIKE_ITS_SCRIPT, ApacheKafka

from holdfast.testing import free_port
from holdfast.testing.certificates import AuthorityFolder

IDLE = 1000
_AUTHORIZER = ("authorizer.class.name=standard", "super.users=User:nobody", "allow.everyone.if.no.acl.found=true")


@dataclass(frozen=True)
class RunningTls(Running):
    """A broker whose clients speak TLS; `trust` is the certificate that signed its own."""

    trust: Path


@contextmanager
def _certificates() -> Iterator[tuple[Path, Path]]:
    """A key with its certificate, and who signed it."""
    with tempfile.TemporaryDirectory() as folder:
        authority = AuthorityFolder(Path(folder))
        yield authority.signed("broker"), authority.certificate


@contextmanager
def ours_tls(folder: Path) -> Iterator[RunningTls]:
    port = free_port()
    with _certificates() as (key, trust):
        settings = [f"listeners=SSL://127.0.0.1:{port}", f"ssl.keystore.location={key}"]
        command = [str(Path(sys.executable).parent / "holdfast"), "serve", "--data", str(folder)]
        command += [word for each in settings for word in ("--set", each)]
        for running in run("holdfast", command, port, folder):
            yield RunningTls(running.name, running.port, running.pid, trust)


@contextmanager
def kafka_tls(folder: Path) -> Iterator[RunningTls]:
    port = free_port()
    with _certificates() as (key, trust):
        broker = ApacheKafka(folder, machine=LIKE_ITS_SCRIPT, settings=())
        inner = f"127.0.0.1:{broker.port}"
        broker.more = (
            f"listeners=PLAINTEXT://{inner},CONTROLLER://127.0.0.1:{broker.controller_port},SSL://127.0.0.1:{port}",
            f"advertised.listeners=PLAINTEXT://{inner},SSL://127.0.0.1:{port}",
            "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SSL:SSL",
            "ssl.keystore.type=PEM",
            f"ssl.keystore.location={key}",
        )
        try:
            with broker:
                yield RunningTls("kafka", port, broker.pid, trust)
                broker.stop()
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def tls_workloads(scale: float) -> list[Workload]:
    def workload(name: str, kind: str, count: int, *more: int) -> Workload:
        def measure(broker: Running) -> Measured:
            assert isinstance(broker, RunningTls)
            return clients.tls(broker.address, broker.pid, str(broker.trust), kind, count, *more)

        megabytes = count * 1024 / 1e6 if kind in ("produce", "consume") else 0
        return Workload(name, measure, megabytes)

    large, small = int(200_000 * scale), int(8_000 * scale)
    return [
        workload("TLS: produce 1 KiB, large batches", "produce", large),
        workload("TLS: consume 1 KiB", "consume", large),
        workload("TLS: one record per request, 1 producer", "single", small // 4, 1),
        workload("TLS: one record per request, 8 producers", "single", small, 8),
        workload(f"TLS: {IDLE:,} idle connections", "idle", IDLE),
    ]


def rights_workloads(turns: int) -> list[Workload]:
    """Two brokers of ours, one with an authorizer, which take turns: whatever the machine does, it does to both."""

    def workload(name: str, size: int) -> Workload:
        def measure(broker: Running) -> Measured:
            with ExitStack() as stack:
                folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=Path(".tools"))))
                other = stack.enter_context(ours(folder / "data", *_AUTHORIZER))
                return clients.rights(broker.address, broker.pid, other.address, other.pid, size, 0.1, turns)

        return Workload(name, measure, 0)

    return [workload("one record of 100 B a request", 100), workload("batches of 16 KiB", 16 << 10)]
