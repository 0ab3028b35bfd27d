"""The figures of a run as tables: rates, ratios, CPU and memory, and whether the aims are met."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from benchmarks.bars import Bars
from benchmarks.figures import Series, Spread, ratio, spread
from benchmarks.tables import Table, median_text, spread_text

BROKERS = ("holdfast", "kafka", "kafka + fsync")
Rows = Sequence[dict[str, object]]


def series(rows: Rows, broker: str, workload: str, key: str) -> Series:
    return {
        int(str(row["round"])): float(str(row[key]))
        for row in rows
        if row["broker"] == broker and row["workload"] == workload and key in row
    }


def workloads_with(rows: Rows, key: str) -> list[str]:
    return list(dict.fromkeys(str(row["workload"]) for row in rows if key in row))


def tables(rows: Rows) -> list[Table]:
    shown = [_rates(rows), _transactions(rows), _cost(rows), _latencies(rows), _aims(rows)]
    return [table for table in shown if table.rows]  # A run of a part has nothing to say about the others.


def against(rows: Rows, workload: str, key: str, peer: str) -> Spread | None:
    return spread(ratio(series(rows, "holdfast", workload, key), series(rows, peer, workload, key)))


def _rates(rows: Rows) -> Table:
    columns = ["records/s", *BROKERS, "÷ kafka", "÷ kafka + fsync"]
    lines = [_rate(rows, workload, "records_per_second") for workload in workloads_with(rows, "records_per_second")]
    return Table("Rates", columns, lines)


def _rate(rows: Rows, workload: str, key: str) -> list[str]:
    rates = [median_text(spread(series(rows, broker, workload, key))) for broker in BROKERS]
    ratios = [spread_text(against(rows, workload, key, peer)) for peer in BROKERS[1:]]
    return [workload, *rates, *ratios]


def _transactions(rows: Rows) -> Table:
    """What is added is the time of a transaction less that of the same records without one."""
    columns = ["transactions/s", *BROKERS, "÷ kafka", "÷ kafka + fsync", "added ms (all)"]
    lines = []
    for workload in workloads_with(rows, "transactions_per_second"):
        added = [median_text(spread(series(rows, each, workload, "added_ms")), 2) for each in BROKERS]
        lines.append([*_rate(rows, workload, "transactions_per_second"), " / ".join(added)])
    return Table("Transactions", columns, lines)


def _cost(rows: Rows) -> Table:
    columns = ["median", *(f"{name}: CPU ms/MB" for name in BROKERS), "÷ kafka", "client CPU s", "memory MiB (all)"]
    lines = []
    for workload in workloads_with(rows, "broker_cpu_ms_per_mb"):
        costs = [median_text(spread(series(rows, each, workload, "broker_cpu_ms_per_mb")), 2) for each in BROKERS]
        clients = median_text(spread(series(rows, "holdfast", workload, "client_cpu_seconds")), 1)
        memory = [median_text(spread(series(rows, each, workload, "broker_memory_mib"))) for each in BROKERS]
        compared = spread_text(against(rows, workload, "broker_cpu_ms_per_mb", "kafka"))
        lines.append([workload, *costs, compared, clients, " / ".join(memory)])
    return Table("What it costs the broker", columns, lines)


def _latencies(rows: Rows) -> Table:
    columns = ["ms", *(f"{name} p50 / p99" for name in BROKERS)]
    lines = []
    for workload in workloads_with(rows, "p99_ms"):
        cells = []
        for broker in BROKERS:
            p50, p99 = (spread(series(rows, broker, workload, key)) for key in ("p50_ms", "p99_ms"))
            cells.append(f"{median_text(p50, 2)} / {median_text(p99, 2)}")
        lines.append([workload, *cells])
    return Table("Latencies", columns, lines)


def _aims(rows: Rows) -> Table:
    at_least: Callable[[float, float], bool] = lambda found, aim: found >= aim  # noqa: E731
    at_most: Callable[[float, float], bool] = lambda found, aim: found <= aim  # noqa: E731
    per_transaction = "transactions_per_second"
    rate, cpu, memory = "records_per_second", "broker_cpu_ms_per_mb", "broker_memory_mib"
    large = [each for each in workloads_with(rows, rate) if "large batches" in each or "128 KiB" in each]
    consume = [each for each in workloads_with(rows, rate) if "consume" in each]
    aims = [(each, rate, "kafka", 1.5, at_least, "≥") for each in large]
    aims += [(each, rate, "kafka + fsync", 2.0, at_least, "≥") for each in large]
    aims += [("one record per request, 64 producers", rate, "kafka + fsync", 3.0, at_least, "≥")]
    aims += [(each, rate, "kafka", 1.0, at_least, "≥") for each in consume]
    aims += [(each, per_transaction, "kafka", 1.0, at_least, "≥") for each in workloads_with(rows, per_transaction)]
    aims += [(each, cpu, "kafka", 0.5, at_most, "≤") for each in [*large, *consume]]
    aims += [("end to end at 500/s", "p99_ms", "kafka + fsync", 1.0, at_most, "≤")]
    aims += [("end to end at 500/s", "p99_ms", "kafka", 2.0, at_most, "≤")]
    aims += [("end to end at 500/s", memory, "kafka", 0.25, at_most, "≤")]
    lines = []
    for workload, key, peer, aim, holds, sign in aims:
        found = against(rows, workload, key, peer)
        if found is not None:
            verdict = "met" if holds(found.median, aim) else "missed"
            lines.append([workload, key, peer, f"{sign} {aim}", spread_text(found), verdict])
    return Table("Aims", ["workload", "figure", "against", "aim", "found", ""], lines)


def ratio_bars(rows: Rows) -> dict[str, Bars]:
    """Rates of ours against each peer."""
    panels: dict[str, Bars] = {}
    for what, key in (("records/s", "records_per_second"), ("transactions/s", "transactions_per_second")):
        for peer in BROKERS[1:]:
            found = [(each, against(rows, each, key, peer)) for each in workloads_with(rows, key)]
            panels[f"{peer}, {what}"] = [(name, value) for name, value in found if value is not None]
    return {name: bars for name, bars in panels.items() if bars}
