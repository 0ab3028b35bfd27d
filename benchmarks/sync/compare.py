"""One run from start to end: arguments, measurements, tables, files."""

from __future__ import annotations

import itertools
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from benchmarks import machine
from benchmarks.arguments import fresh, parser_of, stored_as
from benchmarks.broker.brokers import Running, kafka, kafka_is_there, ours
from benchmarks.broker.looking import cpu_seconds
from benchmarks.figures import Spread
from benchmarks.results import new_run, publish
from benchmarks.sync.copiers import OURS, PEER, copier, peer_is_there
from benchmarks.sync.under_way import times_under_way
from benchmarks.tables import Table, median_text, spread_text
from rich.console import Console

from holdfast.client import LATEST, Client
from holdfast.record.build import build
from holdfast.record.records import Record
from holdfast.types import TopicPartition

TITLE = "Sync, beside MirrorMaker 2"
METHOD = """\
Two brokers and what copies, each one process on this machine. A topic of six partitions is filled at A, then the copier
is started, ours and the peer in turns, each with a topic of its own; all brokers have run a while. Records a second are
counted from the first copy that is at B to the last one; how long the copier took from its start stands beside it.
CPU is that of the copier's process from its start on, which for the peer includes its compiler. MirrorMaker 2 has its
defaults, four tasks where ours has four threads, and names that stay; it copies at least once, ours exactly once.

Under way: 5,000 records a second of 1 KiB are sent to A, and read at B by a plain consumer; a record's time is from
being handed to the producer at A to having been consumed at B."""
PARTITIONS = 6
RATE = 5000
_BATCH_BYTES = 256 << 10
_COPY_S_MAX = 1200.0
_LOOK_S = 0.05

Figures = dict[str, object]


def main() -> int:
    parser = parser_of("Copy topics, beside MirrorMaker 2.", less="fewer records, one round")
    parser.add_argument("--records", type=int, help="how many of each size (default 1,000,000; quick 100,000)")
    parser.add_argument("--rounds", type=int, help="(default 3; quick 1)")
    asked = parser.parse_args()
    records = asked.records or (100_000 if asked.quick else 1_000_000)
    rounds = asked.rounds or (1 if asked.quick else 3)
    talk = Console(stderr=True)
    measured: list[Figures] = []
    with fresh(asked.dir / "sync") as folder:
        for way in ("holdfast → holdfast", "holdfast → kafka"):
            if way.endswith("kafka") and not kafka_is_there():
                talk.print(f"{way} is left out: there is no Apache Kafka")
                continue
            measured += _measure(way, folder, records, rounds, quick=asked.quick, tell=talk.print)
    facts = {"rounds": rounds, "records": records, "quick": asked.quick}
    run = new_run(facts, asked.dir, machine.versions("confluent-kafka"), measured)
    publish(run, TITLE, METHOD, _tables(measured, records), stored_as(asked, "sync"))
    return 0


@contextmanager
def _two(way: str, folder: Path) -> Iterator[tuple[Running, Running]]:
    second = kafka(folder / "b", fsync=False) if way.endswith("kafka") else ours(folder / "b")
    with ours(folder / "a") as a, second as b:
        yield a, b


def _measure(
    way: str, folder: Path, records: int, rounds: int, *, quick: bool, tell: Callable[[str], None]
) -> Iterator[Figures]:
    names = [OURS, PEER] if peer_is_there() else [OURS]
    with _two(way, folder) as (a, b):
        for number, size in itertools.product(range(rounds), (100, 1024)):
            for name in names[::-1] if number % 2 else names:
                tell(f"{way}, {size} B, round {number + 1} of {rounds}: {name} …")
                before = machine.around()
                figures = _copy(name, a, b, f"copied-{size}-{number}-{names.index(name)}", size, records, folder)
                yield {"what": "copy", "way": way, "name": name, "size": size, "round": number, **figures, **before}
        for number in range(rounds):
            for name in names[::-1] if number % 2 else names:
                tell(f"{way}, {RATE} records a second, round {number + 1} of {rounds}: {name} …")
                before = machine.around()
                topic = f"steady-{number}-{names.index(name)}"
                with _filled(a, b, topic, 1024, 6000), copier(name, a, b, topic, folder) as process:
                    _wait_for(b, topic, 6000, process)
                    figures = times_under_way(a, b, topic, PARTITIONS, RATE, 5.0 if quick else 20.0, process.pid)
                yield {"what": "steady", "way": way, "name": name, "size": 1024, "round": number, **figures, **before}


