"""What the doctor finds."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class FindingState(StrEnum):
    """How it is."""

    OK = "ok"
    ADVICE = "advice"  # It works, but something would be better, or a part cannot be used.
    MISSING = "missing"  # A broker cannot be run like this.


class DoctorFinding(NamedTuple):
    """One thing that was looked at."""

    check: str
    state: FindingState
    found: str
    todo: str = ""  # What to do, unless all is well.

    def __str__(self) -> str:
        """For people: what was found may be long, so what to do has a line of its own."""
        line = f"{self.check:<18} {self.state:<8} {self.found}"
        return f"{line}\n{'':<27} → {self.todo}" if self.todo else line


def ok(check: str, found: str) -> DoctorFinding:
    return DoctorFinding(check, FindingState.OK, found)


def advice(check: str, found: str, todo: str) -> DoctorFinding:
    return DoctorFinding(check, FindingState.ADVICE, found, todo)


def missing(check: str, found: str, todo: str) -> DoctorFinding:
    return DoctorFinding(check, FindingState.MISSING, found, todo)
