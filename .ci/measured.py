"""A pytest plugin: how long tests take, as measured: `pytest -p measured`.

`tests/durations.txt` lists every test function that took a second or more, with the longest of its cases. Those of ten
seconds or more are marked `slow`, all of them `long`. `--measure` writes the list again, which only a run of all tests
on a quiet machine should do: `make test MEASURE=1`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

LIST = Path(__file__).parents[1] / "tests" / "durations.txt"
LONG_S = 1.0
SLOW_S = 10.0


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--measure", action="store_true", help="write tests/durations.txt again")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--measure") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Measuring(), "measuring")


@pytest.hookimpl(tryfirst=True)  # The order of files follows from the marks.
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    known = read(LIST)
    for item in items:
        seconds = known.get(function_of(item.nodeid), 0.0)
        if seconds >= LONG_S:
            item.add_marker(pytest.mark.long)
        if seconds >= SLOW_S:
            item.add_marker(pytest.mark.slow)


def function_of(nodeid: str) -> str:
    """A test without its parameters."""
    return nodeid.split("[")[0]


def read(path: Path) -> dict[str, float]:
    lines = path.read_text().splitlines() if path.exists() else []
    pairs = (line.split("\t") for line in lines if line and not line.startswith("#"))
    return {name: float(seconds) for seconds, name in pairs}


class Measuring:
    """Adds up what each test took: its preparation, itself, and clearing up."""

    def __init__(self) -> None:
        self._cases: dict[str, float] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._cases[report.nodeid] = self._cases.get(report.nodeid, 0.0) + report.duration

    def pytest_sessionfinish(self) -> None:
        longest: dict[str, float] = {}
        for nodeid, seconds in self._cases.items():
            name = function_of(nodeid)
            longest[name] = max(longest.get(name, 0.0), seconds)
        rows = [f"{seconds:.1f}\t{name}" for name, seconds in sorted(longest.items()) if seconds >= LONG_S]
        LIST.write_text("\n".join(["# Written by `make test MEASURE=1`: seconds, test.", *rows, ""]))
