"""The Python blocks of the pages run as they stand, and the links lead somewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def names(pages: list[Path]) -> list[str]:
    return [page.relative_to(ROOT).as_posix() for page in pages]


def blocks(page: Path) -> list[str]:
    """The fenced Python blocks of a page, in order."""
    return re.findall(r"^```python\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)


WITH_CODE = [page for page in PAGES if blocks(page)]


@pytest.mark.parametrize("page", WITH_CODE, ids=names(WITH_CODE))
def test_the_python_blocks_of_a_page_run_one_after_the_other(page: Path, tmp_path: Path) -> None:
    program = "\n".join(blocks(page))
    done = subprocess.run([sys.executable, "-W", "error", "-c", program], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, f"{page}\n{done.stdout}\n{done.stderr}"


@pytest.mark.parametrize("name", ["README.md", "docs/guides/testing.md", "docs/guides/testing-recipes.md"])
def test_each_block_of_a_page_that_is_copied_from_stands_alone(name: str) -> None:
    """Nobody copies the block before it, too: what a block uses, it imports."""
    for block in blocks(ROOT / name):
        command = [sys.executable, "-m", "ruff", "check", "--isolated", "--quiet", "--select", "F821", "-"]
        done = subprocess.run(command, input=block, capture_output=True, text=True)
        assert done.returncode == 0, f"{name}\n{block}\n{done.stdout}{done.stderr}"


def test_the_pages_with_code_are_found() -> None:
    assert {"README.md", "docs/guides/wal-library.md"} <= set(names(WITH_CODE))


@pytest.mark.parametrize("page", PAGES, ids=names(PAGES))
def test_the_links_of_a_page_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)", page.read_text())
    missing = [link for link in links if not (page.parent / link).exists()]
    assert not missing
