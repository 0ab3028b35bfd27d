"""Links between pages lead somewhere, and every page can be found."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def without_code(text: str) -> str:
    """A page without its blocks and pieces of code, in which brackets are no links."""
    return re.sub(r"`[^`\n]*`", "", re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL))


@cache
def links(page: Path) -> list[str]:
    found = LINK.findall(without_code(page.read_text()))
    return [each for each in found if not re.match(r"[a-z]+:", each)]


@cache
def anchors(page: Path) -> set[str]:
    """The names of a page's headings, as they are linked to."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", each.lower()).strip().replace(" ", "-") for each in headings}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_link_leads_somewhere(page: Path) -> None:
    """Files and headings that a page links to are there."""
    for link in links(page):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{name_of(page)} links to {link}, which is not there"
        assert not anchor or anchor in anchors(target), f"{name_of(page)} links to {link}: there is no such heading"


@pytest.mark.parametrize("page", [each for each in PAGES if each.is_relative_to(ROOT / "docs")], ids=name_of)
def test_every_page_is_listed(page: Path) -> None:
    """docs/README.md, or the list of its own folder, leads to each page."""
    lists = [each for each in (ROOT / "docs" / "README.md", page.parent / "README.md") if each.exists()]
    listed = {(each.parent / link.partition("#")[0]).resolve() for each in lists for link in links(each)}
    assert page in {*listed, lists[0]}, f"list {name_of(page)} in {name_of(lists[-1])}"


def test_a_link_in_code_is_no_link() -> None:
    assert LINK.findall(without_code("`a[0](b)` [see](there.md)\n```\n[x](y)\n```\n")) == ["there.md"]
