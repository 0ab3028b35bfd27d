"""What every benchmark is told in the same words: how much, on which disk, and where its results go."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.machine import CHECKOUT, MEMORY_FILE_SYSTEMS, file_system
from benchmarks.results import results_of


def parser_of(description: str, *, less: str) -> argparse.ArgumentParser:
    """The options that all benchmarks have; `less` is what a quick run does less of."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true", help=f"{less}; writes no results, unless it is told where")
    parser.add_argument("--dir", type=Path, default=CHECKOUT / ".tools" / "bench", help="on the disk to measure")
    parser.add_argument("--results", type=Path, help="where to write (default benchmarks/results; quick: nowhere)")
    return parser


def stored_as(asked: argparse.Namespace, name: str, *, part: bool = False) -> Path | None:
    """The results' files without their endings; None where they go nowhere: of a look, or of a part."""
    folder = results_of(asked.results, quick=asked.quick or part)
    return folder / name if folder else None


def has_fsync(directory: Path) -> bool:
    """Whether there is anything to measure in a directory; says so if there is not."""
    kind = file_system(directory)
    if kind in MEMORY_FILE_SYSTEMS:
        sys.stderr.write(f"{directory} is on {kind}, which has no fsync to measure: choose a disk with --dir.\n")
    return kind not in MEMORY_FILE_SYSTEMS


@contextmanager
def fresh(directory: Path) -> Iterator[Path]:
    """An empty directory, which is gone afterwards."""
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)
