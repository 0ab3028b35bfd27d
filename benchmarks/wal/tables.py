"""The figures of a run as tables of text: one of the workloads, one of the aims."""

from __future__ import annotations

from typing import NamedTuple

from benchmarks.figures import Figures, Series, memory_growth, ratio, spread
from benchmarks.tables import Table, median_text, spread_text
from benchmarks.wal.aims import Aim, raw_limit
from benchmarks.wal.plan import MIB, SIZES


class Line(NamedTuple):
    """One workload at one entry size, in entries per second."""

    title: str
    size: int
    ours: Series
    peer: Series
    raw: Series


# Title, our label, the peer's label, and which raw loop is the limit: None where no fsync limits the workload.
_WORKLOADS = [
    ("flush after each, synchronous", "ours.each_sync", "peer.each", ""),
    ("flush after each, asynchronous", "ours.each_async", "peer.each", ""),
    ("64 appenders", "ours.appenders", "peer.appenders", None),
    ("64 appenders, peer waits 1 ms", "ours.appenders", "peer.appenders_1ms", None),
    ("1,000 per flush, one append", "ours.batch", "peer.batch", "_1000"),
    ("1,000 per flush, 1,000 appends", "ours.single", "peer.single", "_1000"),
    ("1,000 per flush, append_one 1,000 times", "ours.one_by_one", "peer.single", "_1000"),
    ("1,000 per flush, append_one 1,000 times, frames of 64 KiB", "ours.one_by_one_64k", "peer.single", "_1000"),
    ("1,000 per flush, purged behind", "ours.steady", "peer.steady", "_1000"),
    ("open and replay, 1,000 per append", "ours.replay_batch", "peer.replay", None),
    ("open and replay, one per append", "ours.replay_single", "peer.replay", None),
    ("open and replay, after append_one", "ours.replay_one", "peer.replay", None),
    ("read from cache, entry by entry", "ours.read_cache", "peer.read_cache", None),
    ("read from cache, in blocks", "ours.read_cache_blocks", "peer.read_cache", None),
    ("read from disk, 1,000 per append", "ours.read_disk", "peer.read_disk", None),
    ("read from disk, one per append", "ours.read_disk_single", "peer.read_disk", None),
    ("read from disk, after append_one", "ours.read_disk_one", "peer.read_disk", None),
    ("read from disk in blocks, 1,000 per append", "ours.read_disk_blocks", "peer.read_disk", None),
    ("read from disk in blocks, after append_one", "ours.read_disk_blocks_one", "peer.read_disk", None),
]


def lines(figures: Figures) -> list[Line]:
    found = []
    for title, ours, peer, limit in _WORKLOADS:
        for size in SIZES:
            raw = {} if limit is None else raw_limit(figures, size, limit)
            found.append(Line(title, size, figures.series(ours, size), figures.series(peer, size), raw))
    return [line for line in found if line.ours or line.peer]


def workload_table(figures: Figures) -> Table:
    columns = ["workload", "entry", "ours /s", "raft-log /s", "raw /s", "ours ÷ raft-log", "ours ÷ raw"]
    rows = [_workload_row(line) for line in lines(figures)]
    return Table("Entries per second: median over the rounds; ratios with lowest and highest", columns, rows)


def _workload_row(line: Line) -> list[str]:
    rates = [median_text(spread(series)) for series in (line.ours, line.peer, line.raw)]
    ratios = [spread_text(spread(ratio(line.ours, other))) for other in (line.peer, line.raw)]
    return [line.title, f"{line.size} B", *rates, *ratios]


def latency_table(figures: Figures) -> Table:
    """How long one flush takes, for those who wait."""
    labels = ["ours.each_sync", "ours.each_async", "peer.each", "raw.rust.written", "raw.rust.growing"]
    labels += ["raw.python.written", "raw.python.growing", "ours.appenders", "peer.appenders", "peer.appenders_1ms"]
    rows = []
    for label in labels:
        cells = [
            spread_text(spread(figures.series(label, size, lambda m, key=key: m[key] / 1000)), digits=3)  # type: ignore[misc]
            for size in SIZES
            for key in ("p50_us", "p99_us")
        ]
        rows.append([label, *cells])
    columns = ["who waits", *(f"{size} B {percentile}" for size in SIZES for percentile in ("p50", "p99"))]
    return Table("Milliseconds from append to durable", columns, rows)


def memory_table(figures: Figures) -> Table:
    rows = []
    for who, title in (("ours", "ours"), ("peer", "raft-log")):
        peak = figures.series(f"{who}.memory", 1024, lambda m: m["peak_size"] / MIB)
        growth = figures.series(f"{who}.memory", 1024, lambda m: memory_growth(m) / MIB)
        second_half = figures.series(f"{who}.memory", 1024, lambda m: (m["peak_size"] - m["half_peak_size"]) / MIB)
        rows.append([title, *(spread_text(spread(series), digits=1) for series in (peak, growth, second_half))])
    columns = ["who", "peak MiB", "above idle MiB", "of that in the second half"]
    return Table("Memory while appending 1 KiB entries, cache and chunks of 16 MiB", columns, rows)


def aim_table(aims: list[Aim]) -> Table:
    rows = [
        [aim.title, f"{'≤' if aim.at_most else '≥'} {aim.wanted:g}", spread_text(aim.measured), aim.verdict]
        for aim in aims
    ]
    return Table("Aims", ["aim", "wanted", "measured", "verdict"], rows)
