"""The pages say what the code says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOOLS = ROOT / "docs" / "tools"


@pytest.mark.parametrize("tool", ["reference.py", "guarantees.py", "metrics.py", "subscribe_proto.py", "console.py"])
def test_a_generated_page_is_up_to_date(tool: str) -> None:
    done = subprocess.run([sys.executable, TOOLS / tool, "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_setting_has_a_sentence() -> None:
    """The comment beside it is the one place where it is explained."""
    page = (TOOLS.parent / "reference" / "settings.md").read_text()
    rows = re.findall(r"^\| `([a-z][\w.]+)` \|.*\| (.*) \|$", page, re.MULTILINE)
    assert len(rows) > 100
    assert [name for name, meaning in rows if not meaning.strip()] == []


def test_an_outdated_page_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("old\n")
    code = f"from pathlib import Path; from publish import publish; publish(Path({str(page)!r}), 'new\\n')"
    check = [sys.executable, "-c", code]
    done = subprocess.run([*check, "--check"], cwd=TOOLS, capture_output=True, text=True)
    assert done.returncode == 1
    assert "-old\n+new" in done.stderr
    assert page.read_text() == "old\n"
    assert subprocess.run(check, cwd=TOOLS, capture_output=True).returncode == 0
    assert page.read_text() == "new\n"


def test_what_the_faq_says_of_the_size_of_the_code_is_so() -> None:
    """Within a tenth: 'one can read it in an afternoon' was said of 28,000 lines once."""
    text = (ROOT / "docs" / "faq.md").read_text()
    said = re.search(r"([\d,]+) lines of Python and ([\d,]+) of C in (\d+) rooms", text)
    assert said
    code, wal = ROOT / "src" / "holdfast", re.search(r"back after a crash \(([\d,]+) lines\)", text)
    assert wal
    counted = [(said[1], code, ".py"), (said[2], code, ".[ch]"), (wal[1], code / "wal", ".py")]
    for figure, folder, ending in counted:
        lines = sum(len(each.read_text().splitlines()) for each in folder.rglob(f"*{ending}"))
        assert abs(int(figure.replace(",", "")) / lines - 1) < 0.1, (figure, lines)
    drawing = (ROOT / "ARCHITECTURE.md").read_text().partition("## The rooms")[2].split("```")[1]
    rooms = re.findall(r"(?<= {3})[a-z]+(?= {3}|\n)", re.sub(r" {5,}\S.*", "   ", drawing).replace("\n", "   \n   "))
    assert len(rooms) == int(said[3]), rooms
