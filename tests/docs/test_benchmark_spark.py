"""The tables of Spark's benchmark, of figures that no run has measured: who is compared, and who is found again."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.ratios import all_ratios, first_ratios
from benchmarks.results import Run, new_run, write_files
from benchmarks.spark.jobs import Reader, checked
from benchmarks.spark.places import JOBS
from benchmarks.spark.tables import READERS, ratio_bars, tables
from benchmarks.stored import read_results

QUIET = {"load": 0.1, "busy_percent": 1.0}


def measured(reader: str, job: str, number: int) -> dict[str, object]:
    cpu = 12.0 if reader == "connector on kafka" else 3.0 + number
    figures = {"round": number, "size": 100, "rows": 5_000_000, "seconds": 2.0, "cpu_seconds": cpu}
    return {**QUIET, "label": f"{reader}.{job}", **figures}


def a_run() -> Run:
    compared = [measured(reader, job, number) for number in range(2) for reader in READERS for job in JOBS]
    grown = {**measured("growth.rows", "count", 0), "total": 1_000_000, "segments": 4}
    return new_run({"rounds": 2, "rows": 5_000_000}, Path("/"), {"python": "3"}, [*compared, grown])


def test_what_is_stored_is_found_again(tmp_path: Path) -> None:
    """P1: the page knows the rows of the tables by the names that the tables give them; the peer is no row of ours."""
    run = a_run()
    write_files(run, "Spark", "How.", tables(run), tmp_path / "spark")
    every = read_results(tmp_path)
    assert [each.text for each in first_ratios(every)] == ["3.5 (3.0 to 4.0)"] * 2
    found = {each.what for each in all_ratios(every[0])}
    assert "values of 100 B, 1 % by timestamp: holdfast narrow" in found
    assert not any("connector" in what or "parquet" in what for what in found)


def test_aims_and_bars() -> None:
    """P1: every aim has its verdict, and every reader but the peer has bars."""
    run = a_run()
    aims = next(table for table in tables(run) if table.title == "Aims")
    verdicts = {row[0]: row[-1] for row in aims.rows}
    assert verdicts["count: holdfast, 100 B"] == "met"
    assert verdicts["count: holdfast narrow, 100 B"] == "missed"
    assert len(verdicts) == 7
    [bars] = ratio_bars(run).values()
    assert len(bars) == (len(READERS) - 1) * len(JOBS)


def test_rows_that_are_missing_are_no_measurement() -> None:
    """P1: a reader that loses rows gets no figure for it."""
    reader = Reader(None, "holdfast", {"rows": "60000"})
    assert checked(lambda _: 60_000, reader) == 60_000
    with pytest.raises(ValueError, match="59999 rows of 60000"):
        checked(lambda _: 59_999, reader)
