"""Machine code is what its sources say, and can be done without."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.pythons import newest_python

import holdfast
from holdfast.native import VARIABLE, kernels
from holdfast.native.build import BUILT, is_current, source_number


@pytest.mark.skipif(kernels is None, reason="no machine code was built: cc or Python.h is missing")
def test_it_was_built_from_the_sources_that_are_there() -> None:
    assert kernels is not None
    assert source_number() == kernels.SOURCE
    assert not is_current(kernels.SOURCE + 1)


def test_it_is_there_wherever_it_can_be_built() -> None:
    """A checkout whose machine code is missing or old would be tested without it, and nobody would know."""
    build = subprocess.run([sys.executable, "-c", _DRY], capture_output=True, text=True, check=True)
    assert (build.stdout.strip() == "can") == (kernels is not None), f"{BUILT} is missing or old: run `make install`"


_DRY = """
import shutil, sysconfig, pathlib
print("can" if shutil.which("cc") and (pathlib.Path(sysconfig.get_paths()["include"]) / "Python.h").exists() else "")
"""


def test_it_can_be_left_out() -> None:
    """Where it was not built, Python does the same: a broker is tried without it in tests/native/test_without.py."""
    asked = [sys.executable, "-c", "from holdfast.native import kernels; print(kernels)"]
    environment = {**os.environ, VARIABLE: "off", "PYTHONPATH": str(Path(__file__).parents[2] / "src")}
    assert subprocess.run(asked, env=environment, capture_output=True, text=True, check=True).stdout == "None\n"


@pytest.mark.skipif(kernels is None, reason="no machine code was built: cc or Python.h is missing")
def test_what_the_newest_python_builds_runs_on_this_one(tmp_path: Path) -> None:
    """A wheel says that it runs from 3.11 on, and is built by whatever Python there is."""
    shutil.copytree(Path(holdfast.__file__).parent, tmp_path / "holdfast", ignore=shutil.ignore_patterns("__pycache__"))
    built = tmp_path / "holdfast" / "native" / "kernels.abi3.so"
    built.unlink()
    subprocess.run([newest_python(), built.with_name("build.py")], check=True)
    assert built.exists()
    asked = [sys.executable, "-c", _WRITTEN_AND_READ]
    done = subprocess.run(asked, env={**os.environ, "PYTHONPATH": str(tmp_path)}, capture_output=True, text=True)
    assert done.stdout.strip() == str(built), done.stderr


_WRITTEN_AND_READ = """
import tempfile
from holdfast.io.disk import RealDirectory
from holdfast.log import Record, build, read_records
from holdfast.native import kernels
from holdfast.wal import LogId, Wal, WalSettings

batch = build([Record(b"key", b"value")] * 100)
assert len(list(read_records(batch))) == 100
with tempfile.TemporaryDirectory() as path:
    for number in range(2):  # The second start walks over the frames.
        wal = Wal.open(RealDirectory(path), WalSettings())
        wal.append(LogId(1, number), [bytes(batch)])
        wal.sync()
        assert len(list(wal.read(0, number + 1))) == number + 1
        wal.close()
print(kernels.__file__)
"""
