"""The shell blocks of guides that need nothing but a broker run as they stand, line by line, and none fails."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.testing import free_port

ROOT = Path(__file__).parents[2]
PAGES = ["docs/guides/testing-recipes.md", "docs/guides/pipelines.md", "README.md"]


def blocks(page: str) -> list[str]:
    return re.findall(r"^```sh\n(.*?)^```", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL)


def run(folder: Path, script: str) -> str:
    """In a shell that stops at the first failure, on a port of its own."""
    port = str(free_port())
    script = script.replace("127.0.0.1:9092", f"127.0.0.1:{port}")
    clean = {name: value for name, value in os.environ.items() if not name.startswith("HOLDFAST_")}
    found = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    surroundings = clean | {"PATH": found, "HOLDFAST_BOOTSTRAP": f"127.0.0.1:{port}"}
    done = subprocess.run(
        ["bash", "-emc", script], cwd=folder, env=surroundings, capture_output=True, text=True, timeout=200
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_block_for_other_languages_runs(tmp_path: Path) -> None:
    [block] = blocks("docs/guides/testing-recipes.md")
    assert run(tmp_path, block).split() == ["tea"]


def test_the_first_pipeline_runs_from_its_set_up_on(tmp_path: Path) -> None:
    """The set-up waits for its broker; archive twice, and audit."""
    setup, first, *_ = blocks("docs/guides/pipelines.md")
    assert "holdfast wait" in setup
    shown = run(tmp_path, setup + first)
    assert "5 rows added" in shown
    assert "0 rows added" in shown
    assert "sound: 100.0000 %" in shown


@pytest.mark.parametrize("page", PAGES)
def test_every_command_in_a_block_exists(page: str) -> None:
    from holdfast.cli.commands import COMMANDS

    text = (ROOT / page).read_text()
    named = re.findall(r"(?:^|\| |&& |\$ |/)holdfast ([a-z]+)", text, re.MULTILINE)
    assert set(named) <= set(COMMANDS)
