"""What the commands say: data on stdout, talk on stderr, both readable without colour."""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from typing import TYPE_CHECKING

from holdfast.errors import Rejected

if TYPE_CHECKING:
    from rich.console import Console


def tell(sentence: str) -> None:
    """One sentence for the person at the terminal."""
    print(sentence, file=sys.stderr, flush=True)


def sentence_of(failure: Exception) -> str:
    """What went wrong, for people."""
    if isinstance(failure, OSError) and failure.strerror:
        where = f"{failure.filename}: " if failure.filename else ""
        return f"holdfast: {where}{failure.strerror}"
    return f"holdfast: {failure}"


class OutputForm(StrEnum):
    """How facts are printed."""

    table = "table"
    json = "json"
    csv = "csv"


def choose_form(form: OutputForm) -> None:
    """How `give_json` prints from now on."""
    global _rows
    _rows = CsvRows() if form is OutputForm.csv else None


def give_json(value: object) -> None:
    """One JSON object on one line of stdout; or one row, where CSV was asked for."""
    if _rows is not None and isinstance(value, dict):
        _rows.give(value)
    else:
        print(json.dumps(value, separators=(",", ":")))


class CsvRows:
    """Facts as CSV, under the names of the first ones. What is a list or an object is JSON in its cell."""

    def __init__(self) -> None:
        self._names: list[str] = []

    def give(self, facts: dict[str, object]) -> None:
        import csv  # Here: few ask for it.

        writer = csv.writer(sys.stdout, lineterminator="\n")
        if not self._names:
            self._names = list(facts)
            writer.writerow(self._names)
        if unknown := facts.keys() - set(self._names):
            raise Rejected(f"{min(unknown)} has no column: rows differ here, take --output json")
        writer.writerow([_cell(facts.get(name)) for name in self._names])


_rows: CsvRows | None = None


def _cell(value: object) -> object:
    if isinstance(value, dict | list | bool):
        return json.dumps(value, separators=(",", ":"))
    return value


def data_console() -> Console:
    """A console for tables on stdout; no markup or colour is needed to read them."""
    from rich.console import Console  # Here: who prints no table does not wait for it.

    return Console(highlight=False, soft_wrap=True)
