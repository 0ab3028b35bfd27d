"""ARCHITECTURE.md and the page of the paths are short, and the names on them exist."""

from __future__ import annotations

import pkgutil
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = {"ARCHITECTURE.md": 180, "docs/internals.md": 300}  # And how many lines each may have.
TEXT = "\n".join((ROOT / page).read_text() for page in PAGES)
NAMES = sorted(set(re.findall(r"`((?:[a-z_]+\.)+[A-Za-z_.]+)`", TEXT)))
FILES = sorted(set(re.findall(r"`([a-z_/]+/[a-z_]+\.py)`", TEXT)))


@pytest.mark.parametrize("name", NAMES)
def test_a_name_on_the_page_exists(name: str) -> None:
    assert pkgutil.resolve_name(f"holdfast.{name}") is not None


@pytest.mark.parametrize("file", FILES)
def test_a_file_on_the_page_exists(file: str) -> None:
    assert (ROOT / "src/holdfast" / file).is_file()


def test_the_pages_are_short_and_name_things() -> None:
    for page, lines_max in PAGES.items():
        assert len((ROOT / page).read_text().splitlines()) <= lines_max, page
    assert len(NAMES) > 20
