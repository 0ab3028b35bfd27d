"""Machine code is what its sources say, and can be done without."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

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
