"""The tables and bars of a run."""

from __future__ import annotations

from benchmarks.bars import Bars
from benchmarks.figures import Figures, Measurement, Spread, ratio, spread
from benchmarks.results import Run
from benchmarks.tables import Table, median_text, spread_text

JOBS = {
    "count": "count",
    "sum": "sum(length(value))",
    "filter": "1 % by timestamp",
    "archive": "archive to Parquet",
    "audit": "audit",
}
READERS = ("holdfast", "holdfast narrow", "connector on kafka", "connector on holdfast", "parquet")
PEER = "connector on kafka"
AIMS = {  # Times less CPU than the connector on Kafka.
    "holdfast.count": 2.5,
    "holdfast.sum": 2.5,
    "holdfast narrow.count": 4.0,
    "holdfast narrow.sum": 4.0,
    "holdfast.filter": 30.0,
    "holdfast.archive": 5.0,
    "holdfast.audit": 5.0,
}


def _cpu(measurement: Measurement) -> float:
    return measurement["cpu_seconds"]


def _rate(measurement: Measurement) -> float:
    return measurement["rows"] / measurement["seconds"]


def _sizes(run: Run) -> list[int]:
    return sorted({int(str(m["size"])) for m in run["measurements"] if not str(m["label"]).startswith("growth")})


def tables(run: Run) -> list[Table]:
    """Rates and CPU for each size, how much less CPU than the connector, and the growth."""
    figures = Figures(run["measurements"])
    made = []
    for size in _sizes(run):
        rows = [
            [f"{what}: {reader}", *_cells(figures, f"{reader}.{job}", f"{PEER}.{job}", size)]
            for job, what in JOBS.items()
            for reader in READERS
            if figures.series(f"{reader}.{job}", size, _rate)
        ]
        columns = ["job: reader", "rows/s", "CPU s", "times less CPU than the connector on Kafka"]
        made.append(Table(f"{run['scale']['rows']:,} rows, values of {size} B", columns, rows))
    return [*made, _aims(run, figures), _growth(run)]


def _cells(figures: Figures, label: str, peer: str, size: int) -> list[str]:
    cpu = figures.series(label, size, _cpu)
    less = "" if label == peer else spread_text(_less(figures, label, size), 1)
    return [median_text(spread(figures.series(label, size, _rate))), median_text(spread(cpu), 2), less]


def _less(figures: Figures, label: str, size: int) -> Spread | None:
    """How many times less CPU than the connector on Kafka for the same job."""
    peer = f"{PEER}.{label.rpartition('.')[2]}"
    return spread(ratio(figures.series(peer, size, _cpu), figures.series(label, size, _cpu)))


def _aims(run: Run, figures: Figures) -> Table:
    rows = []
    for label, aim in AIMS.items():
        reader, _, job = label.rpartition(".")
        for size in _sizes(run):
            found = _less(figures, label, size)
            if found is not None:
                verdict = "met" if found.median >= aim else "missed"
                rows.append([f"{JOBS[job]}: {reader}, {size} B", f"{aim:g}", spread_text(found, 1), verdict])
    return Table("Aims", ["times less CPU than the connector on Kafka", "aim", "found", ""], rows)


def _growth(run: Run) -> Table:
    grown = [m for m in run["measurements"] if str(m["label"]).startswith("growth") and "error" not in m]
    rows = [
        [
            f"{JOBS[str(m['label']).rpartition('.')[2]]}: {int(str(m['total'])):,} rows in {m['segments']} segments",
            f"{float(str(m['rows'])) / float(str(m['seconds'])):,.0f}",
            f"{float(str(m['seconds'])):.2f}",
            f"{float(str(m['cpu_seconds'])):.2f}",
        ]
        for m in sorted(grown, key=lambda each: str(each["label"]))
    ]
    return Table("How it grows, values of 100 B", ["job", "rows/s", "seconds", "CPU s"], rows)


def ratio_bars(run: Run) -> dict[str, Bars]:
    """Less CPU than the connector on Kafka, in times."""
    figures = Figures(run["measurements"])
    panels: dict[str, Bars] = {}
    for size in _sizes(run):
        bars: Bars = []
        for job, what in JOBS.items():
            for reader in READERS:
                value = _less(figures, f"{reader}.{job}", size)
                if value is not None and reader != PEER:
                    bars.append((f"{what}: {reader}", value))
        panels[f"Spark's connector on Kafka, {size} B, by rows for a CPU second"] = bars
    return panels
