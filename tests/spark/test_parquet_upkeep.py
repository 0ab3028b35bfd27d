"""Small files of a Parquet archive are merged, and old ones let go, whoever reads and whoever is killed meanwhile."""

from __future__ import annotations

import random
import shutil
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from tests.spark import killed_job
from tests.spark.archived import Parquet, Stop, catalog_of, stop_here
from tests.spark.killing import Here, killed
from tests.spark.stored import T0, Stored, fill, records

from holdfast.broker.topics import Topics
from holdfast.io.clock import ManualClock
from holdfast.spark.jobs.archive.archive import archive
from holdfast.spark.jobs.archive.live import LIVE, live_after, live_files
from holdfast.spark.jobs.archive.merged import COUNT_MIN, MERGED, groups_of, let_go, merge_small
from holdfast.spark.jobs.archive.parquet import ParquetTarget
from holdfast.spark.jobs.commit_log import CommitLog, LoggedCommit, Move
from holdfast.spark.jobs.replay.archive import archive_store, row_groups
from holdfast.spark.places.archived import find_archive, look
from holdfast.spark.session.small import SmallFirst

HERE = SmallFirst(lambda: None, None, lambda _: None)
DAY_MS = 86_400_000
SIZE = 1 << 20


class Lake:
    """A topic, and its archive of many small files."""

    def __init__(self, folder: Path, runs: int) -> None:
        self.cluster, self.kind, self.count = Stored(folder / "data"), Parquet(HERE, folder), 0
        for _ in range(runs):
            self.add()

    @property
    def target(self) -> Any:
        return self.kind.target(catalog_of(self.cluster))

    def add(self, *, archived: bool = True) -> None:
        start = self.count
        self.count += 10

        async def work(topics: Topics) -> None:
            topic = topics.find("orders") or await topics.create("orders", 2, {})
            for number in range(2):
                await fill(topic.partition(number), [records(start, 10, time=lambda n: T0 + n)])

        self.cluster.run(work)
        if archived:
            self.archived()

    def archived(self) -> None:
        catalog = catalog_of(self.cluster)
        archive(HERE, catalog, self.kind.target(catalog))

    def by_commits(self) -> list[tuple[int, int]]:
        """What who reads by the commits has: the ends say how much there must be."""
        place = find_archive(str(self.kind.folder), {}, {}, must_be=True)
        state = look(place, ["orders"], [])
        found = [place_of for each in state.files for place_of in offsets(self.kind.folder / each.name)]
        assert sorted(found) == [(number, n) for number in range(2) for n in range(max(state.ends.values()))]
        return found

    def by_listing(self) -> list[tuple[int, int]]:
        """What who lists the directory has."""
        found = ds.dataset(self.kind.folder, partitioning="hive")
        if not list(found.get_fragments()):
            return []
        table = found.to_table(["partition", "offset"])
        return sorted(zip(table["partition"].to_pylist(), table["offset"].to_pylist(), strict=True))

    def whole(self) -> list[tuple[int, int]]:
        return [(number, n) for number in range(2) for n in range(self.count)]

    def files(self) -> list[str]:
        return sorted(str(each.relative_to(self.kind.folder)) for each in self.kind.folder.glob("**/*.parquet"))


def offsets(file: Path) -> list[tuple[int, int]]:
    table = pq.read_table(file, columns=["partition", "offset"], partitioning=None)
    return list(zip(table["partition"].to_pylist(), table["offset"].to_pylist(), strict=True))


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def test_small_files_become_one_and_go_when_nobody_reads_them(tmp_path: Path) -> None:
    """P4: after the merge who reads by the commits has one file, and who lists the directory what he had; a week later
    the one has its name there and the others are gone; another week later the hidden name is. The next run and a replay
    go on, at every step."""
    lake = Lake(tmp_path, 5)
    small = lake.files()
    assert len(small) == 5
    assert merge_small(lake.target, SIZE, now_ms()) == 5
    assert merge_small(lake.target, SIZE, now_ms()) == 0
    hidden = next(each for each in lake.files() if each.startswith(MERGED))
    log = CommitLog(lake.target.store)
    newest = log.newest()
    assert newest is not None
    assert list(live_files(log, newest)) == [hidden]
    shown = hidden.split("/", 3)[3]
    assert pq.ParquetFile(lake.kind.folder / hidden).metadata.num_row_groups == 1
    for ahead, expected in ((0, [hidden, *small]), (8, [hidden, shown]), (8, [shown])):
        let_go(lake.target, 7 * DAY_MS, now_ms() + ahead * DAY_MS)
        assert lake.files() == sorted(expected)
        assert len(lake.by_commits()) == 2 * lake.count
        assert lake.by_listing() == lake.whole()
        groups = row_groups(archive_store(str(lake.kind.folder)), "orders")[1]
        assert sum(each.rows for each in groups) == 2 * lake.count
    lake.add()
    lake.by_commits()
    assert lake.by_listing() == lake.whole()
    assert lake.target.row_count() == 2 * lake.count


STEPS: dict[str, Callable[[Lake], None]] = {
    "merge": lambda _: None,
    "swap": lambda lake: merge_small(lake.target, SIZE, now_ms()) and None,
    "forget": lambda lake: (
        merge_small(lake.target, SIZE, now_ms()),
        let_go(lake.target, 7 * DAY_MS, now_ms() + 8 * DAY_MS),
        None,
    )[2],
}


