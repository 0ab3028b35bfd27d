"""Pipelines killed at random calls of their commits and writes, many times: run again, the result is exact."""

from __future__ import annotations

import os
import random
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from tests.spark.archived import EXPECTED, make_orders
from tests.spark.killing import Here, killed

from holdfast.catalog.store import find_store
from holdfast.spark.jobs.audit.audit import audit
from holdfast.spark.jobs.merge.merge import AlreadyThere

for _name in ("deltalake", "pyiceberg"):
    pytest.importorskip(_name, reason="the packages of the Spark part are missing")

KILLS = 5  # Of each pipeline.


def visible(what: str, data: Path, out: Path) -> Counter[tuple[int, int]]:
    """How often readers see each record of the result."""
    if what == "compact":
        reports = audit(Here(), find_store(str(data)))
        assert all(each.is_sound for each in reports), [each.problems for each in reports]
        return Counter(dict.fromkeys(EXPECTED, 1)) if sum(each.counts.records for each in reports) == 120 else Counter()
    if what == "merge":
        rows = [row for file in sorted(out.glob("*.parquet")) for row in pq.read_table(file).to_pylist()]
    else:
        rows = read(what, out)
    return Counter((row["partition"], row["offset"]) for row in rows)


def read(what: str, out: Path) -> list[dict[str, Any]]:
    from deltalake.exceptions import TableNotFoundError
    from pyiceberg.exceptions import NoSuchTableError
    from sqlalchemy.exc import OperationalError
    from tests.spark.killed_job import KINDS

    try:
        table = KINDS[what](None, out).read()
    except (TableNotFoundError, NoSuchTableError, OperationalError, FileNotFoundError):
        return []  # Nothing is made yet.
    return list(table.to_pylist())


@pytest.mark.parametrize("what", ["parquet", "delta", "iceberg", "merge", "compact"])
def test_killed_at_any_call(what: str, tmp_path: Path) -> None:
    """P4: killed before any of its calls, nothing is visible twice; after another run everything is there once."""
    from tests.spark.killed_job import run

    seed = int(os.environ.get("HOLDFAST_SEED", random.randrange(2**32)))
    print("HOLDFAST_SEED", seed)
    chance = random.Random(seed)
    orders = make_orders(tmp_path / "orders").data

    def place(number: int) -> tuple[Path, Path]:
        (tmp_path / str(number) / "out").mkdir(parents=True)
        return shutil.copytree(orders, tmp_path / str(number) / "data"), tmp_path / str(number) / "out"

    _, calls = killed(run, what, *place(0), at=None)
    kills = 0
    for number in range(1, KILLS + 1):
        data, out = place(number)
        at = chance.randrange(calls)
        was_killed, _ = killed(run, what, data, out, at=at)
        kills += was_killed
        found = visible(what, data, out)
        assert found <= Counter(EXPECTED.keys()), (at, found - Counter(EXPECTED.keys()))
        if what in ("delta", "iceberg", "compact"):
            assert len(found) in (0, len(EXPECTED)), at
        try:
            run(what, data, out)
        except AlreadyThere:  # It was killed when everything was done.
            assert what == "merge"
        assert visible(what, data, out) == Counter(EXPECTED.keys()), at
    assert kills > KILLS // 2
