"""The browser's side: what is vendored is what was released, and everything is in the wheel."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from hashlib import sha256
from pathlib import Path

from tests.console.pictured import DRAWN, drawn_by

from holdfast.console.files import STATIC, Files

ROOT = Path(__file__).parents[2]


def test_vendored_files_are_as_they_were_released() -> None:
    """V1: by their hash in VENDORED.md, and each has its licence there."""
    rows = re.findall(r"^\| `(vendor/\S+)` \|.*\| `([0-9a-f]{64})` \|$", (STATIC / "VENDORED.md").read_text(), re.M)
    there = {each.relative_to(STATIC).as_posix() for each in (STATIC / "vendor").iterdir()}
    assert {name for name, _ in rows} == there
    for name, digest in rows:
        assert sha256((STATIC / name).read_bytes()).hexdigest() == digest, name


def test_the_pictures_of_the_readme_are_of_these_pages() -> None:
    """V7: whoever changes what they show makes them again: `make pictures`."""
    assert DRAWN.read_text().strip() == drawn_by(), "run make pictures"


def test_nothing_is_fetched_from_elsewhere_and_nothing_is_inline() -> None:
    """V1: no address of another host, no markup from records, no style or script in a page."""
    for each in STATIC.rglob("*.js"):
        text = each.read_text()
        if each.parent.name != "vendor":
            assert not re.search(r"https?://(?!www\.w3\.org)", text), each
            assert "innerHTML" not in text, each
            assert "dangerously" not in text, each
    shell = Files().shell.decode()
    assert re.findall(r"<(?:script|style)(?![^>]* src=)", shell) == []
    assert "http" not in shell


def test_files_are_small_and_few() -> None:
    """The sizes of the design: no file above 200 lines, Python at most 1,500, JavaScript at most 2,500."""
    python = {each: len(each.read_text().splitlines()) for each in (ROOT / "src/holdfast/console").rglob("*.py")}
    scripts = {
        each: len(each.read_text().splitlines()) for each in STATIC.rglob("*.js") if each.parent.name != "vendor"
    }
    assert max({**python, **scripts}.values()) <= 200
    assert sum(scripts.values()) <= 2500


def test_the_wheel_holds_every_file(tmp_path: Path) -> None:
    """V1: also a new one."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    [wheel] = tmp_path.glob("*.whl")
    held = set(zipfile.ZipFile(wheel).namelist())
    for each in STATIC.rglob("*"):
        if each.is_file():
            assert each.relative_to(ROOT / "src").as_posix() in held, each
