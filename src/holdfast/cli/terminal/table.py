"""Facts as JSON lines or as a table that reads well without colour."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from holdfast.cli.terminal.talk import data_console, give_json

_GAP = 2  # Between columns.


def give_table(facts: Sequence[Mapping[str, Any]], columns: Mapping[str, str], *, as_json: bool) -> None:
    """One row for each, with these columns: the name of the fact, and the title."""
    if as_json:
        for each in facts:
            give_json(each)
        return
    from rich.cells import cell_len
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="")
    for name, title in columns.items():
        number = any(type(each[name]) is int for each in facts)
        table.add_column(title, justify="right" if number else "left", no_wrap=True)
    rows = [[shown(each[name]) for name in columns] for each in facts]
    for row in rows:
        table.add_row(*map(Text, row))
    widths = [max(map(cell_len, column)) for column in zip(columns.values(), *rows, strict=True)]
    console = data_console()
    console.width = max(console.width, sum(widths) + _GAP * len(widths))  # A cell that is cut tells nothing.
    console.print(table)


def shown(value: object) -> str:
    """A value for people."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)
