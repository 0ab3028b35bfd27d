"""One run: every broker in turn, in rounds whose order is turned round, then the tables."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from benchmarks.arguments import fresh, parser_of, stored_as
from benchmarks.bars import write_bars
from benchmarks.broker import brokers, parts, rdkafka_tool
from benchmarks.broker.parts import Part, Start
from benchmarks.broker.plan import Workload, workloads
from benchmarks.broker.secure import RunningTls
from benchmarks.broker.tables import ratio_bars, tables
from benchmarks.machine import busy_percent, versions
from benchmarks.results import new_run, publish
from confluent_kafka.admin import AdminClient, NewTopic
from rich.console import Console

TITLE = "The broker beside Apache Kafka"
METHOD = (
    "Every broker is started afresh for each round on the same disk; the clients run beside it on the same two cores. "
    "Holdfast acknowledges after an fsync; Kafka is measured as it comes (no fsync before an ack) and with "
    "`log.flush.interval.messages=1`. Ratios are taken within a round. CPU is that of the broker's process alone; "
    "where the client needs a whole core, the broker's CPU per MB says more than the rate."
)
TOPICS = ("rd-1024", "rd-100", "java-100", "java-1024", "single", "latency")
talk = Console(stderr=True)


def main() -> int:
    asked = _arguments()
    tool = rdkafka_tool.build() if asked.part in (None, "broker") else None
    if asked.profile:
        return _profile(tool if isinstance(tool, Path) else None, asked.dir / "broker-profile")
    notes = [tool] if isinstance(tool, str) else []
    peers: list[tuple[str, Start]] = [("holdfast", brokers.ours)]
    if brokers.kafka_is_there():
        peers += [
            ("kafka", partial(brokers.kafka, fsync=False)),
            ("kafka + fsync", partial(brokers.kafka, fsync=True)),
        ]
    else:
        notes.append(brokers.NO_KAFKA)
    for part in _parts(asked, tool if isinstance(tool, Path) else None):
        plan = [each for each in part.plan if asked.only in each.name]
        if plan:
            starts = peers if part.starts is None else part.starts[: 2 if brokers.kafka_is_there() else 1]
            _run(asked, part, plan, starts if part.peers else peers[:1], notes)
    return 0


def _parts(asked: argparse.Namespace, tool: Path | None) -> list[Part]:
    whole = Part("broker", TITLE, METHOD, list(workloads(tool, 0.25 if asked.quick else 1.0)), tables)
    made = (parts.requests, parts.partitions, parts.looking, parts.tls, parts.rights)
    every = [whole, *(each(quick=asked.quick) for each in made)]
    return [each for each in every if asked.part in (None, each.name)]


def _run(
    asked: argparse.Namespace, part: Part, plan: list[Workload], peers: list[tuple[str, Start]], notes: list[str]
) -> None:
    with fresh(asked.dir / part.name) as directory:
        measurements = list(_measure(peers, plan, asked.rounds, directory))
    scale = {"rounds": asked.rounds, "quick": asked.quick}
    run = new_run(scale, asked.dir, versions("confluent-kafka"), measurements)
    if part.peers:
        run["versions"]["kafka"] = brokers.KAFKA_VERSION
    run["notes"] += notes + sorted(
        {f"{m['broker']}: {m['workload']}: {m['error']}" for m in measurements if "error" in m}
    )
    stem = stored_as(asked, f"{part.name}-{asked.only.replace(' ', '-')}" if asked.only else part.name)
    plot = partial(write_bars, ratio_bars(measurements)) if part.name == "broker" else None
    publish(run, part.title, part.method, part.tables(measurements), stem, plot)


def _arguments() -> argparse.Namespace:
    parser = parser_of("Measure the broker beside Apache Kafka.", less="fewer records and one round")
    parser.add_argument("--only", default="", help="only what has this in its name, such as transactions")
    parser.add_argument("--part", choices=["broker", *parts.NAMES], help="only this part")
    parser.add_argument("--profile", action="store_true", help="only ours, and where its time goes")
    parser.add_argument("--rounds", type=int, default=0, help="default 3, or 1 with --quick")
    asked = parser.parse_args()
    asked.rounds = asked.rounds or (1 if asked.quick else 3)
    return asked


def _profile(tool: Path | None, folder: Path) -> int:
    """Ours alone under the profiler, with large batches and with single records."""
    with brokers.profiled(folder) as broker:
        _make_topics(broker)
        for workload in workloads(tool, 0.25):
            if workload.name.startswith("librdkafka") or "64 producers" in workload.name:
                talk.print(f"profile: {workload.name}")
                workload.run(broker)
    print((folder / "said").read_text())
    shutil.rmtree(folder, ignore_errors=True)
    return 0


def _measure(
    peers: list[tuple[str, Start]], plan: list[Workload], rounds: int, folder: Path
) -> Iterator[dict[str, object]]:
    for number in range(rounds):
        for name, start in peers if number % 2 == 0 else peers[::-1]:
            before = busy_percent(0.5)
            with start(folder / name.replace(" ", "")) as broker:
                _make_topics(broker)
                for workload in plan:
                    talk.print(f"round {number + 1}/{rounds}: {name}: {workload.name}")
                    row = {"round": number, "broker": name, "workload": workload.name}
                    around = {"load": round(os.getloadavg()[0], 2), "busy_percent": before}
                    yield {**row, **around, **_one(broker, workload)}


def _one(broker: brokers.Running, workload: Workload) -> dict[str, object]:
    before = broker.usage()
    try:
        found = dict(workload.run(broker))
    except (RuntimeError, subprocess.TimeoutExpired) as failure:  # One that is too slow must not cost all the others.
        talk.print(f"{broker.name}: {workload.name} failed: {str(failure)[:200]}")
        return {"error": str(failure)[:200]}
    after = broker.usage()
    found["broker_cpu_seconds"] = after.cpu_seconds - before.cpu_seconds
    found["broker_memory_mib"] = after.memory_mib
    if workload.megabytes:
        found["broker_cpu_ms_per_mb"] = 1000 * found["broker_cpu_seconds"] / workload.megabytes
    return {**found}


def _make_topics(broker: brokers.Running) -> None:
    settings = {"bootstrap.servers": broker.address}
    if isinstance(broker, RunningTls):
        settings |= {"security.protocol": "SSL", "ssl.ca.location": str(broker.trust)}
    admin = AdminClient(settings)
    wanted = [NewTopic(name, 1, 1) for name in TOPICS] + [NewTopic("six-rd", 6, 1)]
    for made in admin.create_topics(wanted).values():
        made.result(30)
