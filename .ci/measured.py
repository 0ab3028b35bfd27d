"""A pytest plugin: how long tests take, as measured: `pytest -p measured`.

`tests/durations.txt` lists every test function that took long, with the longest of its cases and all of them together.
All of these are marked `long`, and those with a case of ten seconds or more `slow`. `--measure` writes the list again,
which only a run of all tests on a quiet machine should do: `make test MEASURE=1`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

LIST = Path(__file__).parents[1] / "tests" / "durations.txt"
LONG_S = 0.4  # One case,
LONG_TOGETHER_S = 2.0  # or all cases.
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
        seconds = known.get(function_of(item.nodeid))
        if seconds is not None:
            item.add_marker(pytest.mark.long)
        if (seconds or 0.0) >= SLOW_S:
            item.add_marker(pytest.mark.slow)


def function_of(nodeid: str) -> str:
    """A test without its parameters."""
    return nodeid.split("[")[0]


def read(path: Path) -> dict[str, float]:
    """The functions of the list, each with its longest case."""
    lines = path.read_text().splitlines() if path.exists() else []
    rows = (line.split("\t") for line in lines if line and not line.startswith("#"))
    return {name: float(longest) for longest, _, name in rows}


class Measuring:
    """Adds up what each test took: its preparation, itself, and clearing up."""

    def __init__(self) -> None:
        self._cases: dict[str, float] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._cases[report.nodeid] = self._cases.get(report.nodeid, 0.0) + report.duration

    def pytest_sessionfinish(self) -> None:
        cases: dict[str, list[float]] = {}
        for nodeid, seconds in self._cases.items():
            cases.setdefault(function_of(nodeid), []).append(seconds)
        rows = [
            f"{max(each):.1f}\t{sum(each):.1f}\t{name}"
            for name, each in sorted(cases.items())
            if max(each) >= LONG_S or sum(each) >= LONG_TOGETHER_S
        ]
        head = "# Written by `make test MEASURE=1`: seconds of the longest case, of all cases, test."
        LIST.write_text("\n".join([head, *rows, ""]))
