"""Every promise is listed, with the one test that is to fail first, and every test that a promise names holds it."""

from __future__ import annotations

import ast
import re
import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "guarantees.md"
COUNTS = {"W": 10, "L": 6, "A": 8, "S": 9, "P": 5, "K": 12, "D": 12, "X": 12, "C": 12, "V": 7, "O": 6}


def listed() -> dict[str, str]:
    """The page's rows: id and the column "held by"."""
    rows = re.findall(r"^\| ([A-Z]\d+) \| [^|]+ \| ([^|]+) \| [^|]* \|$", PAGE.read_text(), re.MULTILINE)
    assert len(rows) == len(dict(rows)), "a row is listed twice"
    return dict(rows)


def links(cell: str) -> list[str]:
    return re.findall(r"\]\(\.\./([^)]+)\)", cell)


@cache
def docstrings() -> dict[str, dict[str, str]]:
    """Those of every file of tests in git, by the name of what has them."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    in_git = subprocess.run(["git", "ls-files", "tests/*.py"], cwd=ROOT, capture_output=True, text=True, check=True)
    found: dict[str, dict[str, str]] = {}
    for file in in_git.stdout.split():
        nodes = (node for node in ast.walk(ast.parse((ROOT / file).read_text())) if isinstance(node, kinds))
        found[file] = {getattr(node, "name", ""): ast.get_docstring(node) or "" for node in nodes}
    return found


def called_the_test_of(row: str) -> list[tuple[str, str]]:
    """Files and names of all that say to be the test of a row."""
    said = re.compile(rf"\bThe test of (?:[A-Z]\d+(?:, | and ))*{row}\b")
    return [(file, name) for file, texts in docstrings().items() for name, text in texts.items() if said.search(text)]


def test_every_row_is_listed() -> None:
    assert set(listed()) == {f"{letter}{number + 1}" for letter, count in COUNTS.items() for number in range(count)}


def test_every_promise_that_is_held_shows_the_test_of_it() -> None:
    """Exactly one function says to be it, and the page shows it first; the other files are folded, and counted."""
    for row, held_by in listed().items():
        if held_by == "not yet":
            assert not called_the_test_of(row), f"{row} has a test: run `make docs`"
            continue
        shown, _, folded = held_by.partition("<details>")
        [file], [name] = links(shown), re.findall(r"::`(?:\w+::)?(test_\w+)`$", shown)
        assert called_the_test_of(row) == [(file, name)], (
            f"exactly one test says `The test of {row}.`; then `make docs`"
        )
        assert not folded or f"<summary>and {len(links(folded))} more</summary>" in folded


def test_every_test_that_a_row_names_exists_and_names_the_row() -> None:
    for row, held_by in listed().items():
        files = links(held_by)
        assert files or held_by == "not yet", f"{row} neither names a test nor says that there is none"
        for file in files:
            assert re.search(rf"\b{row}\b", "\n".join(docstrings()[file].values())), f"{file} does not name {row}"


def test_every_row_that_a_test_names_is_listed_with_that_test() -> None:
    rows = listed()
    for file, texts in docstrings().items():
        for row in re.findall(r"^\s*([A-Z]\d{1,2}):", "\n".join(texts.values()), re.MULTILINE):
            assert file in rows[row], f"{file} holds {row}: run `make docs`"
