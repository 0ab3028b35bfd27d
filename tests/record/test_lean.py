"""Heavy libraries are loaded only where they are needed, and what numba compiles is kept where there is room for it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.native import VARIABLE

WITHOUT_C = {VARIABLE: "numba"}

LOOP = """
from holdfast.record.compiled import compiled

@compiled
def double(number):
    return 2 * number

assert double(21) == 42
"""


def run(code: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **environment}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("module", "without"),
    [
        ("holdfast.record", {"numpy", "numba", "pyarrow", "cramjam"}),
        ("holdfast.record.batch", {"numpy", "numba", "pyarrow", "cramjam"}),
        ("holdfast.record.marker", {"numpy", "numba", "pyarrow"}),
        ("holdfast.record.columnar.decode", {"numba", "pyarrow"}),
        ("holdfast.record.columnar.encode", {"numba", "pyarrow"}),
        ("holdfast.record.retain", {"numba", "pyarrow"}),
        ("holdfast.record.columnar.arrow", {"numba"}),
    ],
)
def test_a_module_loads_only_what_it_needs(module: str, without: set[str]) -> None:
    loaded = run(f"import sys, {module}; print(*sys.modules)").split()
    assert module in loaded
    assert without.isdisjoint(loaded)


def test_compiled_code_is_kept_where_the_user_says(tmp_path: Path) -> None:
    (tmp_path / "loop.py").write_text(LOOP)
    run("import loop", **WITHOUT_C, PYTHONPATH=str(tmp_path), NUMBA_CACHE_DIR=str(tmp_path / "kept"))
    assert list((tmp_path / "kept").rglob("loop.double-*.nbc"))


def test_without_any_place_to_keep_it_code_is_compiled_all_the_same(tmp_path: Path) -> None:
    """A file stands where each folder would be made; permissions would not stop the superuser."""
    (tmp_path / "loop.py").write_text(LOOP)
    (tmp_path / "__pycache__").write_text("")
    home = {"HOME": os.devnull, "XDG_CACHE_HOME": os.devnull, "NUMBA_CACHE_DIR": ""}
    run("import loop", PYTHONPATH=str(tmp_path), PYTHONDONTWRITEBYTECODE="1", **WITHOUT_C, **home)
    assert not list(tmp_path.rglob("*.nb*"))


def test_warming_keeps_what_decoding_will_need(tmp_path: Path) -> None:
    run("from holdfast.record.warm import warm; warm()", **WITHOUT_C, NUMBA_CACHE_DIR=str(tmp_path))
    kept = {path.name.split("-")[0] for path in tmp_path.rglob("*.nbc")}
    assert {"read_loops.walk", "read_loops.gather", "read_loops.keep", "write_loops.write"} <= kept
