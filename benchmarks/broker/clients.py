"""The clients that make the load: librdkafka's performance tool, Java's, and for single records our own small one."""

from __future__ import annotations

import re
import resource
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from benchmarks.broker.brokers import JARS, Running
from benchmarks.machine import CHECKOUT

_SECONDS_MAX = 180
_MANY_SECONDS_MAX = 600  # Kafka takes a minute to make 10,000 partitions.
_LATENCY = Path(__file__).with_name("latency.py")
_TRANSACTIONS = Path(__file__).with_name("transactions.py")
_RDKAFKA_TRANSACTIONS = Path(__file__).with_name("rdkafka_transactions.py")
_JAVA_TRANSACTIONS = Path(__file__).with_name("Transactions.java")


@dataclass(frozen=True)
class Rate:
    """What a client reached, and what it took."""

    records_per_second: float
    mb_per_second: float
    client_cpu_seconds: float


def rdkafka_produce(
    tool: Path, broker: Running, topic: str, size: int, count: int, *, linger_ms: float = 5, batch: int = 10_000
) -> Rate:
    """One producer, acks=all, as fast as it can."""
    command = [str(tool), "-P", "-t", topic, "-b", broker.address, "-s", str(size), "-c", str(count), "-a", "-1"]
    settings = [f"linger.ms={linger_ms}", f"batch.num.messages={batch}", "queue.buffering.max.messages=1000000"]
    said, cpu = _run([*command, "-m", "_MSG" * (size // 4), *_settings(settings)])
    return _rdkafka_rate(said, size, cpu)


def rdkafka_consume(tool: Path, broker: Running, topic: str, size: int, count: int) -> Rate:
    """One consumer of partition 0, from the beginning."""
    command = [str(tool), "-C", "-t", topic, "-p", "0", "-b", broker.address, "-o", "beginning", "-c", str(count)]
    said, cpu = _run([*command, *_settings(["fetch.wait.max.ms=100"])])
    return _rdkafka_rate(said, size, cpu)


def _settings(pairs: list[str]) -> list[str]:
    return [part for pair in pairs for part in ("-X", pair)]


def _rdkafka_rate(said: str, size: int, cpu: float) -> Rate:
    """From its last line of figures: `…, 123456 msgs/s and 123.45 MB/s…` or the consumer's form of it."""
    found = re.findall(r"([\d.]+) ?msgs/s", said)
    if not found:
        raise RuntimeError(f"rdkafka_performance said no rate: {said[-400:]}")
    rate = float(found[-1])
    return Rate(rate, rate * size / 1e6, cpu)


def java_produce(
    broker: Running, topic: str, size: int, count: int, *, batch_size: int = 16384, linger_ms: int = 0
) -> Rate:
    """Java's producer performance tool, acks=all."""
    properties = [
        f"bootstrap.servers={broker.address}",
        "acks=all",
        f"batch.size={batch_size}",
        f"linger.ms={linger_ms}",
    ]
    tool = ["org.apache.kafka.tools.ProducerPerformance", "--topic", topic, "--num-records", str(count)]
    tool += ["--record-size", str(size), "--throughput", "-1", "--producer-props", *properties]
    said, cpu = _java(tool)
    rate = float(re.findall(r"([\d.]+) records/sec", said)[-1])
    return Rate(rate, rate * size / 1e6, cpu)


def java_consume(broker: Running, topic: str, size: int, count: int) -> Rate:
    """Java's consumer performance tool."""
    tool = ["org.apache.kafka.tools.ConsumerPerformance", "--topic", topic, "--num-records", str(count)]
    said, cpu = _java([*tool, "--bootstrap-server", broker.address, "--timeout", "60000"])
    fields = said.strip().splitlines()[-1].split(",")
    rate = float(fields[-1]) if len(fields) > 8 else float(fields[5])  # Records per second while fetching.
    return Rate(rate, rate * size / 1e6, cpu)


def _java(command: list[str]) -> tuple[str, float]:
    quiet = "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"
    return _run(["java", "-cp", f"{JARS}/*", "-Xmx512M", quiet, *command])


def single_records(broker: Running, topic: str, size: int, count: int, producers: int) -> dict[str, float]:
    """Producers that each send one record, wait for its ack, and send the next."""
    said, cpu = _run(
        [sys.executable, str(_LATENCY), "single", broker.address, topic, *map(str, (size, count, producers))]
    )
    return {**_figures(said), "client_cpu_seconds": cpu}


def end_to_end(broker: Running, topic: str, size: int, count: int, rate: int) -> dict[str, float]:
    """From produce to consume at a low fixed rate: p50 and p99."""
    said, _ = _run([sys.executable, str(_LATENCY), "end-to-end", broker.address, topic, *map(str, (size, count, rate))])
    return _figures(said)


def transactions(broker: Running, way: str, topic: str, size: int, count: int, producers: int) -> dict[str, float]:
    """Producers that each commit one record, wait for the answer, and begin again."""
    numbers = map(str, (size, count, producers))
    said, cpu = _run([sys.executable, str(_TRANSACTIONS), way, broker.address, topic, *numbers])
    return {**_figures(said), "client_cpu_seconds": cpu}


def client_transactions(
    broker: Running, client: str, topic: str, size: int, records: int, count: int
) -> dict[str, float]:
    """One producer of a client that people use, one transaction after the other."""
    arguments = [broker.address, topic, *map(str, (size, records, count))]
    if client == "Java":
        said, cpu = _java([str(_JAVA_TRANSACTIONS), *arguments])
    else:
        said, cpu = _run([sys.executable, str(_RDKAFKA_TRANSACTIONS), *arguments])
    figures = _figures(said)
    added = figures["p50_ms"] - figures["plain_p50_ms"]
    return {**figures, "added_ms": added, "client_cpu_seconds": cpu}


def beside_consumer(broker: Running, partitions: int, seconds: float) -> dict[str, float]:
    """A producer beside a consumer that has so many partitions."""
    said, cpu = _run(_child("many", broker.address, partitions, seconds), seconds_max=_MANY_SECONDS_MAX)
    return {**_figures(said), "client_cpu_seconds": cpu}


def looking(broker: Running, codec: str, size: int, seconds: float, turns: int) -> dict[str, float]:
    """What it costs to look into the records of a batch."""
    said, cpu = _run(_child("looking", broker.address, broker.pid, codec, size, seconds, turns))
    return {**_figures(said), "client_cpu_seconds": cpu}


def tls(address: str, pid: int, trust: str, kind: str, *numbers: int) -> dict[str, float]:
    """A client with TLS."""
    said, cpu = _run(_child("tls", address, pid, trust, kind, *numbers))
    return {**_figures(said), "client_cpu_seconds": cpu}


def rights(off: str, off_pid: int, on: str, on_pid: int, size: int, seconds: float, turns: int) -> dict[str, float]:
    """What an authorizer costs."""
    said, cpu = _run(_child("rights", off, off_pid, on, on_pid, size, seconds, turns))
    return {**_figures(said), "client_cpu_seconds": cpu}


def _child(name: str, *arguments: object) -> list[str]:
    return [sys.executable, "-m", f"benchmarks.broker.{name}", *map(str, arguments)]


def _figures(said: str) -> dict[str, float]:
    pairs = (word.split("=") for line in said.splitlines() if not line.startswith("%") for word in line.split())
    return {name: float(value) for name, value in pairs}  # Lines with % are librdkafka's own.


def _run(command: list[str], seconds_max: float = _SECONDS_MAX) -> tuple[str, float]:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, capture_output=True, text=True, timeout=seconds_max, cwd=CHECKOUT)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise RuntimeError(f"{command[:6]} failed: {(done.stderr or done.stdout)[-400:]}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return done.stdout + done.stderr, cpu
