"""Fills the column "held by" of docs/guarantees.md from the docstrings of the tests: `make docs`, or --check.

A test holds a row when its docstring (or its class's, or its module's) says the row's id before a colon: `W7: …`, or
`W4, W10: …`. One function of them says besides `The test of W7.`: the one that would fail first and most plainly if the
promise were broken. It is shown, the files of the others are folded. The promise and what is still open are written by
hand.
"""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from publish import publish

DOCS = Path(__file__).parents[1]
ROOT = DOCS.parent
ROW_COUNTS = {"W": 10, "L": 6, "A": 8, "S": 9, "P": 5, "K": 12, "D": 12, "X": 12, "C": 12, "V": 7, "O": 6}
ROWS = [f"{letter}{number}" for letter, count in ROW_COUNTS.items() for number in range(1, count + 1)]

_ID = r"[WLASPKDXCVO]\d{1,2}"
_NAMED = re.compile(rf"\b({_ID}(?:(?:, | and |, and ){_ID})*):")
_CHOSEN = re.compile(rf"\bThe test of ({_ID}(?:(?:, | and ){_ID})*)\.")
_TABLE_ROW = re.compile(rf"\| ({_ID}) \| (.*) \| (.*) \| (.*) \|")


class Docstring(NamedTuple):
    """What is said of a test, a class of them, or a whole file."""

    test: str  # As pytest is given it.
    text: str

    def rows(self, said: re.Pattern[str] = _NAMED) -> set[str]:
        """The ids that it names: before a colon, or as those of which it is the test."""
        return {row for group in said.findall(self.text) for row in re.findall(_ID, group)}


class Holders(NamedTuple):
    """Who holds a row."""

    files: set[str]
    chosen: list[str]  # The tests that say to be the test of it.


def docstrings(file: str) -> Iterator[Docstring]:
    """Every docstring of a Python file."""

    def below(node: ast.AST, name: str) -> Iterator[Docstring]:
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield Docstring(name, ast.get_docstring(node) or "")
        for child in ast.iter_child_nodes(node):
            yield from below(child, f"{name}::{child.name}" if hasattr(child, "name") else name)

    return below(ast.parse((ROOT / file).read_text(encoding="utf-8")), file)


def held_by() -> dict[str, Holders]:
    """Every row that tests name, with those tests."""
    found: dict[str, Holders] = {}
    for each in (each for file in test_files() for each in docstrings(file)):
        for row in each.rows():
            found.setdefault(row, Holders(set(), [])).files.add(each.test.partition("::")[0])
        for row in each.rows(_CHOSEN):
            assert row in each.rows(), f"{each.test} says to be the test of {row}, and not what of it: `{row}: …`"
            assert "::test_" in each.test, f"{each.test} is no test, and says to be that of {row}"
            found[row].chosen.append(each.test)
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
    unclear = {row: each.chosen for row, each in found.items() if len(each.chosen) != 1}
    assert not unclear, f"exactly one test says in its docstring, for W7, `The test of W7.`; not so: {unclear}"
    return "".join(f"{fill(line, found)}\n" for line in there.splitlines())


def fill(line: str, found: dict[str, Holders]) -> str:
    """One line of the page; a row of the table gets its test, and the links to the others."""
    match = _TABLE_ROW.fullmatch(line)
    if not match:
        return line
    row, promise, _, remark = match.groups()
    return f"| {row} | {promise} | {links(found[row]) if row in found else 'not yet'} | {remark} |"


def links(holders: Holders) -> str:
    """The test by its name, and the other files with a count, folded."""
    [test] = holders.chosen
    file, _, name = test.partition("::")
    others = [f"[{Path(each).stem.removeprefix('test_')}](../{each})" for each in sorted(holders.files - {file})]
    folded = f"<details><summary>and {len(others)} more</summary>{', '.join(others)}</details>" if others else ""
    return f"[{file.removeprefix('tests/')}](../{file})::`{name}`{folded}"


if __name__ == "__main__":
    guarantees = DOCS / "guarantees.md"
    publish(guarantees, page(guarantees.read_text(encoding="utf-8")))
