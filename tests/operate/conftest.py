"""The data directory that most tests here damage, refuse, repair or copy."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.operate.directory import SIZE, write


@pytest.fixture(scope="session")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a broker that was killed, as `write` fills it, for all tests: it is not to be changed."""
    place = tmp_path_factory.mktemp("operate")
    write(place / "live", place / "killed", size=SIZE)
    return place / "killed"


@pytest.fixture
def data(killed: Path, tmp_path: Path) -> Path:
    """A copy of it, for one test."""
    return Path(shutil.copytree(killed, tmp_path / "data"))
