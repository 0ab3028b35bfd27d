"""ARCHITECTURE.md is short, and the names on it exist."""

from __future__ import annotations

import pkgutil
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "ARCHITECTURE.md").read_text()
NAMES = sorted(set(re.findall(r"`((?:[a-z_]+\.)+[A-Za-z_.]+)`", TEXT)))
FILES = sorted(set(re.findall(r"`([a-z_/]+/[a-z_]+\.py)`", TEXT)))


@pytest.mark.parametrize("name", NAMES)
def test_a_name_on_the_page_exists(name: str) -> None:
    assert pkgutil.resolve_name(f"holdfast.{name}") is not None


@pytest.mark.parametrize("file", FILES)
def test_a_file_on_the_page_exists(file: str) -> None:
    assert (ROOT / "src/holdfast" / file).is_file()


def test_the_page_is_short_and_names_things() -> None:
    assert len(TEXT.splitlines()) <= 300
    assert len(NAMES) > 20
