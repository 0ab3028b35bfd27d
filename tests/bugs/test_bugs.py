"""The list of known bugs fits the code, and the tests catch the most important ones; `make bugs` runs all of them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.bugs.bug import FAILED, ROOT, Bug, Edit, copy_source, run_with
from tests.bugs.run import ALL

QUICK = ("ack before fsync", "crc not checked", "chunk removed before its purge is durable", "off by one at the roll")


@pytest.mark.parametrize("bug", ALL, ids=lambda bug: bug.name)
def test_a_bug_can_still_be_put_into_the_code(bug: Bug, tmp_path: Path) -> None:
    """W10: every text that a bug replaces is there exactly once, what comes of it compiles, and its tests exist."""
    for file in {edit.file for edit in bug.edits}:
        copy = tmp_path / "holdfast" / file
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / "src" / "holdfast" / file, copy)
    for edit in bug.edits:
        edit.apply(tmp_path)
        if edit.file.endswith(".py"):  # C is built before its tests run, or there is no outcome.
            compile((tmp_path / "holdfast" / edit.file).read_text(), edit.file, "exec")
    for test in bug.tests:
        assert (ROOT / test.split("::")[0]).is_file()


@pytest.mark.parametrize("bug", [bug for bug in ALL if bug.name.startswith(QUICK)], ids=lambda bug: bug.name)
def test_a_bug_is_caught(bug: Bug) -> None:
    """W4, W5, W7, W10: with the bug in the code one of its tests fails."""
    outcome = run_with(bug)
    assert outcome.code == FAILED, outcome.output


def test_a_text_that_is_not_there_once_is_said(tmp_path: Path) -> None:
    """W10: a bug that no longer fits the code must not pass for one that was caught."""
    source = copy_source(tmp_path)
    with pytest.raises(LookupError, match="0 times"):
        Edit("wal/log.py", "this is nowhere", "").apply(source)
    with pytest.raises(LookupError, match="not once"):
        Edit("wal/log.py", "self", "").apply(source)
