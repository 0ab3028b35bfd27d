"""The first screen of the README: what a stranger sees, and that its three lines say what they say."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from holdfast.testing import running_broker

ROOT = Path(__file__).parents[2]
SCREEN = (ROOT / "README.md").read_text().partition("\n## ")[0]
HOLDFAST = Path(sys.executable).parent / "holdfast"


def test_the_first_screen_has_what_a_stranger_looks_for() -> None:
    """A sentence, a drawing, three lines with their output, a picture that is there, a table, a fixture."""
    assert len(SCREEN.splitlines()) < 50
    assert "producers ──► broker: fsync = ack" in SCREEN
    assert len(re.findall(r"^\$ ", SCREEN, re.MULTILINE)) == 3
    [picture] = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", SCREEN)
    assert (ROOT / picture).stat().st_size > 10_000
    assert "| why | measured | why not | measured |" in SCREEN
    assert "def test_orders(holdfast_broker):" in SCREEN


def test_its_figures_are_those_that_were_measured() -> None:
    """Every ratio beside Kafka is one of the page of benchmarks, rounded."""
    measured = (ROOT / "docs" / "benchmarks.md").read_text()
    page = (ROOT / "docs" / "comparison.md").read_text().partition("## By design")[0]
    ratios = re.findall(r"(\d+\.\d+)(?: to (\d+\.\d+))? \u00d7", SCREEN) + [
        (each, "") for each in re.findall(r"\| (\d+\.\d+)", page)
    ]
    known = {float(each) for each in re.findall(r"\b\d+\.\d+\b", measured)}
    rounded = known | {round(each, 1) for each in known}
    assert len(ratios) > 10
    assert [each for pair in ratios for each in pair if each and float(each) not in rounded] == []


def test_its_lines_print_what_they_are_said_to_print() -> None:
    lines = re.findall(r"^\$ (.*)\n(.*)$", SCREEN, re.MULTILINE)
    assert lines[0][0].split()[:2] == ["make", "run"]
    with running_broker() as broker:
        assert any("Kafka clients at" in line for line in broker.said)
        for command, shown in lines[1:]:
            words = command.replace(".venv/bin/holdfast", shlex.quote(str(HOLDFAST)))
            environment = os.environ | {"HOLDFAST_BOOTSTRAP": broker.bootstrap}
            done = subprocess.run(["sh", "-c", words], env=environment, capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
            said = (done.stdout or done.stderr).strip()
            without_time = re.compile(r"^\S+Z\s")
            assert without_time.sub("", said) == without_time.sub("", shown.strip())
