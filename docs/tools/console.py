"""Writes the page of the console's routes from the code: `make docs`. With --check it only compares, for the tests."""

from __future__ import annotations

from pathlib import Path

from publish import publish

from holdfast.console.changes import CHANGES, Change
from holdfast.console.routes import Route
from holdfast.console.table import ROUTES

PAGE = Path(__file__).parents[1] / "reference" / "console.md"
NOTICE = "<!-- Written by docs/tools/console.py from the code. Do not edit: change the code, then `make docs`. -->"
HEAD = """# Routes of the console

`holdfast serve --console HOST:PORT` answers these ([guide](../guides/console.md)). A browser gets a page; with
`Accept: application/json` the answer is what the page shows, and with `Accept: text/event-stream` that of each second,
but for searches. A change is sent as JSON, with the `Origin` of the console. Every answer names its moment (`at_ms`)
and the broker it speaks of.

"""


def text_of(route: Route) -> str:
    rows = "".join(f"\n- `{name}`: {meaning}" for name, meaning in route.query.items())
    search = " A search: 4 at the same time." if route.is_scan else ""
    asks = f"\n\nIn its query:\n{rows}" if rows else ""
    return f"## `GET {route.path}`\n\n{route.shows}\n\nNeeds: {route.right.value}. Costs: {route.cost}.{search}{asks}\n"


def text_of_change(change: Change) -> str:
    twice = f" The body repeats the name: `repeat`, the {change.repeats}." if change.repeats else ""
    return f"## `POST {change.path}`\n\n{change.shows}{twice}\n\nNeeds: {change.right}, and `console.write=true`.\n"


if __name__ == "__main__":
    publish(PAGE, f"{NOTICE}\n{HEAD}" + "\n".join([*map(text_of, ROUTES), *map(text_of_change, CHANGES)]))
