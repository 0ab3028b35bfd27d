"""Small files of an Iceberg table merged, and old ones let go, beside runs that add to it, readers and kills."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest
from tests.spark.archived import DAY, Iceberg, Stop, after, catalog_of, foreign_commit, run, stop_here
from tests.spark.stored import Stored, fill, records
from tests.spark.test_tables import HERE

from holdfast.broker.topics import Topics
from holdfast.cluster.topic_table import TopicTable
from holdfast.io.clock import ManualClock
from holdfast.spark.jobs.tables.upkeep import Upkeep, UpkeepSettings

PLACE = TopicTable("orders", "iceberg", "there")
WEEK = UpkeepSettings(old_s=7 * 86400)


class Lake:
    """A topic, and its table of three small files."""

    def __init__(self, folder: Path) -> None:
        self.cluster, self.kind = Stored(folder / "data"), Iceberg(HERE, folder)
        self.count = 0
        for _ in range(3):
            self.add()
        self.target = self.kind.target(catalog_of(self.cluster))
        self.clock = ManualClock(_now_ms() + 7 * DAY)  # What there is by now is a week old by it, and no more.
        while _now_ms() <= self.clock.now_ms() - 7 * DAY:
            time.sleep(0.001)
        self.upkeep = Upkeep(WEEK, self.clock)

    def add(self) -> None:
        async def work(topics: Topics) -> None:
            topic = topics.find("orders") or await topics.create("orders", 1, {})
            await fill(topic.partition(0), [records(self.count, 10)])

        self.cluster.run(work)
        assert run(HERE, self.cluster, self.kind).rows() == 10
        self.count += 10

    def table(self) -> Any:
        return self.target.open_table("records")

    def files(self) -> int:
        """How many there are, of the table or not."""
        return len(list(self.kind.folder.rglob("*.parquet")))

    def check(self, files: int) -> None:
        """The table has every record once, in so many files."""
        assert sorted(self.kind.read()["offset"].to_pylist()) == list(range(self.count))
        assert self.target.row_count() == self.count
        assert len(self.table().inspect.data_files()) == files


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


def test_who_reads_what_was_replaced_goes_on_for_a_week(lake: Lake) -> None:
    """P4: its snapshot is older than that, but stood for the table until the merge. A week after that its files go."""
    reading = lake.table()
    lake.upkeep(PLACE, lake.target)
    lake.check(files=1)
    assert lake.table().current_snapshot().summary.operation.value == "replace"  # Who streams steps over it.
    assert sorted(reading.scan().to_arrow()["offset"].to_pylist()) == list(range(lake.count))
    assert lake.files() == 4
    lake.upkeep(PLACE, lake.target)
    lake.check(files=1)
    lake.clock.advance(8 * 86400)
    lake.upkeep(PLACE, lake.target)
    lake.check(files=1)
    assert lake.files() == len(lake.table().snapshots()) == 1
    lake.add()
    lake.check(files=2)


def test_a_run_that_adds_meanwhile_is_quicker(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """P4: the merge leaves it in peace; what it wrote is no part of the table, and is done again the next time."""
    where, name = foreign_commit(lake.kind)
    with monkeypatch.context() as patched:
        patched.setattr(where, name, after([lake.add], getattr(where, name)))
        lake.upkeep(PLACE, lake.target)
    lake.check(files=4)
    lake.upkeep(PLACE, lake.target)
    lake.check(files=1)


def test_a_merge_that_is_killed_before_its_commit(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """P4: nothing has happened to the table; its file goes when it is old."""
    where, name = foreign_commit(lake.kind)
    with monkeypatch.context() as patched:
        patched.setattr(where, name, stop_here)
        with pytest.raises(Stop):
            lake.upkeep(PLACE, lake.target)
    lake.check(files=3)
    assert lake.files() == 4
    lake.clock.advance(30 * 86400)
    lake.upkeep(PLACE, lake.target)
    lake.check(files=1)
    assert lake.files() == 1


def test_files_of_runs_that_are_under_way_stay(lake: Lake) -> None:
    """P4: nobody has committed them yet."""
    young, old = [lake.kind.folder / "files" / name / "records-000000.parquet" for name in ("young", "old")]
    for file, age_s in ((young, 86400), (old, 8 * 86400)):
        file.parent.mkdir()
        file.write_bytes(b"half a file")
        at = lake.clock.now_ms() / 1000 - age_s
        os.utime(file, (at, at))
    lake.upkeep(PLACE, lake.target)
    lake.check(files=1)
    assert (young.exists(), old.exists()) == (True, False)


def test_files_that_have_a_column_by_its_old_name_stay_as_they_are(lake: Lake) -> None:
    """P4: what was renamed since is told from a new column by nothing in the file."""
    with lake.table().update_schema() as change:
        change.rename_column("key", "id")
    lake.upkeep(PLACE, lake.target)
    lake.check(files=3)
    assert None not in lake.kind.read()["id"].to_pylist()
