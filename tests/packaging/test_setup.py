"""Setting up: what is missing is said in one plain sentence, and every target explains itself."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def checkout(folder: Path, *scripts: str) -> Path:
    """A checkout that holds only these scripts of .ci."""
    (folder / ".ci").mkdir()
    for script in scripts:
        shutil.copy(ROOT / ".ci" / script, folder / ".ci" / script)
    return folder


def run(folder: Path, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True)


def fake_python(folder: Path, rule: str) -> str:
    """A Python that answers by `rule`, a shell condition on the code it is given as $2."""
    path = folder / "python-fake"
    path.write_text(f"#!/bin/sh\n{rule}\n")
    path.chmod(0o755)
    return str(path)


def test_no_python_is_one_sentence(tmp_path: Path) -> None:
    done = run(checkout(tmp_path, "make-venv"), ".ci/make-venv", PYTHON="no-such-python")
    assert done.returncode == 1
    assert done.stderr.startswith("Holdfast needs Python 3.11 or newer, and none was found")
    assert done.stderr.count("\n") == 1


def test_an_old_python_is_not_taken(tmp_path: Path) -> None:
    old = fake_python(tmp_path, "exit 1")
    done = run(checkout(tmp_path, "make-venv"), ".ci/make-venv", PYTHON=old)
    assert done.returncode == 1
    assert done.stderr.startswith("Holdfast needs Python 3.11 or newer")


def test_a_python_without_venv_is_one_sentence(tmp_path: Path) -> None:
    bare = fake_python(tmp_path, 'case "$2" in *ensurepip*) exit 1 ;; esac')
    done = run(checkout(tmp_path, "make-venv"), ".ci/make-venv", PYTHON=bare)
    assert done.returncode == 1
    assert "has no venv module with pip" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_venv_that_works_is_kept(tmp_path: Path) -> None:
    folder = checkout(tmp_path, "make-venv")
    (folder / ".venv" / "bin").mkdir(parents=True)
    (folder / ".venv" / "bin" / "python").symlink_to(sys.executable)
    done = run(folder, ".ci/make-venv", PYTHON="no-such-python")
    assert (done.returncode, done.stderr) == (0, "")


def test_help_explains_every_target() -> None:
    targets = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert targets
    shown = run(ROOT, "make", "--no-print-directory", MAKEFLAGS="").stdout
    assert re.findall(r"^  ([a-z-]+) ", shown, re.MULTILINE) == targets[1].split()
