"""What a run has left in `benchmarks/results`: facts from the JSON, method and tables from the page beside it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

from benchmarks.results import Run, surroundings
from benchmarks.tables import Table

NAMES = ("wal", "log", "broker", "operate", "scale", "spark", "subscribe", "sync", "cluster", "first")
PARTS = {
    "broker": ("broker-requests", "broker-partitions", "broker-looking", "broker-tls", "broker-rights"),
    "operate": ("operate-console",),
    "spark": ("spark-table",),
    "subscribe": ("subscribe-followers",),
}  # Of one benchmark, with results of their own.


@dataclass(frozen=True)
class Stored:
    """One benchmark's last run."""

    name: str
    title: str
    run: Run  # Without its measurements.
    method: str
    tables: list[Table]
    remarks: str  # Written by hand, in `NAME.remarks.md`.
    has_plot: bool

    @property
    def around(self) -> str:
        return surroundings(self.run)

    @property
    def rounds(self) -> int:
        return int(str(self.run["scale"]["rounds"]))

    @property
    def is_quick(self) -> bool:
        return bool(self.run["scale"].get("quick"))


def read_results(folder: Path) -> list[Stored]:
    """All runs that are there, in the order of the page."""
    names = [part for name in NAMES for part in (name, *PARTS.get(name, ()))]
    return [_read(folder, name) for name in names if (folder / f"{name}.json").exists()]


def _read(folder: Path, name: str) -> Stored:
    run: Run = json.loads((folder / f"{name}.json").read_text())
    run["measurements"] = []
    head, *sections = re.split(r"^## ", (folder / f"{name}.md").read_text(), flags=re.MULTILINE)
    title, _, method = head.removeprefix("# ").split("\n\n", 2)  # Between them: facts, which are in the JSON.
    for note in run["notes"]:
        method = method.replace(note[0].upper() + note[1:] + ".", "")
    remarks = folder / f"{name}.remarks.md"
    return Stored(
        name,
        title.strip(),
        run,
        method.strip(),
        [_table(each) for each in sections],
        remarks.read_text().strip() if remarks.exists() else "",
        (folder / f"{name}.png").exists(),
    )


def _table(section: str) -> Table:
    title, _, body = section.partition("\n")
    lines = [line for line in body.splitlines() if line.startswith("|")]
    columns, _, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return Table(title.strip(), columns, rows)
