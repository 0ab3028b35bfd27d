"""A run and its files: all raw figures as JSON, the tables as Markdown."""

from __future__ import annotations

import datetime
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import TypedDict

from benchmarks import machine
from benchmarks.tables import Table
from rich.console import Console

BUSY_PERCENT_MAX = 15
BUSY = "others kept the machine busy, and whoever wakes from an fsync waits for a core: measure again when it is quiet"


class Run(TypedDict):
    """A run as it is stored."""

    date: str
    scale: Mapping[str, object]
    machine: dict[str, str]
    versions: dict[str, str]
    load: tuple[float, float]  # The one-minute load average: lowest and highest.
    busy_percent: tuple[float, float]  # What others used of all cores: median and highest.
    notes: list[str]
    measurements: list[dict[str, object]]


def new_run(
    scale: Mapping[str, object], directory: Path, versions: dict[str, str], measurements: list[dict[str, object]]
) -> Run:
    """A run that has just been made."""
    load, busy = ([float(str(m[key])) for m in measurements] for key in ("load", "busy_percent"))
    return Run(
        date=datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        scale=scale,
        machine=machine.describe(directory),
        versions=versions,
        load=(min(load), max(load)),
        busy_percent=(median(busy), max(busy)),
        notes=[BUSY] if median(busy) > BUSY_PERCENT_MAX else [],
        measurements=measurements,
    )


def write_json(run: Run, path: Path) -> None:
    # One line for each measurement: a diff of two runs stays readable.
    head = json.dumps({key: value for key, value in run.items() if key != "measurements"}, indent=1, ensure_ascii=False)
    measurements = ",\n  ".join(json.dumps(measurement, ensure_ascii=False) for measurement in run["measurements"])
    path.write_text(f'{head[:-2]},\n "measurements": [\n  {measurements}\n ]\n}}\n')


def write_markdown(run: Run, title: str, method: str, tables: Sequence[Table], path: Path) -> None:
    parts = [f"# {title}", _facts(run), method]
    parts += [note[0].upper() + note[1:] + "." for note in run["notes"]]
    parts += [f"## {table.title}\n\n{table.to_markdown()}" for table in tables]
    path.write_text("\n\n".join(parts) + "\n")


def publish(
    run: Run,
    title: str,
    method: str,
    tables: Sequence[Table],
    stem: Path | None,
    plot: Callable[[Path], None] | None = None,
) -> None:
    """Show a run, and store it as files of that name: raw figures, tables, and the plot if there is one."""
    output = show(run, tables)
    if stem is None:
        return
    write_files(run, title, method, tables, stem)
    if plot is not None:
        plot(stem.with_name(f"{stem.name}.png"))
    output.print(f"written: {stem}.json, .md{', .png' if plot else ''}", markup=False)


def results_of(results: Path | None, *, quick: bool) -> Path | None:
    """Where a run is stored: where it was asked to be, or with the others; a quick one nowhere."""
    return results if results or quick else machine.CHECKOUT / "benchmarks" / "results"


def show(run: Run, tables: Sequence[Table]) -> Console:
    """The tables and the notes of a run, for whoever started it."""
    output = Console(width=None if sys.stdout.isatty() else 160)
    for table in tables:
        output.print(table.to_rich())
    for note in run["notes"]:
        output.print(note, markup=False)
    output.print(surroundings(run), markup=False)
    return output


def write_files(run: Run, title: str, method: str, tables: Sequence[Table], stem: Path) -> None:
    """The raw figures and the tables as files of that name."""
    stem.parent.mkdir(parents=True, exist_ok=True)
    write_json(run, stem.with_name(f"{stem.name}.json"))
    write_markdown(run, title, method, tables, stem.with_name(f"{stem.name}.md"))


def surroundings(run: Run) -> str:
    """How quiet the machine was."""
    load, busy = run["load"], run["busy_percent"]
    return f"load average {load[0]} to {load[1]}, others used {busy[0]:.0f} % of the cores (at most {busy[1]:.0f} %)"


def _facts(run: Run) -> str:
    facts = {"date": run["date"], **run["machine"], **run["versions"], "rounds": run["scale"]["rounds"]}
    facts["around"] = surroundings(run)
    return "\n".join(f"- {key}: {value}" for key, value in facts.items())
