"""The names on docs/subscriptions.md exist."""

from __future__ import annotations

import pkgutil
import re
from pathlib import Path

import pytest

TEXT = (Path(__file__).parents[2] / "docs" / "subscriptions.md").read_text()
NAMES = sorted(set(re.findall(r"`(subscribe\.[A-Za-z_.]+)`", TEXT)))


@pytest.mark.parametrize("name", NAMES)
def test_a_name_on_the_page_exists(name: str) -> None:
    assert pkgutil.resolve_name(f"holdfast.{name}") is not None


def test_the_page_names_things() -> None:
    assert len(NAMES) > 15
