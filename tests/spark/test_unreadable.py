"""K12: Spark's source names a batch that nobody can read, and steps over it where it is told to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.record.test_malformed import malformed
from tests.spark.stored import Stored, records

from holdfast.broker.topics import Topics
from holdfast.record.build import build
from holdfast.spark.errors import DataLost
from holdfast.spark.options import parse
from holdfast.spark.read import read
from holdfast.spark.schema import full_schema
from holdfast.spark.source import BatchReader


async def work(topics: Topics) -> None:
    log = (await topics.create("t", 1, {})).partition(0)
    await log.append(build(records(0, 5)))
    await log.append(malformed("00 00 00 00 01 01 00" * 2, 2, 1))
    await log.append(build(records(7, 5)))
    await log.flush()


def test_a_batch_that_nobody_can_read_is_named_and_stepped_over(tmp_path: Path, caplog: Any) -> None:
    """K12: by default the read fails with offsets, reason and the way on: with failOnDataLoss=false it goes on."""
    stored = Stored(tmp_path)
    stored.run(work)
    options = parse({"path": stored.path, "subscribe": "t"}, stream=False)
    [part] = BatchReader(options, full_schema(include_headers=False)).partitions()
    with pytest.raises(DataLost, match=r"t-0: offsets \[5, 7\).*nobody can read this batch.*failOnDataLoss"):
        list(read(part.task, ["offset"], part.store))  # type: ignore[attr-defined]
    batches = list(read(part.task, ["offset"], part.store, fail_on_data_loss=False))  # type: ignore[attr-defined]
    assert [each for batch in batches for each in batch.column("offset").to_pylist()] == [*range(5), *range(7, 12)]
    assert "[5, 7)" in caplog.text