@pytest.mark.parametrize("step", STEPS)
def test_killed_at_any_moment(tmp_path: Path, step: str) -> None:
    """P4: at each call that changes a file: who reads by the commits has every row once at once; who lists the
    directory never has one twice, and has all of them as soon as anybody has added or looked after it again."""
    (tmp_path / "made").mkdir()
    lake = Lake(tmp_path / "made", 3)
    STEPS[step](lake)
    made = tmp_path / "kept"
    shutil.copytree(lake.kind.folder, made)
    seed, calls = 22, killed(killed_job.look_after, step, tmp_path / "made", at=None)[1]
    kills = 0
    for at in sorted(random.Random(seed).sample(range(calls), min(8 if step == "merge" else 24, calls))):
        for each in lake.kind.folder.iterdir():
            shutil.rmtree(each) if each.is_dir() else each.unlink()
        shutil.copytree(made, lake.kind.folder, dirs_exist_ok=True)
        kills += killed(killed_job.look_after, step, tmp_path / "made", at=at)[0]
        assert len(lake.by_commits()) == 2 * lake.count, f"call {at}"
        seen = lake.by_listing()
        assert len(seen) == len(set(seen)), f"call {at}"
        lake.target.recover()
        assert lake.by_listing() == lake.whole(), f"call {at}"
        killed_job.look_after(step, tmp_path / "made")
        assert len(lake.by_commits()) == 2 * lake.count, f"call {at}"
        assert lake.by_listing() == lake.whole(), f"call {at}"
    assert kills > 3, f"seed {seed}"  # The number of calls differs by a few from run to run.


class Meanwhile(Here):
    """A session in which something else happens before some of its jobs."""

    def __init__(self, *before: Callable[[], object]) -> None:
        super().__init__()
        self.before = list(before)

    def parallelize(self, units: Iterable[Any], count: int) -> Here:
        if self.before:
            self.before.pop(0)()
        return super().parallelize(units, count)


def test_a_run_that_commits_meanwhile(tmp_path: Path) -> None:
    """P4: whoever adds to the archive while files are merged is not undone, and does not undo it."""
    lake = Lake(tmp_path, 3)
    target = ParquetTarget(Meanwhile(lake.add), lake.target.store)
    assert merge_small(target, SIZE, now_ms()) == 3
    assert len(lake.by_commits()) == 2 * lake.count == 80
    assert lake.by_listing() == lake.whole()


def test_two_that_look_after_one_archive(tmp_path: Path) -> None:
    """P4: of two that merge the same files one does, and the other adds nothing."""
    lake = Lake(tmp_path, 3)
    target = ParquetTarget(Meanwhile(lambda: merge_small(lake.target, SIZE, now_ms())), lake.target.store)
    assert merge_small(target, SIZE, now_ms()) == 0
    assert len(lake.by_commits()) == 2 * lake.count
    assert len(list(lake.kind.folder.glob(f"{MERGED}**/*.parquet"))) == 1
    assert lake.by_listing() == lake.whole()


def test_a_commit_whose_files_are_not_all_there(tmp_path: Path) -> None:
    """P4: a run that was killed behind its commit: who reads by the commits has what was there before, and the ends of
    that; as soon as the next run has finished it, all of it."""
    lake = Lake(tmp_path, 2)
    lake.add(archived=False)
    catalog = catalog_of(lake.cluster)
    with pytest.raises(Stop):
        archive(Here(), catalog, ParquetTarget(Meanwhile(stop_here), lake.target.store))
    assert CommitLog(lake.target.store).newest().version == 2  # type: ignore[union-attr]
    assert len(lake.by_commits()) == 40
    lake.archived()
    assert len(lake.by_commits()) == 60


def test_more_commits_than_one_list_has(tmp_path: Path) -> None:
    """P4: every 64th commit has the whole list, and nothing lacks in it; a commit of an earlier release has none."""
    lake = Lake(tmp_path, 1)
    log = CommitLog(lake.target.store)
    first = log.newest()
    assert first is not None
    old = {name: each for name, each in first.memory.items() if name != LIVE}
    for number in range(1, 130):
        is_old = number == 64
        moves = [Move("", f"topic=a/date=2020-01-01/{number}.parquet", number)]
        commit = LoggedCommit(number, tuple(moves), old)
        live = {LIVE: live_after(log, log.read(number - 1), commit)} if number % 64 == 0 and not is_old else {}
        log.commit(number, moves, {**old, **live})
    newest = log.newest()
    assert newest is not None
    assert len(live_files(log, newest)) == 130


def test_which_files_are_merged() -> None:
    """P4: small ones of one day, in their order, up to the size of a large one; of a day that is not over only when
    there are enough; a merged one that waits for its name is left alone."""
    clock = ManualClock(T0)
    day = "topic=a/date=2020-01-01"
    today = "topic=a/date=2023-11-14"
    files = {f"{day}/{n}": 30 for n in range(4)} | {f"{day}/large": 60, f"{MERGED}{1:020}/{day}/x": 10}
    files |= {f"{today}/{n}": 1 for n in range(COUNT_MIN - 1)}
    found = [list(each.files) for each in groups_of(files, 100, clock.now_ms())]
    assert found == [[f"{day}/{n}" for n in range(3)]]
    files[f"{today}/more"] = 1
    assert len(list(groups_of(files, 100, clock.now_ms()))) == 2
