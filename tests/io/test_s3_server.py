"""The S3 server for tests: where it comes from, and what is said when it cannot be had."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.support import s3_server

SCRIPT = Path(__file__).parents[2] / ".ci" / "install-versitygw"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Another checkout, with nothing but the script in it."""
    (tmp_path / ".ci").mkdir()
    shutil.copy(SCRIPT, tmp_path / ".ci")
    return tmp_path


@pytest.fixture
def without_go(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A search path with the few commands that the script needs, and without Go."""
    folder = tmp_path_factory.mktemp("bin")
    for command in ("dirname", "mkdir", "mktemp", "rm", "mv"):
        path = shutil.which(command)
        assert path is not None
        (folder / command).symlink_to(path)
    return str(folder)


def install(checkout: Path, path: str) -> subprocess.CompletedProcess[str]:
    script = checkout / ".ci" / "install-versitygw"
    return subprocess.run(["/bin/sh", script], env={"PATH": path}, capture_output=True, text=True, check=True)


def test_without_go_one_sentence_says_so(checkout: Path, without_go: str) -> None:
    done = install(checkout, without_go)
    assert done.stderr.count("\n") == 1
    assert "Go is missing" in done.stderr
    assert not (checkout / ".tools").exists()


def test_the_build_is_moved_into_place_and_not_repeated(checkout: Path, without_go: str) -> None:
    go = Path(without_go) / "go"
    go.write_text(
        '#!/bin/sh\necho "$@" >>"$GOBIN/../../asked"\n: >"$GOBIN/versitygw"\n/bin/chmod +x "$GOBIN/versitygw"\n'
    )
    go.chmod(0o755)
    for _ in range(2):
        install(checkout, without_go)
    asked = (checkout / "asked").read_text().splitlines()
    assert len(asked) == 1
    assert asked[0].startswith("install github.com/versity/versitygw/cmd/versitygw@v")
    assert os.listdir(checkout / ".tools" / "bin") == ["versitygw"]
    assert not list((checkout / ".tools").glob("building*"))


def test_a_build_that_fails_is_a_failure(checkout: Path, without_go: str) -> None:
    go = Path(without_go) / "go"
    go.write_text("#!/bin/sh\nexit 1\n")
    go.chmod(0o755)
    with pytest.raises(subprocess.CalledProcessError):
        install(checkout, without_go)
    assert os.listdir(checkout / ".tools" / "bin") == []


def test_why_there_is_no_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, without_go: str) -> None:
    monkeypatch.setattr(s3_server, "BINARY", tmp_path / "versitygw")
    monkeypatch.setenv("PATH", without_go)
    assert s3_server.missing() == "versitygw is not installed: Go is missing"
    (Path(without_go) / "go").symlink_to("/bin/sh")
    assert s3_server.missing() == "versitygw is not installed: run .ci/install-versitygw"
    (tmp_path / "versitygw").touch()
    assert s3_server.missing() is None
