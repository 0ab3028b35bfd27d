"""Findings in words, and as JSON knows them: of objects, and of the write-ahead log."""

from __future__ import annotations

from typing import Any

from holdfast.segment.verify import Finding

WAL = "the write-ahead log"  # As the name of a finding; its position is the index of an entry.


def said(finding: Finding) -> str:
    """What is wrong, and where."""
    unit = "entry" if finding.name == WAL else "byte"
    where = "" if finding.position is None else f" at {unit} {finding.position}"
    return f"{finding.name}{where}: {finding.what}"


def problem_facts(finding: Finding) -> dict[str, Any]:
    """The same for machines."""
    return {"name": finding.name, "what": finding.what, "position": finding.position, "verdict": finding.verdict}
