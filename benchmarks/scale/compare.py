"""One run from start to end: arguments, measurements, tables, plot, files."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path
from statistics import median

from benchmarks import machine
from benchmarks.arguments import fresh, has_fsync, parser_of, stored_as
from benchmarks.results import new_run, publish
from benchmarks.scale.series import PYTHONS, SERIES, Figures, Series, interpreter
from benchmarks.tables import Table
from rich.console import Console

TITLE = "How cost grows"
METHOD = """\
One `holdfast serve` with default settings, asked by raw connections of Python's. CPU and memory are those of the
broker's process, so that they depend little on what else runs. A request is one record of 100 bytes to one partition,
with its fsync, each waited for. A fetch is one without a session: of all partitions, all of them at their end; among
stored records, of one batch from the first or from the middle offset. Start is the CPU until the port is open, after
kill -9; of stored records after an ordinary stop. Memory of connections is what they add.

Stored records are one record of 1 MiB in each batch that zstd has made small: the log has as many offsets, batches and
index rows as that much data, and far fewer bytes. Groups have one committed offset each, and no members.

The slope is that of a straight line through the first and the last row when both axes are logarithmic: 0 does not grow,
1 grows as much as what there is more of."""
HEADINGS = {
    "request_us": "CPU µs a request",
    "fetch_us": "CPU µs a fetch",
    "metadata_us": "CPU µs for metadata",
    "connect_us": "CPU µs a connect",
    "append_us": "CPU µs an append",
    "commit_us": "CPU µs a commit",
    "start_cpu_s": "start, CPU s",
    "memory_mib": "memory, MiB",
}


def main() -> int:
    parser = parser_of("Measure how the cost of a broker grows.", less="fewer sizes, one round")
    every = [*SERIES, PYTHONS]
    parser.add_argument("--part", choices=[each.name for each in every], help="only this; writes as a quick run does")
    parser.add_argument("--rounds", type=int, help="how many rounds (default 3; quick 1)")
    asked = parser.parse_args()
    if not has_fsync(asked.dir):
        return 2
    rounds = asked.rounds or (1 if asked.quick else 3)
    talk, found = Console(stderr=True), list[dict[str, object]]()
    with fresh(asked.dir / "scale") as folder:
        for number in range(rounds):
            for series in every:
                if asked.part in (None, series.name):
                    found += _measured(series, folder / series.name, number, talk, quick=asked.quick)
    run = new_run({"rounds": rounds, "quick": asked.quick}, asked.dir, machine.versions(), found)
    figures = {each.name: _figures(found, each) for each in every}
    tables = [_table(each, figures[each.name]) for each in every if figures[each.name]]
    from benchmarks.scale.plot import write_plot  # Slow to import, and only needed here.

    stem = stored_as(asked, "scale", part=asked.part is not None)
    publish(run, TITLE, METHOD, tables, stem, partial(write_plot, figures))
    return 0


def _measured(series: Series, folder: Path, number: int, talk: Console, *, quick: bool) -> list[dict[str, object]]:
    found: list[dict[str, object]] = []
    for size in series.quick if quick else series.sizes:
        if series is PYTHONS and not interpreter(size).exists():
            talk.print(f"Python 3.{size} is left out: {interpreter(size)} is not there")
            continue
        talk.print(f"round {number + 1}: {size:,} {series.what}")
        around = machine.around()
        with fresh(folder) as place:
            found.append({"series": series.name, "size": size, "round": number} | series.measure(place, size) | around)
    return found


def _figures(found: list[dict[str, object]], series: Series) -> dict[int, Figures]:
    """The median over the rounds, by size."""
    figures: dict[int, Figures] = {}
    for size in series.sizes:
        rounds = [each for each in found if each["series"] == series.name and each["size"] == size]
        names = [name for name in HEADINGS if rounds and name in rounds[0]]
        if names:
            figures[size] = {name: median(float(str(each[name])) for each in rounds) for name in names}
    return figures


def slope(figures: dict[int, Figures], name: str) -> float:
    """Between the first and the last size, on logarithmic axes."""
    first, last = min(figures), max(figures)
    before, after = figures[first][name], figures[last][name]
    return math.log(max(after, 1e-9) / max(before, 1e-9)) / math.log(last / first) if last > first else math.nan


def _table(series: Series, figures: dict[int, Figures]) -> Table:
    names = list(next(iter(figures.values())))
    label = (lambda size: f"3.{size}") if series is PYTHONS else (lambda size: f"{size:,}")
    rows = [[label(size), *(_text(name, each[name]) for name in names)] for size, each in figures.items()]
    if series is not PYTHONS and len(figures) > 1:
        rows.append(["slope", *(f"{slope(figures, name):.2f}" for name in names)])
    return Table(series.title, [series.what, *(HEADINGS[name] for name in names)], rows)


def _text(name: str, value: float) -> str:
    return f"{value:.2f}" if name == "start_cpu_s" else f"{value:,.1f}" if value < 100 else f"{value:,.0f}"
