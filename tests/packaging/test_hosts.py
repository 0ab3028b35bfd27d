"""No file in git names a package registry."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

CHECK = Path(__file__).parents[2] / ".ci" / "check-hosts"


def check(folder: Path, name: str, text: str) -> subprocess.CompletedProcess[str]:
    subprocess.run(["git", "init", "-q", folder], check=True)
    (folder / name).write_text(text)
    subprocess.run(["git", "-C", folder, "add", name], check=True)
    return subprocess.run([CHECK, folder], capture_output=True, text=True)


@pytest.mark.parametrize(
    "line",
    [
        "see https://" + "pypi" + ".org/project/holdfast",
        "https://files." + "pythonhosted" + ".org/packages/a.whl",
        "source = index." + "crates" + ".io",
        "--" + "index-url https://example.test/root/",
        "-i https://mirror.example.test/" + "simple",
    ],
)
def test_a_registry_host_is_found(tmp_path: Path, line: str) -> None:
    done = check(tmp_path, "notes.txt", f"first\n{line}\n")
    assert done.returncode == 1
    assert "notes.txt:2:" in done.stdout


@pytest.mark.parametrize("name", ["uv" + ".lock", "Cargo" + ".lock"])
def test_a_lock_file_is_found(tmp_path: Path, name: str) -> None:
    done = check(tmp_path, name, "version = 1\n")
    assert done.returncode == 1
    assert name in done.stdout


def test_ordinary_text_passes(tmp_path: Path) -> None:
    done = check(tmp_path, "Makefile", "lock:\n\tuv pip compile --no-emit-index-url a simple thing\n")
    assert done.returncode == 0, done.stdout + done.stderr
