"""Rows by their days, without Spark."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from holdfast.spark.jobs.archive.write import DAY_MS, by_date


def _rows(days: list[float], unit: str = "ms") -> Any:
    scale = DAY_MS * (1000 if unit == "us" else 1)
    times: Any = pa.array([int(day * scale) for day in days], pa.int64()).view(pa.timestamp(unit, "UTC"))  # type: ignore[call-overload]
    return pa.record_batch({"timestamp": times, "number": pa.array(range(len(days)))})


def _numbers(rows: Any) -> dict[str, list[int]]:
    return {date: part.column("number").to_pylist() for date, part in by_date(rows)}


def test_rows_of_each_day_in_their_order() -> None:
    """P4: whether times grow or not, before and after 1970, in both units."""
    assert _numbers(_rows([])) == {}
    for unit in ("ms", "us"):
        assert _numbers(_rows([0, 0.5, 0.9], unit)) == {"1970-01-01": [0, 1, 2]}
        assert _numbers(_rows([-0.5, 0, 1, 1.5, 3], unit)) == {
            "1969-12-31": [0],
            "1970-01-01": [1],
            "1970-01-02": [2, 3],
            "1970-01-04": [4],
        }
        assert _numbers(_rows([1, 0, 1.5, 0.5], unit)) == {"1970-01-01": [1, 3], "1970-01-02": [0, 2]}


def test_what_grows_is_not_copied() -> None:
    """P4: days that follow one another are parts of the same memory."""
    rows = _rows([0, 1, 1.5])
    address = rows.column("number").buffers()[1].address
    for _, part in by_date(rows):
        assert part.column("number").buffers()[1].address == address
