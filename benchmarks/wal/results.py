"""Writes a run to files: all raw figures as JSON, the tables as Markdown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TypedDict

from benchmarks.wal.tables import Table

METHOD = """\
Each step runs in a process of its own on a fresh directory. Those that flush run at the same time but take turns of a
tenth of a second, so that drift of the disk hits all alike; the order turns round in every second round. A ratio is
taken between two steps of one round, and its median, lowest and highest over the rounds are given. The raw limit is a
loop of write and fdatasync in Rust over a file that was written before (in Python when there is no cargo), with frames
of the size ours have. Both logs have the same limits for chunks and cache; the peer's `flush_batch_wait` is 0 except
where the table says otherwise. Files that are replayed or read are in the page cache."""


class Run(TypedDict):
    """A run as it is stored."""

    date: str
    scale: dict[str, object]
    machine: dict[str, str]
    versions: dict[str, str]
    load: tuple[float, float]  # The one-minute load average: lowest and highest.
    busy_percent: tuple[float, float]  # What others used of all cores: median and highest.
    notes: list[str]
    measurements: list[dict[str, object]]


def write_json(run: Run, path: Path) -> None:
    # One line for each measurement: a diff of two runs stays readable.
    head = json.dumps({key: value for key, value in run.items() if key != "measurements"}, indent=1, ensure_ascii=False)
    measurements = ",\n  ".join(json.dumps(measurement, ensure_ascii=False) for measurement in run["measurements"])
    path.write_text(f'{head[:-2]},\n "measurements": [\n  {measurements}\n ]\n}}\n')


def write_markdown(run: Run, tables: list[Table], path: Path) -> None:
    parts = ["# The write-ahead log, side by side", _facts(run), METHOD]
    parts += [note[0].upper() + note[1:] + "." for note in run["notes"]]
    parts += [f"## {table.title}\n\n{_table(table)}" for table in tables]
    path.write_text("\n\n".join(parts) + "\n")


def surroundings(run: Run) -> str:
    """How quiet the machine was."""
    load, busy = run["load"], run["busy_percent"]
    return f"load average {load[0]} to {load[1]}, others used {busy[0]:.0f} % of the cores (at most {busy[1]:.0f} %)"


def _facts(run: Run) -> str:
    facts = {"date": run["date"], **run["machine"], **run["versions"], "rounds": run["scale"]["rounds"]}
    facts["around"] = surroundings(run)
    return "\n".join(f"- {key}: {value}" for key, value in facts.items())


def _table(table: Table) -> str:
    rule = ["---", *["---:"] * (len(table.columns) - 1)]
    return "\n".join("| " + " | ".join(row) + " |" for row in [table.columns, rule, *table.rows])
