"""The command's face: help, version, completion, and failures in one sentence."""

from __future__ import annotations

import importlib.metadata
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from holdfast.cli.main import app

COMMAND = Path(sys.executable).parent / "holdfast"


def holdfast(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the real command as a shell would, without a terminal."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("HOLDFAST_")}
    return subprocess.run([COMMAND, *arguments], env={**clean, **environment}, capture_output=True, text=True)


def test_help_is_a_table_of_contents_with_examples() -> None:
    shown = CliRunner().invoke(app, ["--help"]).stdout
    for word in ("Examples:", "holdfast serve --data ./data", "serve", "wal"):
        assert word in shown
    assert "\x1b[" not in shown


def test_without_arguments_help_is_shown() -> None:
    assert "Examples:" in CliRunner().invoke(app, []).output


@pytest.mark.parametrize("command", ["serve", "wal stat", "wal dump", "wal verify"])
def test_every_command_has_an_example(command: str) -> None:
    assert f"holdfast {command}" in CliRunner().invoke(app, [*command.split(), "--help"]).stdout.split("Examples:")[1]


@pytest.mark.parametrize("said", ["--help", "--version"])
def test_a_reader_that_goes_away_is_no_failure(said: str) -> None:
    """`holdfast --help | head -1`: as with every program, without a word."""
    with subprocess.Popen([COMMAND, said], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        told = process.stderr.read()
    assert (process.returncode, told) == (-signal.SIGPIPE, b"")


def test_version_is_the_installed_one() -> None:
    done = holdfast("--version")
    assert done.stdout == f"holdfast {importlib.metadata.version('holdfast')}\n"


def test_completion_for_a_shell_can_be_shown() -> None:
    done = holdfast("", _HOLDFAST_COMPLETE="complete_bash", COMP_WORDS="holdfast wa", COMP_CWORD="1")
    assert done.stdout.split() == ["wait", "wal"]


def test_a_failure_is_one_sentence_on_stderr_and_exit_code_1(tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    done = holdfast("wal", "stat", str(missing))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"holdfast: {missing} is not a directory\n"


def test_an_error_of_the_system_is_one_sentence_too(tmp_path: Path) -> None:
    done = holdfast("serve", "--config", str(tmp_path / "none.toml"))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"holdfast: {tmp_path / 'none.toml'}: No such file or directory\n"


def test_debug_shows_where_a_failure_happened(tmp_path: Path) -> None:
    done = holdfast("--debug", "wal", "stat", str(tmp_path / "missing"))
    assert done.returncode == 1
    assert "Traceback" in done.stderr


def test_a_wrong_command_line_is_exit_code_2() -> None:
    done = holdfast("wal", "stat")
    assert (done.returncode, done.stdout) == (2, "")
    assert "Missing argument" in done.stderr


def test_help_and_completion_do_not_wait_for_the_parts() -> None:
    code = (
        "import sys, holdfast.cli.main; print(*(name for name in ('numpy', 'numba', 'obstore') if name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
