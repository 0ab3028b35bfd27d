"""The figures of a run as tables of text, for a terminal and for a page."""

from __future__ import annotations

from typing import NamedTuple

from benchmarks.figures import Spread
from rich.table import Table as RichTable


class Table(NamedTuple):
    """Text in columns; the first column says what a row is about."""

    title: str
    columns: list[str]
    rows: list[list[str]]

    def to_rich(self) -> RichTable:
        shown = RichTable(title=self.title, title_justify="left")
        for number, column in enumerate(self.columns):
            shown.add_column(column, justify="left" if number == 0 else "right")
        for row in self.rows:
            shown.add_row(*row)
        return shown

    def to_markdown(self) -> str:
        rule = ["---", *["---:"] * (len(self.columns) - 1)]
        return "\n".join("| " + " | ".join(row) + " |" for row in [self.columns, rule, *self.rows])


def median_text(value: Spread | None, digits: int = 0) -> str:
    return f"{value.median:,.{digits}f}" if value else ""


def spread_text(value: Spread | None, digits: int = 2) -> str:
    """Median, lowest and highest."""
    if value is None:
        return ""
    return f"{value.median:.{digits}f} ({value.low:.{digits}f} to {value.high:.{digits}f})"
