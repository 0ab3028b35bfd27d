"""Logs written by earlier releases are read for ever."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from tests.compat.wal_listing import listing
from tests.wal.foreign_reader import read_log

from holdfast.io.disk import RealDirectory
from holdfast.wal.format.record import FORMAT_VERSION, KIND_NAMES
from holdfast.wal.inspect import verify

KEPT = sorted(path.with_suffix("") for path in Path(__file__).parent.glob("wal-*/*.json"))


def files(directory: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in directory.iterdir()}


@pytest.mark.parametrize("kept", KEPT, ids=lambda path: f"{path.parent.name} {path.name}")
def test_a_kept_log_says_what_it_said_when_it_was_written(kept: Path) -> None:
    """W2, W6, W7, W9: every record of the dump, the state, the entries, and where a torn tail is cut; unchanged."""
    before = files(kept)
    expected = json.loads(kept.with_suffix(".json").read_text(encoding="utf-8"))
    assert listing(RealDirectory(kept)) == expected
    assert verify(RealDirectory(kept)).sound
    assert files(kept) == before


@pytest.mark.parametrize("kept", KEPT, ids=lambda path: f"{path.parent.name} {path.name}")
def test_a_reader_written_from_the_format_page_agrees(kept: Path) -> None:
    """W7: the page describes what was written, not only what is written now."""
    expected = json.loads(kept.with_suffix(".json").read_text(encoding="utf-8"))
    found = read_log(kept)
    entries = [f"{epoch}:{index} {data.decode()}" for index, (epoch, data) in sorted(found.entries.items())]
    assert entries == expected["entries"]
    assert found.user_data.decode() == expected["user data"]


def test_every_format_version_is_kept() -> None:
    """W6: closed and torn, with all kinds of records, over several chunks."""
    for version in range(1, FORMAT_VERSION + 1):
        folder = Path(__file__).parent / f"wal-{version}"
        assert {path.name for path in KEPT if path.parent == folder} == {"closed", "torn"}
        records = json.loads((folder / "closed.json").read_text(encoding="utf-8"))["records"]
        assert {record.split()[2] for record in records} == set(KIND_NAMES.values())
        assert len({record.split()[0] for record in records}) > 2
        assert json.loads((folder / "torn.json").read_text(encoding="utf-8"))["cut"]
