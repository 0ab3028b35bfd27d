"""Installing the Java clients: what is missing is said in one plain sentence, and nothing is done twice."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / ".ci" / "install-java-clients"
NEEDED = ("sh", "cat", "cksum", "dirname", "mkdir", "mktemp", "rm")
JAVA = ("java", "javac", "mvn")


def path(folder: Path, *fakes: str) -> str:
    """A PATH with what the script needs, and with some programs that do nothing but fail."""
    for name in NEEDED:
        (folder / name).symlink_to(str(shutil.which(name)))
    for name in fakes:
        (folder / name).write_text("#!/bin/sh\necho must not be called >&2\nexit 1\n")
        (folder / name).chmod(0o755)
    return str(folder)


def install(script: Path, where: str) -> tuple[int, str]:
    done = subprocess.run([script], env={"PATH": where}, capture_output=True, text=True)
    return done.returncode, done.stderr


@pytest.mark.parametrize("absent", JAVA)
def test_what_is_missing_is_said(tmp_path: Path, absent: str) -> None:
    where = path(tmp_path, *(name for name in JAVA if name != absent))
    assert install(SCRIPT, where) == (
        0,
        f"Java clients are not installed because {absent} is missing: tests that need them will be skipped.\n",
    )


def test_a_second_call_does_no_work(needs_java: None, tmp_path: Path) -> None:
    assert install(SCRIPT, path(tmp_path, *JAVA)) == (0, "")


def test_a_failed_download_is_a_failure(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / ".ci").mkdir()
    script = Path(shutil.copy(SCRIPT, tmp_path / ".ci"))
    shutil.copytree(SCRIPT.parents[1] / "tests" / "java" / "jars", tmp_path / "tests" / "java" / "jars")
    code, said = install(script, path(tmp_path / "bin", *JAVA))
    assert code == 1
    assert said.splitlines()[-1] == "must not be called"
    assert [each.name for each in (tmp_path / ".tools").iterdir()] == []
