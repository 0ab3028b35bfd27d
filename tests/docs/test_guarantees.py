"""Every promise is listed, and every test that a promise names holds it."""

from __future__ import annotations

import ast
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "guarantees.md"
COUNTS = {"W": 10, "L": 6, "A": 8, "S": 9, "P": 5, "K": 12, "D": 12, "X": 12, "O": 6}


def listed() -> dict[str, str]:
    """The page's rows: id and the column "held by"."""
    rows = re.findall(r"^\| ([A-Z]\d+) \| [^|]+ \| ([^|]+) \| [^|]* \|$", PAGE.read_text(), re.MULTILINE)
    assert len(rows) == len(dict(rows)), "a row is listed twice"
    return dict(rows)


def docstrings(path: Path) -> str:
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    nodes = (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, kinds))
    return "\n".join(ast.get_docstring(node) or "" for node in nodes)


def test_every_row_is_listed() -> None:
    assert set(listed()) == {f"{letter}{number + 1}" for letter, count in COUNTS.items() for number in range(count)}


def test_every_test_that_a_row_names_exists_and_names_the_row() -> None:
    for row, held_by in listed().items():
        files = re.findall(r"\]\(\.\./([^)]+)\)", held_by)
        assert files or held_by == "not yet", f"{row} neither names a test nor says that there is none"
        for file in files:
            assert re.search(rf"\b{row}\b", docstrings(ROOT / file)), f"{file} does not name {row}"


def test_every_row_that_a_test_names_is_listed_with_that_test() -> None:
    rows = listed()
    in_git = subprocess.run(["git", "ls-files", "tests/*.py"], cwd=ROOT, capture_output=True, text=True, check=True)
    for file in in_git.stdout.split():
        for row in re.findall(r"^\s*([A-Z]\d{1,2}):", docstrings(ROOT / file), re.MULTILINE):
            assert file in rows[row], f"{file} holds {row}: run `make docs`"
