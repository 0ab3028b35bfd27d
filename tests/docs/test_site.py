"""The site that `make docs-site` builds: no broken links, nothing from elsewhere, search, dark and light."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).parents[2]
LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}  # By looking at a page.
LOADING = {"stylesheet", "preload", "icon", "modulepreload", "manifest"}


class Page(HTMLParser):
    """What a page links to, what it loads, and the names of its places."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.names: set[str] = set()
        self.feed(file.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        said = dict(attrs)
        self.names |= {value for name in ("id", "name") if (value := said.get(name))}
        if tag == "a" and (link := said.get("href")):
            self.links.append(link)
        is_loaded = tag in LOADED and (tag != "link" or LOADING & set((said.get("rel") or "").split()))
        if is_loaded and (address := said.get(LOADED[tag])):
            self.loads.append(address)


@cache
def page(file: Path) -> Page:
    return Page(file)


@pytest.fixture(scope="module")
def site() -> Path:
    done = subprocess.run([sys.executable, "docs/tools/site.py"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return Path(done.stdout.strip()).parent


def test_every_link_of_the_site_leads_somewhere(site: Path) -> None:
    """To a file that is there, and a place in it that is there."""
    broken = []
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 60
    for file in pages:
        for link in [*page(file).links, *page(file).loads]:
            address = urlsplit(link)
            if address.scheme or address.netloc or file.name == "404.html":
                continue
            target = (file.parent / unquote(address.path)).resolve() if address.path else file
            if target.is_dir():
                target /= "index.html"
            place = unquote(address.fragment)
            has_places = target.suffix == ".html" and place and not place.startswith("__")
            if not target.is_file() or (has_places and place not in page(target).names):
                broken.append(f"{file.relative_to(site)}: {link}")
    assert not broken, broken


def test_the_site_loads_nothing_from_elsewhere(site: Path) -> None:
    """It works without a network, and from a file."""
    foreign = {each for file in site.rglob("*.html") for each in page(file).loads if urlsplit(each).netloc}
    assert not foreign
    sheets = "".join(each.read_text() for each in site.rglob("*.css"))
    assert not re.findall(r"(?:url|@import)\W{1,3}(?:https?:)?//", sheets)


def test_the_site_can_be_searched_and_has_a_dark_and_a_light_side(site: Path) -> None:
    found = json.loads((site / "search" / "search_index.json").read_text())["docs"]
    assert any("fsync" in each["text"] for each in found)
    assert (site / "search" / "search_index.js").exists()  # What a page that was opened as a file can load.
    front = (site / "index.html").read_text()
    assert 'data-md-color-scheme="default"' in front
    assert 'data-md-color-scheme="slate"' in front
