"""ARCHITECTURE.md and the page of the paths are short, and the names on them exist."""

from __future__ import annotations

import pkgutil
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def _words(text: str) -> list[str]:
    """The names in backquotes that are one word, or a path of such."""
    return [name for name in re.findall(r"`([a-z_/]+)`", text) if not name.endswith("/")]


PAGES = {"ARCHITECTURE.md": 180, "docs/internals.md": 300}  # And how many lines each may have.
TEXT = "\n".join((ROOT / page).read_text() for page in PAGES)
NAMES = sorted(set(re.findall(r"`((?:[a-z_]+\.)+[A-Za-z_.]+)`", TEXT)))
# In the first column of the rooms, and of the second those that a room's row names alone: `net` in the row of `broker`.
ROOMS = re.findall(r"^\| (`[a-z_`, ]+`) \| (.*) \|$", (ROOT / "ARCHITECTURE.md").read_text(), re.MULTILINE)
PARTS = sorted({(room, part) for rooms, text in ROOMS for room in _words(rooms) for part in _words(text)})
FILES = sorted(set(re.findall(r"`([a-z_/]+/[a-z_]+\.py)`", TEXT)))


@pytest.mark.parametrize("name", NAMES)
def test_a_name_on_the_page_exists(name: str) -> None:
    assert pkgutil.resolve_name(f"holdfast.{name}") is not None


@pytest.mark.parametrize("file", FILES)
def test_a_file_on_the_page_exists(file: str) -> None:
    assert (ROOT / "src/holdfast" / file).is_file()


@pytest.mark.parametrize(("room", "part"), PARTS)
def test_a_room_has_what_the_page_says(room: str, part: str) -> None:
    """A folder or a file of the house, or something in the room: a folder, a file, a function."""
    house = ROOT / "src/holdfast"
    inside = [*(house / room).rglob(part), *(house / room).rglob(f"{part}.py")]
    if inside or (house / part).is_dir() or (house / part).with_suffix(".py").is_file():
        return
    assert any(f"def {part}(" in file.read_text() for file in (house / room).rglob("*.py"))


def test_the_pages_are_short_and_name_things() -> None:
    for page, lines_max in PAGES.items():
        assert len((ROOT / page).read_text().splitlines()) <= lines_max, page
    assert len(NAMES) > 20
