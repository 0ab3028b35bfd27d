"""Builds the site of all pages, which works offline and from a file: `make docs-site`, into build/site/html.

The pages are copied first, in the shape that they have in the repository, so that their links lead to each other.
What a page links to beside pages and images, such as a test, is not on the site: its name stays, without a link.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PLACE = ROOT / "build" / "site"
SHOWN = {".md", ".png", ".svg"}

_WORKER = Path(__file__).with_name("file_worker.js")
_FOREIGN_WORKER = "https://unpkg.com/iframe-worker/shim"
_LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)\s]+)\)")
_ITEM = re.compile(r"(?:[-*]|\d+\.) ")


def copy_pages(place: Path) -> None:
    """All pages and pictures below `place`; the README is the first page."""
    for source in _shown():
        target = place / _place_of(source.relative_to(ROOT))
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.suffix == ".md":
            target.write_text(page(source))
        else:
            shutil.copy(source, target)


@cache
def _shown() -> frozenset[Path]:
    plots = (ROOT / "benchmarks" / "results").glob("*.png")
    return frozenset(each for each in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*"), *plots] if each.suffix in SHOWN)


def page(source: Path) -> str:
    """A page as it stands on the site."""
    return "".join(_lines(source)).replace("(docs/README.md", "(docs/index.md")


def _lines(source: Path) -> list[str]:
    lines: list[str] = []
    is_code = False
    for line in source.read_text().splitlines(keepends=True):
        is_code ^= line.startswith("```")
        if is_code:
            lines.append(line)
            continue
        before = lines[-1] if lines else "\n"
        if _ITEM.match(line) and before.strip() and not (_ITEM.match(before) or before.startswith(" ")):
            lines.append("\n")  # A list begins after an empty line, or the site's Markdown sees none.
        lines.append(_LINK.sub(lambda link: _link(source, link), line))
    return lines


def _link(source: Path, link: re.Match[str]) -> str:
    text, address = link.groups()
    if re.match(r"[a-z]+:", address) or address.startswith("#"):
        return link[0]
    path, sign, anchor = address.partition("#")
    target = (source.parent / path).resolve()
    if target.is_dir() and (target / "README.md").exists():
        path, target = f"{path.rstrip('/')}/README.md", target / "README.md"
    if target not in _shown():
        return text
    changed = str(Path(path).parent / "index.md") if target.name == "README.md" else path
    return f"[{text}]({changed}{sign}{anchor})"


def _place_of(page: Path) -> Path:
    return page.with_name("index.md") if page.name == "README.md" else page


def _bring_worker(place: Path) -> None:
    """The theme would fetch from elsewhere what lets a page that was opened as a file be searched."""
    (place / _WORKER.name).write_text(_WORKER.read_text())
    for file in place.rglob("*.html"):
        up = "../" * (len(file.relative_to(place).parts) - 1)
        file.write_text(file.read_text().replace(_FOREIGN_WORKER, f"{up}{_WORKER.name}"))


def main() -> int:
    shutil.rmtree(PLACE, ignore_errors=True)
    copy_pages(PLACE / "pages")
    config = ROOT / "docs" / "mkdocs.yml"
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "-q", "-f", config, "-d", PLACE / "html"]
    done = subprocess.run(build, env=os.environ | {"NO_MKDOCS_2_WARNING": "1"})
    if not done.returncode:
        _bring_worker(PLACE / "html")
        print(PLACE / "html" / "index.html")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
