"""Fills the column "held by" of docs/guarantees.md from the docstrings of the tests: `make docs`, or --check.

A test holds a row when its docstring (or its class's, or its module's) says the row's id before a colon: `W7: …`, or
`W4, W10: …`. The promise and what is still open are written by hand.
"""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

from publish import publish

DOCS = Path(__file__).parents[1]
ROOT = DOCS.parent
ROW_COUNTS = {"W": 10, "L": 6, "A": 8, "S": 9, "P": 5, "K": 12, "D": 12, "X": 12, "O": 6}
ROWS = [f"{letter}{number}" for letter, count in ROW_COUNTS.items() for number in range(1, count + 1)]

_ID = r"[WLASPKDXO]\d{1,2}"
_NAMED = re.compile(rf"\b({_ID}(?:(?:, | and |, and ){_ID})*):")
_TABLE_ROW = re.compile(rf"\| ({_ID}) \| (.*) \| (.*) \| (.*) \|")


def docstrings(path: Path) -> Iterator[str]:
    """Every docstring of a Python file."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield ast.get_docstring(node) or ""


def rows_named(text: str) -> set[str]:
    """The ids that a docstring names before a colon."""
    return {row for group in _NAMED.findall(text) for row in re.findall(_ID, group)}


def held_by() -> dict[str, list[str]]:
    """Every row that tests name, with the files of those tests."""
    found: dict[str, list[str]] = {}
    for file in test_files():
        for row in sorted({row for text in docstrings(ROOT / file) for row in rows_named(text)}):
            found.setdefault(row, []).append(file)
    return found


def test_files() -> list[str]:
    """The tests in git: what is only on this machine holds nothing for others."""
    command = ["git", "-C", str(ROOT), "ls-files", "tests/*.py"]
    return sorted(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())


def page(there: str) -> str:
    """The page with its column filled; every row must be listed once, and no other."""
    found = held_by()
    listed = [match[1] for match in map(_TABLE_ROW.fullmatch, there.splitlines()) if match]
    assert listed == ROWS, f"docs/guarantees.md must list every row once, in order: {set(ROWS) ^ set(listed)}"
    assert set(found) <= set(ROWS), f"tests name rows that do not exist: {set(found) - set(ROWS)}"
    return "".join(f"{fill(line, found)}\n" for line in there.splitlines())


def fill(line: str, found: dict[str, list[str]]) -> str:
    """One line of the page; a row of the table gets the links to its tests."""
    match = _TABLE_ROW.fullmatch(line)
    if not match:
        return line
    row, promise, _, remark = match.groups()
    links = ", ".join(f"[{Path(file).stem.removeprefix('test_')}](../{file})" for file in found.get(row, []))
    return f"| {row} | {promise} | {links or 'not yet'} | {remark} |"


if __name__ == "__main__":
    guarantees = DOCS / "guarantees.md"
    publish(guarantees, page(guarantees.read_text(encoding="utf-8")))
