"""What has results of its own: many partitions, and the look at records. Each is a plan, a method and a table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.broker import clients, load, rdkafka_tool
from benchmarks.broker.brokers import Running
from benchmarks.broker.plan import Measured, Workload
from benchmarks.broker.secure import kafka_tls, ours_tls, rights_workloads, tls_workloads
from benchmarks.broker.tables import BROKERS, Rows, against, series, workloads_with
from benchmarks.figures import ratio, spread
from benchmarks.tables import Table, median_text, spread_text

PARTITIONS = (1, 100, 2_000, 10_000)
LOOKED_AT = (("none", 16 << 10), ("lz4", 16 << 10), ("lz4", 34 << 10))  # Codec, and bytes of records.
NAMES = ("broker-requests", "broker-partitions", "broker-looking", "broker-tls", "broker-rights")
COST_MAX = 0.10
_IDLE_KIB_MAX = 100.0
Start = Callable[[Path], AbstractContextManager[Running]]


@dataclass(frozen=True)
class Part:
    """A part of the benchmark."""

    name: str
    title: str
    method: str
    plan: list[Workload]
    tables: Callable[[Rows], list[Table]]
    peers: bool = True  # Whether there is something to compare with.
    starts: list[tuple[str, Start]] | None = None  # Brokers of its own; None: those that all parts have.


def requests(*, quick: bool) -> Part:
    scale = 0.25 if quick else 1.0
    generator, tool = load.build(), rdkafka_tool.build()
    plan = list(_produce_requests(generator, scale)) if isinstance(generator, Path) else []
    plan += _consumes(tool, scale) if isinstance(tool, Path) else []
    return Part(
        "broker-requests",
        "What a request costs",
        "A load generator in C sends one produce request of version 7 again and again over each of its connections, "
        "with acks=all, and as many under way as the row says; it checks the order and the error code of every answer, "
        "and costs a few microseconds a request itself. Then librdkafka's tool writes records of 1 KiB and reads them, "
        "at once and again. CPU is that of all threads of the broker's process, in the turn alone.",
        plan,
        _request_tables,
    )


def _produce_requests(tool: Path, scale: float) -> Iterator[Workload]:
    for name, size, count, connections, under_way in (
        ("one record", 100, 1, 1, 1),
        ("one record", 100, 1, 8, 1),
        ("one record", 100, 1, 64, 1),
        ("16 KiB", 1000, 16, 8, 5),
    ):

        def send(
            broker: Running, size: int = size, count: int = count, connections: int = connections, each: int = under_way
        ) -> Measured:
            return load.requests(tool, broker, "single", size, count, connections, each, 8 * scale)

        many = "1 connection" if connections == 1 else f"{connections} connections"
        many += f", {under_way} under way" if under_way > 1 else ""
        yield Workload(f"produce {name}, {many}", send, 0)


def _consumes(tool: Path, scale: float) -> Iterator[Workload]:
    count = int(300_000 * scale)

    def produce(broker: Running) -> Measured:
        return vars(clients.rdkafka_produce(tool, broker, "rd-1024", 1024, count))

    def consume(broker: Running) -> Measured:
        return vars(clients.rdkafka_consume(tool, broker, "rd-1024", 1024, count))

    yield Workload("produce 1 KiB, large batches", produce, 1024 * count / 1e6)
    yield Workload("consume 1 KiB right after that", consume, 1024 * count / 1e6)
    yield Workload("consume 1 KiB again", consume, 1024 * count / 1e6)


def partitions(*, quick: bool) -> Part:
    def workload(count: int) -> Workload:
        def run(broker: Running) -> Measured:
            return clients.beside_consumer(broker, count, 2 if quick else 6)

        return Workload(f"beside a consumer of {count:,} partitions", run, 0)

    return Part(
        "broker-partitions",
        "A producer beside a consumer of many partitions",
        "One librdkafka consumer has all partitions and stands at their end; a hundred of them get records. The "
        "producer sends one record of 100 B, waits for its ack, and sends the next to another partition. Every record "
        "must reach the consumer. librdkafka names all partitions in every fetch. Brokers start afresh in each round.",
        [workload(count) for count in (PARTITIONS[:3] if quick else PARTITIONS)],
        _partition_tables,
    )


def looking(*, quick: bool) -> Part:
    def workload(codec: str, size: int) -> Workload:
        def run(broker: Running) -> Measured:
            return clients.looking(broker, codec, size, 0.1, 15 if quick else 60)

        what = "uncompressed" if codec == "none" else codec
        return Workload(f"{what}, {size >> 10} KiB of records of 113 B", run, 0)

    return Part(
        "broker-looking",
        "What it costs to look into records before the ack",
        "Two topics that differ in `holdfast.validate.records` alone take turns of 0.1 s; in each the same batch is "
        "sent again and again over four connections, five requests under way on each. Ratios are of turns that "
        "follow one another, and the median of a round is one figure. CPU is that of all threads of the broker.",
        [workload(codec, size) for codec, size in LOOKED_AT],
        _looking_tables,
        peers=False,
    )


def tls(*, quick: bool) -> Part:
    return Part(
        "broker-tls",
        "TLS, beside Apache Kafka with TLS",
        "Each broker has one listener with TLS 1.3 and an ECDSA key. librdkafka produces and consumes; single records "
        "go over raw connections of Python's. Memory of a connection is what the broker's process grows by while "
        "a thousand are open and say nothing. Kafka does no fsync before an ack.",
        tls_workloads(0.25 if quick else 1.0),
        _tls_tables,
        starts=[("holdfast", ours_tls), ("kafka", kafka_tls)],
    )


def rights(*, quick: bool) -> Part:
    return Part(
        "broker-rights",
        "What an authorizer costs",
        "Two brokers of ours, one with `authorizer.class.name=standard`, take turns of 0.1 s; in each the same "
        "batch is sent again and again over four connections, five requests under way on each. Ratios are of turns "
        "that follow one another, and the median of a round is one figure. CPU is that of all threads of the broker.",
        rights_workloads(15 if quick else 60),
        _rights_tables,
        peers=False,
    )


def _request_tables(rows: Rows) -> list[Table]:
    peers = [f"÷ {peer}" for peer in BROKERS[1:]]
    sent, moved = (workloads_with(rows, each) for each in ("requests_per_second", "records_per_second"))
    rates, costs = list[list[str]](), list[list[str]]()
    for names, rate, cost in (
        (sent, "requests_per_second", "cpu_us_per_request"),
        (moved, "records_per_second", "broker_cpu_ms_per_mb"),
    ):
        for name in names:
            for lines, key, digits in ((rates, rate, 0), (costs, cost, 2)):
                found = [median_text(spread(series(rows, each, name, key)), digits) for each in BROKERS]
                lines.append([name, *found, *(spread_text(against(rows, name, key, peer)) for peer in BROKERS[1:])])
    latencies = []
    for name in sent:
        cells = []
        for broker in BROKERS:
            keys = ("p50_ms", "p99_ms", "p999_ms")
            cells.append(" / ".join(median_text(spread(series(rows, broker, name, key)), 2) for key in keys))
        latencies.append([name, *cells])
    return [
        Table("Requests or records in a second", ["/s", *BROKERS, *peers], rates),
        Table("What a request costs the broker", ["CPU, µs a request or ms a MB", *BROKERS, *peers], costs),
        Table("From a request to its answer", ["ms, p50 / p99 / p99.9", *BROKERS], latencies),
    ]


def _tls_tables(rows: Rows) -> list[Table]:
    lines = []
    for name in workloads_with(rows, "records_per_second"):
        key, cpu = "records_per_second", "broker_cpu_ms_per_mb"
        found = [median_text(spread(series(rows, each, name, key))) for each in BROKERS[:2]]
        ratio_found = against(rows, name, key, "kafka")
        costs = [median_text(spread(series(rows, each, name, cpu)), 2) for each in BROKERS[:2]]
        latency = [median_text(spread(series(rows, each, name, "p99_ms")), 2) for each in BROKERS[:2]]
        verdict = "" if ratio_found is None else "met" if ratio_found.median >= 1.0 else "missed"
        lines.append([name, *found, spread_text(ratio_found), verdict, " / ".join(costs), " / ".join(latency)])
    columns = ["records/s", *BROKERS[:2], "÷ kafka", "≥ 1.0", "CPU ms/MB (both)", "p99 ms (both)"]
    idle = []
    for name in workloads_with(rows, "kib_per_connection"):
        sizes = [spread(series(rows, each, name, "kib_per_connection")) for each in BROKERS[:2]]
        verdict = "met" if sizes[0] is not None and sizes[0].median <= _IDLE_KIB_MAX else "missed"
        idle.append([name, *(median_text(each, 1) for each in sizes), verdict])
    return [
        Table("TLS", columns, lines),
        Table("Memory of an idle connection", ["KiB", *BROKERS[:2], f"≤ {_IDLE_KIB_MAX:.0f} KiB"], idle),
    ]


def _rights_tables(rows: Rows) -> list[Table]:
    return [_turns(rows, "Cost of an authorizer", 0.02)]


def _partition_tables(rows: Rows) -> list[Table]:
    key = "records_per_second"
    names = workloads_with(rows, key)
    columns = ["records/s", *BROKERS, "÷ kafka", "÷ kafka + fsync", *(f"{each}: of that with one" for each in BROKERS)]
    lines = []
    for name in names:
        rates = [median_text(spread(series(rows, each, name, key))) for each in BROKERS]
        ratios = [spread_text(against(rows, name, key, peer)) for peer in BROKERS[1:]]
        own = [
            spread_text(spread(ratio(series(rows, each, name, key), series(rows, each, names[0], key))))
            for each in BROKERS
        ]
        lines.append([name, *rates, *ratios, *own])
    return [Table("Many partitions", columns, lines), _latencies(rows, names)]


def _latencies(rows: Rows, names: Sequence[str]) -> Table:
    lines = []
    for name in names:
        cells = []
        for broker in BROKERS:
            p50, p99 = (spread(series(rows, broker, name, key)) for key in ("p50_ms", "p99_ms"))
            cells.append(f"{median_text(p50, 2)} / {median_text(p99, 2)}")
        lines.append([name, *cells])
    return Table("Acks", ["ms", *(f"{name} p50 / p99" for name in BROKERS)], lines)


def _looking_tables(rows: Rows) -> list[Table]:
    return [_turns(rows, "Cost of looking into records", COST_MAX)]


def _turns(rows: Rows, title: str, cost_max: float) -> Table:
    """With and without, in turns: whether the rate with it is near enough."""
    columns = [
        "batches/s",
        "bytes on the wire",
        "without",
        "with",
        "with ÷ without",
        "CPU µs without",
        "with",
        "with ÷ without",
    ]
    lines = []
    for name in workloads_with(rows, "batches_per_second_on"):
        cells = [median_text(spread(series(rows, "holdfast", name, "batch_size")))]
        for figure in ("batches_per_second", "cpu_us_per_batch"):
            found = [spread(series(rows, "holdfast", name, f"{figure}_{what}")) for what in ("off", "on", "ratio")]
            cells += [median_text(found[0]), median_text(found[1]), spread_text(found[2])]
        held = spread(series(rows, "holdfast", name, "batches_per_second_ratio"))
        verdict = "met" if held is not None and held.median >= 1 - cost_max else "missed"
        lines.append([name, *cells, verdict])
    return Table(title, [*columns, f"≤ {cost_max:.0%} of the rate"], lines)