@contextmanager
def _filled(a: Running, b: Running, topic: str, size: int, records: int) -> Iterator[None]:
    """A topic with so many records at A, and an empty one at B; both are deleted at the end."""
    each = max(_BATCH_BYTES // size, 1)
    with Client(a.address) as at_a, Client(b.address) as at_b:
        for client in (at_a, at_b):
            client.create_topics({topic: PARTITIONS})
        left, partitions = records, itertools.cycle(range(PARTITIONS))
        while left:
            count = min(each, left)
            stamp = int(time.time() * 1000)
            made = build([Record(None, b"%08d" % at + bytes(size - 8), stamp) for at in range(count)])
            at_a.produce({(topic, next(partitions)): made})
            left -= count
        yield
        for client in (at_a, at_b):
            client.delete_topic(topic)


def _copy(name: str, a: Running, b: Running, topic: str, size: int, records: int, folder: Path) -> Figures:
    with _filled(a, b, topic, size, records):
        began = time.monotonic()
        with copier(name, a, b, topic, folder) as process:
            first, last = _wait_for(b, topic, records, process)
            cpu = cpu_seconds(process.pid)
        return {
            "seconds": round(last - began, 3),
            "records_per_s": round(records / max(last - first, _LOOK_S), 1),
            "cpu_us_per_record": round(cpu / records * 1e6, 3),
        }


def _wait_for(b: Running, topic: str, records: int, process: subprocess.Popen[str]) -> tuple[float, float]:
    """When the first copy was at B, and when the last one. Offsets there may have gaps: markers take some."""
    wanted = {TopicPartition(topic, number): LATEST for number in range(PARTITIONS)}
    first = 0.0
    deadline = time.monotonic() + _COPY_S_MAX
    with Client(b.address) as client:
        while time.monotonic() < deadline:
            if process.poll() is not None:
                raise RuntimeError(f"what copies has ended with {process.returncode}")
            ends = sum(each.offset for each in client.list_offsets(wanted).values())
            now = time.monotonic()
            first = first or (now if ends > PARTITIONS else 0.0)
            if ends >= records:
                return first, now
            time.sleep(_LOOK_S)
    raise RuntimeError(f"not all of {records} records of {topic} were copied in {_COPY_S_MAX:.0f} s")


def _tables(measured: Sequence[Figures], records: int) -> list[Table]:
    copied = [
        _row(
            measured,
            f"{way}, {size} B",
            {"what": "copy", "way": way, "size": size},
            ("records_per_s", "cpu_us_per_record", "seconds"),
        )
        for way, size in sorted(
            {(str(each["way"]), int(str(each["size"]))) for each in measured if each["what"] == "copy"}
        )
    ]
    steady = [
        _row(measured, way, {"what": "steady", "way": way}, ("p50_ms", "p99_ms", "cores"))
        for way in sorted({str(each["way"]) for each in measured if each["what"] == "steady"})
    ]
    rate, cpu, took = "records/s", "CPU µs a record", "from its start, s"
    return [
        Table(
            f"{records:,} records",
            [
                "",
                rate,
                f"{PEER}, {rate}",
                f"÷ {PEER}",
                cpu,
                f"{PEER}, {cpu}",
                f"times less CPU than {PEER}",
                took,
                f"{PEER}, {took}",
            ],
            [[what, *_pair(rates), *_less(costs), *_both(times)] for what, (rates, costs, times) in copied],
        ),
        Table(
            f"Under way at {RATE:,} records a second",
            ["", "p50 ms", f"{PEER}, p50 ms", "p99 ms", f"{PEER}, p99 ms", "cores", f"{PEER}, cores"],
            [[what, *_both(p50, 1), *_both(p99, 1), *_both(cores, 2)] for what, (p50, p99, cores) in steady],
        ),
    ]


Both = tuple[list[float], list[float]]


def _row(
    measured: Sequence[Figures], what: str, wanted: Mapping[str, object], figures: Sequence[str]
) -> tuple[str, list[Both]]:
    chosen = [each for each in measured if all(each[key] == value for key, value in wanted.items())]
    by_name = {name: [each for each in chosen if each["name"] == name] for name in (OURS, PEER)}
    return what, [
        (*([float(str(each[figure])) for each in by_name[name]] for name in (OURS, PEER)),)  # type: ignore[misc]
        for figure in figures
    ]


def _spread(values: Sequence[float]) -> Spread | None:
    return Spread(median(values), min(values), max(values)) if values else None


def _both(pair: Both, digits: int = 1) -> list[str]:
    return [median_text(_spread(each), digits) for each in pair]


def _pair(pair: Both) -> list[str]:
    ratios = [mine / theirs for mine, theirs in zip(*pair, strict=False)]
    return [*_both(pair, 0), spread_text(_spread(ratios), 1)]


def _less(pair: Both) -> list[str]:
    ratios = [theirs / mine for mine, theirs in zip(*pair, strict=False)]
    return [*_both(pair), spread_text(_spread(ratios), 1)]
