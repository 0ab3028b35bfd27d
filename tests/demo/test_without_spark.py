"""What the demo archives and audits is little: Spark is asked for only where there is more."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.demo.outcome import NotThere
from holdfast.demo.steps.pipelines import check_spark
from holdfast.spark.session.small import SMALL_SIZE_MAX


def test_little_needs_no_java_and_much_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """P4: as with the commands that the demo runs."""
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    (tmp_path / "objects").mkdir()
    stored = tmp_path / "objects" / "segment"
    for size, is_much in ((SMALL_SIZE_MAX, False), (SMALL_SIZE_MAX + 1, True)):
        with stored.open("wb") as file:
            file.truncate(size)  # Without a byte on the disk.
        if is_much:
            with pytest.raises(NotThere, match="a JDK"):
                check_spark(tmp_path)
        else:
            check_spark(tmp_path)
