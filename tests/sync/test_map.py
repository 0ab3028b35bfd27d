"""The names on docs/sync.md exist."""

from __future__ import annotations

import pkgutil
import re
from pathlib import Path

import pytest

TEXT = (Path(__file__).parents[2] / "docs" / "sync.md").read_text()
NAMES = sorted(set(re.findall(r"`(sync\.[A-Za-z_.]+)`", TEXT)))


@pytest.mark.parametrize("name", NAMES)
def test_a_name_on_the_page_exists(name: str) -> None:
    """S8: the map of sync leads to what is there."""
    assert pkgutil.resolve_name(f"holdfast.{name}") is not None
