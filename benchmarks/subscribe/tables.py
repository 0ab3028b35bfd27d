"""The figures of a run as tables."""

from __future__ import annotations

from benchmarks.figures import Figures, Measurement, Series, ratio, spread
from benchmarks.tables import Table, median_text, spread_text

SIMULATED = {
    "send.plain": ("2,100 events, 50 µs a send", "one by one, each awaited", ""),
    "send.piped": ("2,100 events, 50 µs a send", "pipelined, one by one", "send.plain"),
    "send.packed": ("2,100 events, 50 µs a send", "pipelined and packed", "send.plain"),
    "read.server": ("3 x 7 files x 300 events, 2 ms a read", "server, file by file", ""),
    "read.server_sends": ("3 x 7 files x 300 events, 2 ms a read", "server, file by file, 50 µs a send", "read.server"),
    "read.direct": ("3 x 7 files x 300 events, 2 ms a read", "client, file by file", "read.server"),
    "read.parallel": ("3 x 7 files x 300 events, 2 ms a read", "client, in parallel, ahead", "read.server"),
}
CHARGED, FREE = "read.server_sends", ("read.direct", "read.parallel")  # Ways without sends, held against one with them.
REAL = {
    "stream": "server stream, Arrow batches",
    "refs": "references, Arrow batches",
    "refs_events": "references, event by event",
    "stream_events": "server stream, event by event",
    "plain": "server stream, one event a message",
    "kafka": "Kafka consumer (librdkafka), no merge",
}
PROFILE = "profile."
LIVE_FIGURES = {
    "p50_ms": "p50",
    "p99_ms": "p99",
    "max_ms": "longest",
    "ack_p50_ms": "of it the ack, p50",
    "ack_p99_ms": "of it the ack, p99",
}
LIVE = {
    "live.kafka": "Kafka consumer (librdkafka), one topic",
    "live.one": "subscription, one source",
    "live.three": "subscription, three sources, two of them idle",
}


def all_tables(figures: Figures) -> list[Table]:
    made = (_simulated(figures), _real(figures), _live(figures), _profile(figures))
    return [table for table in made if table.rows]


def _first_ms(measurement: Measurement) -> float:
    return measurement["first_s"] * 1000


def _simulated(figures: Figures) -> Table:
    rows = []
    for label, (setup, way, base) in SIMULATED.items():
        rate = figures.series(label, 0)
        if rate:
            over = spread_text(spread(ratio(rate, figures.series(base, 0))), 1) if base else ""
            charged = spread_text(spread(ratio(rate, figures.series(CHARGED, 0))), 1) if label in FREE else ""
            first = median_text(_first(figures, label, 0), 1)
            rows.append([setup, way, median_text(spread(rate)), over, charged, first])
    columns = ["set-up", "way", "events/s", "x the first", "x the first with 50 µs a send", "first event, ms"]
    return Table("Simulated costs", columns, rows)


def _first(figures: Figures, label: str, size: int):  # type: ignore[no-untyped-def]
    return spread(figures.series(label, size, _first_ms))


def _real(figures: Figures) -> Table:
    rows = []
    for store in ("disk", "s3"):
        kafka: Series = figures.series(f"{store}.kafka", 100)
        for way, told in REAL.items():
            label = f"{store}.{way}"
            rate = figures.series(label, 100)
            if rate:
                over = spread_text(spread(ratio(rate, kafka)), 2)
                memory = spread(figures.series(label, 100, lambda m: m["peak_size"] / (1 << 20)))
                cpu = spread(figures.series(label, 100, lambda m: m["cpu_s"] * 1e6 / m["entries"]))
                first = median_text(_first(figures, label, 100), 0)
                texts = [median_text(spread(rate)), over, first, median_text(cpu, 2), median_text(memory)]
                rows.append([store, told, *texts])
    columns = ["store", "way", "events/s", "x Kafka consumer", "first event, ms", "client CPU, µs/event", "client MiB"]
    return Table("Events of 100 B over three sources, read to the end", columns, rows)


def _live(figures: Figures) -> Table:
    rows = []
    peers = figures.series("live.kafka", 0, lambda m: m["p99_ms"])
    for label, told in LIVE.items():
        found = [spread(figures.series(label, 0, lambda m, k=key: m[k])) for key in LIVE_FIGURES]
        if found[0]:
            over = spread(ratio(figures.series(label, 0, lambda m: m["p99_ms"]), peers))
            rows.append([told, *map(spread_text, found), spread_text(over)])
    columns = ["", *LIVE_FIGURES.values(), "p99 ÷ Kafka consumer's"]
    return Table("From produce to event at 500 events/s, ms", columns, rows)


def _profile(figures: Figures) -> Table:
    rows = [
        [label.removeprefix(PROFILE), median_text(spread(figures.series(label, 0, lambda m: m["share_percent"])), 1)]
        for label in figures.labels(PROFILE)
    ]
    return Table("Where a merged read of references spends its time", ["file: function", "% of samples"], rows)
