"""Which tools tests need, and how long they take: a first change waits for no foreign toolchain."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def needed(*tests: str) -> set[str]:
    return set(subprocess.check_output([ROOT / ".ci" / "tools-for", *tests], text=True).split())


@pytest.mark.parametrize(
    ("tests", "tools"),
    [
        ("tests/wal", set()),
        ("tests/coordinator", set()),
        ("tests/java/test_tools.py::test_x", {"java-clients"}),
        ("tests/broker/test_kcat.py", {"kcat"}),
        ("tests/broker/test_other_languages.py", {"go-clients", "node-clients"}),
        ("tests/io/test_remote_faults.py", {"versitygw"}),
    ],
)
def test_only_what_the_tests_need_is_installed(tests: str, tools: set[str]) -> None:
    assert needed(tests) == tools


def test_all_tests_need_every_tool() -> None:
    """Each `.ci/install-*` is run for a run of everything, so that no test is skipped for a tool nobody asked for."""
    installers = {each.name.removeprefix("install-") for each in (ROOT / ".ci").glob("install-*")}
    assert needed() == installers | {"spark"}


def test_whoever_uses_what_is_installed_is_known() -> None:
    """What names `.tools`, and every test in a folder of a foreign language, is not among the tests without tools."""
    without = subprocess.check_output([ROOT / ".ci" / "tools-for", "--without"], text=True).split()
    assert "tests/wal/test_torn.py" in without
    assert not [each for each in without if each.split("/")[1] in {"java", "spark"}]
    assert not [each for each in without if "importorskip" in (ROOT / each).read_text()]


def test_times_are_measured_and_mark_tests(tmp_path: Path) -> None:
    """`--measure` writes what took long, in one case or in all together; the next run marks it `long`."""
    (tmp_path / "tests").mkdir()
    (tmp_path / ".ci").mkdir()
    (tmp_path / ".ci" / "measured.py").write_text((ROOT / ".ci" / "measured.py").read_text())
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n    long: x\n    slow: x\n")
    (tmp_path / "tests" / "test_times.py").write_text(
        "import time, pytest\n"
        "@pytest.mark.parametrize('s', [0, 0.5])\ndef test_long(s): time.sleep(s)\n"
        "@pytest.mark.parametrize('s', [0.3] * 7)\ndef test_many(s): time.sleep(s)\n"
        "def test_short(): pass\n"
    )

    def run(*options: str) -> str:
        command = [sys.executable, "-m", "pytest", "-p", "measured", "-p", "no:cacheprovider", "-q", *options]
        return subprocess.run(
            command, cwd=tmp_path, env={"PYTHONPATH": str(tmp_path / ".ci")}, capture_output=True, text=True
        ).stdout

    assert "10 passed" in run("--measure")
    rows = [line.split("\t") for line in (tmp_path / "tests" / "durations.txt").read_text().splitlines()[1:]]
    assert [name for _, _, name in rows] == ["tests/test_times.py::test_long", "tests/test_times.py::test_many"]
    assert "1 passed, 9 deselected" in run("-m", "not long")
