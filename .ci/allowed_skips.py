"""A pytest plugin: a test may be skipped only when the committed list allows it and says why.

`pytest -p allowed_skips --allowed-skips LIST`. A line of the list is `pattern<TAB>reason`, or
`pattern<TAB>reason<TAB>programs`: then it holds only on a machine that lacks one of these programs. The pattern is
matched against the test's id as fnmatch does. A test that is expected to fail counts as skipped. An entry that matches
no test that ran is reported as stale; only a run of all tests can tell, so it is a remark and no failure.
"""

from __future__ import annotations

import shutil
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

import pytest


class Allowed(NamedTuple):
    """One line of the list."""

    pattern: str
    reason: str
    programs: tuple[str, ...] = ()  # The skip is for machines without one of them.

    @property
    def holds(self) -> bool:
        return not self.programs or any(shutil.which(each) is None for each in self.programs)


def parse(text: str) -> list[Allowed]:
    """The entries of a list; a line without a reason is an error."""
    entries = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        pattern, tab, rest = line.partition("\t")
        reason, _, programs = rest.partition("\t")
        if not tab or not reason.strip():
            raise pytest.UsageError(f"allowed skips, line {number}: needs a pattern, a tab and a reason: {line!r}")
        entries.append(Allowed(pattern.strip(), reason.strip(), tuple(programs.split())))
    return entries


class AllowedSkips:
    """Collects what ran and what was skipped, and judges at the end."""

    def __init__(self, allowed: list[Allowed]) -> None:
        self._allowed = allowed
        self._seen: set[str] = set()
        self._skipped: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._seen.add(report.nodeid)
        if report.skipped:
            self._skipped[report.nodeid] = _reason(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.skipped:  # A whole module that skipped itself.
            self._seen.add(report.nodeid)
            self._skipped[report.nodeid] = _reason(report)

    @property
    def unlisted(self) -> dict[str, str]:
        patterns = [entry.pattern for entry in self._allowed if entry.holds]
        return {
            test: reason
            for test, reason in sorted(self._skipped.items())
            if not any(fnmatchcase(test, pattern) for pattern in patterns)
        }

    @property
    def stale(self) -> list[Allowed]:
        return [entry for entry in self._allowed if not any(fnmatchcase(test, entry.pattern) for test in self._seen)]

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.unlisted and session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        # In a run of some tests all entries for others would be listed, and bury what failed.
        stale = [] if terminalreporter.config.args_source is pytest.Config.ArgsSource.ARGS else self.stale
        if self.unlisted or stale:
            terminalreporter.section("allowed skips")
        for test, reason in self.unlisted.items():
            terminalreporter.write_line(f"not allowed to be skipped: {test} ({reason})", red=True)
        for entry in stale:
            terminalreporter.write_line(f"stale entry, no such test ran: {entry.pattern} ({entry.reason})", yellow=True)


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    if isinstance(report.longrepr, tuple):
        return report.longrepr[2]
    return f"expected to fail: {getattr(report, 'wasxfail', '')}"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--allowed-skips", metavar="LIST", type=Path, help="the tests that may be skipped, with reasons")


def pytest_configure(config: pytest.Config) -> None:
    if hasattr(config, "workerinput"):
        return  # A worker of pytest-xdist: its reports reach the process that started it.
    path = config.getoption("--allowed-skips")
    config.pluginmanager.register(AllowedSkips(parse(path.read_text()) if path else []), "allowed-skips-judge")
