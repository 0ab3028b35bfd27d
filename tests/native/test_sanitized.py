"""Machine code reads what clients send: some of its tests again, with a compiler's checks of every access to memory."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.bugs.bug import ROOT

import holdfast

FLAGS = "-O1 -g -fsanitize=address,undefined -fno-sanitize-recover=undefined"
LIBRARIES = ("libasan.so", "libubsan.so")
TRIED = """
from tests.native import test_arguments as arguments, test_one_batch as requests
from tests.native import test_record_loops as records, test_table_loops as tables

for seed in range(1000, 1010):
    requests.test_it_takes_nothing_that_python_refuses(seed)
requests.test_a_request_with_a_wrong_crc_is_left_to_python()
requests.test_everything_else_is_left_to_python()
requests.test_what_is_no_batch_is_not_placed()
for seed in range(1000, 1030):
    records.test_what_is_malformed_is_found_at_the_same_place(seed)
    records.test_records_are_measured_and_written(seed)
    records.test_lz4_is_expanded_or_left_alone(seed)
    tables.test_the_bounds_of_times(seed)
    tables.test_the_latest_write_wins(seed)
    for width in records.WIDTHS:
        records.test_records_are_walked_and_gathered(seed, width)
        tables.test_keys_are_hashed_learned_and_found(seed, width)
        tables.test_keys_are_held_against_a_filter(seed % 9, width)
        tables.test_runs_are_merged(seed, width)
        tables.test_marks_are_found_read_and_written(seed, width)
for loop, place in arguments.ARRAYS:
    arguments.test_arrays_that_do_not_belong_together_are_refused(loop, place)
print("done")
"""


def libraries() -> list[str]:
    """Where the compiler has what such code needs; nothing if it has not."""
    if shutil.which("gcc") is None:
        return []
    found = [
        subprocess.run(["gcc", f"-print-file-name={each}"], capture_output=True, text=True).stdout.strip()
        for each in LIBRARIES
    ]
    return found if all(Path(each).is_absolute() for each in found) else []


@pytest.mark.skipif(not libraries(), reason="needs gcc with its sanitizers")
def test_no_access_goes_astray(tmp_path: Path) -> None:
    """D9: also of frames that were cut off, changed at random, or made to lie about their sizes."""
    shutil.copytree(Path(holdfast.__file__).parent, tmp_path / "holdfast")
    build = [sys.executable, str(tmp_path / "holdfast/native/build.py")]
    said = subprocess.run(build, env={**os.environ, "CC": "gcc", "CFLAGS": FLAGS}, capture_output=True, text=True)
    assert said.stderr == ""
    checked = {"LD_PRELOAD": " ".join(libraries()), "ASAN_OPTIONS": "detect_leaks=0"}
    ran = subprocess.run(
        [sys.executable, "-c", TRIED],
        cwd=ROOT,
        env={**os.environ, **checked, "PYTHONPATH": f"{tmp_path}:{ROOT}", "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
    )
    assert ran.stdout == "done\n", ran.stderr[-4000:]
