"""An archive that is followed: what comes is in it soon and once, whoever is killed; waiting costs next to nothing."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pyarrow.dataset as ds
import pytest
from tests.spark import killed_job
from tests.spark.archived import Delta, Iceberg, Kind, Parquet
from tests.spark.disturbed import DisturbedTarget, disturb
from tests.spark.killing import killed
from tests.spark.stored import T0, Stored, fill, records
from tests.support.broker_process import COMMAND

from holdfast.broker.topics import Topics
from holdfast.catalog.catalog import Catalog, catalog_in
from holdfast.catalog.store import find_store
from holdfast.cli.terminal.stopping import Stopping
from holdfast.client import Client, ClientSettings
from holdfast.errors import Unavailable
from holdfast.io.clock import ManualClock
from holdfast.io.objects.faulty import Call
from holdfast.record.build import build
from holdfast.record.records import Record
from holdfast.spark.jobs.archive.follow import TOPICS_S, Follower, is_passing
from holdfast.spark.jobs.archive.parquet import ParquetTarget, parquet_store
from holdfast.spark.jobs.commit_log import Overtaken
from holdfast.spark.jobs.run import JobFailed
from holdfast.spark.session.small import SmallFirst
from holdfast.testing import running_broker

HERE = SmallFirst(lambda: None, None, lambda _: None)


def add(cluster: Stored, start: int, count: int, partitions: int = 1) -> None:
    async def work(topics: Topics) -> None:
        topic = topics.find("orders") or await topics.create("orders", partitions, {})
        await fill(topic.partition(0), [records(start, count)])

    cluster.run(work)


class Watched:
    """A follower by a clock that the test moves, with every request to the store of the topics."""

    def __init__(self, path: Path, out: Path, broker: ClientSettings | None = None) -> None:
        self.calls: list[Call] = []
        self.clock = ManualClock()
        self.asked = 0
        self.out = out
        catalog = catalog_in(disturb(find_store(str(path)), self.calls.append), topics=["orders"])
        self.follower = Follower(HERE, catalog, self._target, broker=broker, clock=self.clock)

    def _target(self, _: Catalog) -> ParquetTarget:
        self.asked += 1
        return ParquetTarget(HERE, parquet_store(str(self.out)))

    def rows(self) -> int | None:
        step = self.follower.round()
        return None if step is None else step.done.rows()

    def offsets(self) -> list[int]:
        return sorted(ds.dataset(self.out, partitioning="hive").to_table(["offset"])["offset"].to_pylist())


def test_an_idle_round_is_one_small_read(tmp_path: Path) -> None:
    """P4: nothing new costs one small read of the partition's next manifest, and the target is not asked; once in ten
    seconds there is one more, for new partitions."""
    cluster = Stored(tmp_path / "data")
    add(cluster, 0, 10)
    watched = Watched(tmp_path / "data", tmp_path / "out")
    assert watched.rows() == 10
    for _ in range(20):
        watched.calls.clear()
        assert watched.rows() is None
        assert [each.kind for each in watched.calls] == ["get"]
    assert watched.asked == 1
    watched.clock.advance(TOPICS_S)
    watched.calls.clear()
    assert watched.rows() is None
    assert [each.kind for each in watched.calls] == ["get", "get"]
    add(cluster, 10, 5)
    assert watched.rows() == 5
    assert watched.offsets() == list(range(15))


def test_an_idle_round_with_a_broker_asks_it_alone(tmp_path: Path) -> None:
    """P4: with a broker that is one question to it and none to the store; what it has acknowledged is flushed and in
    the archive after the next round, also of a partition that was made meanwhile."""
    with running_broker(data=tmp_path / "data") as broker, Client(broker.bootstrap) as client:
        client.create_topics({"orders": 3})
        watched = Watched(tmp_path / "data", tmp_path / "out", ClientSettings.at(broker.bootstrap))
        client.produce({("orders", 1): build([Record(b"k", b"v", 1)] * 3)})
        assert watched.rows() == 3
        watched.calls.clear()
        assert [watched.rows() for _ in range(20)] == [None] * 20
        assert watched.calls == []
        client.produce({("orders", 2): build([Record(b"k", b"v", 1)] * 2)})
        assert watched.rows() == 2
        client.create_partitions("orders", 4)
        client.produce({("orders", 3): build([Record(b"k", b"v", 1)])})
        watched.clock.advance(TOPICS_S)
        assert [watched.rows(), watched.rows()].count(1) == 1
        watched.follower.close()


def test_who_is_overtaken_looks_again(tmp_path: Path) -> None:
    """P4: of two followers of one target each adds what the other has not; a failed round forgets what it knew."""
    cluster = Stored(tmp_path / "data")
    add(cluster, 0, 10)
    one, other = (Watched(tmp_path / "data", tmp_path / "out") for _ in range(2))
    assert (one.rows(), other.rows()) == (10, None)
    add(cluster, 10, 5)
    real = other._target

    def late(catalog: Catalog) -> Any:
        target = real(catalog)

        def commit(*given: Any) -> None:
            assert one.rows() == 5
            target.commit(*given)

        return DisturbedTarget(target, commit=commit)

    other.follower._target_of = late
    with pytest.raises(Overtaken):
        other.rows()
    other.follower._target_of = real
    assert other.rows() is None
    assert one.offsets() == list(range(15))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_wait(number: signal.Signals) -> None:
    """P4: it is heard between two steps, and a second one ends everything."""
    before = [signal.getsignal(each) for each in (signal.SIGTERM, signal.SIGINT)]
    try:
        stopping = Stopping()
        stopping.listen()
        assert not stopping.wait(0)
        os.kill(os.getpid(), number)
        assert stopping.wait(60)
        assert signal.getsignal(number) is signal.SIG_DFL
    finally:
        for each, handler in zip((signal.SIGTERM, signal.SIGINT), before, strict=True):
            signal.signal(each, handler)


@pytest.mark.parametrize("kind", [Parquet, Delta, Iceberg])
def test_how_fresh_a_step_is(tmp_path: Path, kind: type[Kind]) -> None:
    """P4: from the newest record's timestamp to its commit, in milliseconds, whatever the format counts in."""
    add(Stored(tmp_path / "data"), 0, 10)
    catalog = catalog_in(find_store(str(tmp_path / "data")), topics=["orders"])
    read: Any = kind(HERE, tmp_path)
    step = Follower(HERE, catalog, read.target, clock=ManualClock(T0 + 500)).round()
    assert step is not None
    assert step.fresh_ms == 491


def test_what_passes_is_told_from_what_does_not() -> None:
    """P4: what an executor found to be away is waited for, too."""
    assert is_passing(Unavailable("away"))
    assert is_passing(JobFailed("NotMadeYet", "away", ""))
    assert not is_passing(JobFailed("Corrupt", "damaged", ""))


@pytest.mark.parametrize("kind", [Parquet, Delta, Iceberg])
def test_killed_again_and_again(tmp_path: Path, kind: type[Kind]) -> None:
    """P4: a follower that is killed at calls by chance, while records come, has all of them once in the end."""
    name, seed = kind.__name__.lower(), 22
    chance = random.Random(seed)
    cluster, count, kills = Stored(tmp_path / "data"), 0, 0
    for _ in range(4):
        add(cluster, count, 20)
        count += 20
        kills += killed(killed_job.follow, name, tmp_path / "data", tmp_path, at=chance.randrange(60))[0]
    assert kills >= 2, f"seed {seed}"
    killed(killed_job.follow, name, tmp_path / "data", tmp_path, at=None)
    read: Any = kind(None, tmp_path)
    assert sorted(read.read()["offset"].to_pylist()) == list(range(count)), f"seed {seed}"


@contextmanager
def following(*arguments: str, **named: Any) -> Iterator[subprocess.Popen[str]]:
    """A command that goes on, with its lines."""
    process = subprocess.Popen(
        [COMMAND, "archive", *arguments, "--follow"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        **named,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def until(lines: IO[str] | None, found: Callable[[str], bool]) -> str:
    assert lines is not None
    return next(line for line in lines if found(line))


def test_the_command_follows_until_it_is_told_to_stop(tmp_path: Path) -> None:
    """P4: one JSON object for each commit, with rows and freshness; a broker that goes is waited for, and said once;
    the report is kept; a signal ends it with 0."""
    with running_broker(data=tmp_path / "data") as broker, Client(broker.bootstrap) as client:
        client.create_topics({"orders": 1})
        client.produce({("orders", 0): build([Record(b"k", b"v", broker_now())] * 3)})
        where = ["orders", str(tmp_path / "out"), "--path", str(tmp_path / "data"), "--bootstrap", broker.bootstrap]
        with following(*where, "--every", "50ms", "--master", "none", "--json", "--report") as process:
            first = json.loads(until(process.stdout, lambda _: True))
            assert (first["rows"], first["partitions"][0]["to"]) == (3, 3)
            assert 0 <= first["freshness_ms"] < 60_000
            broker.kill()
            assert "it is tried again until it goes" in until(process.stderr, lambda line: "tried" in line)
            broker.start()
            with Client(broker.bootstrap) as again:
                again.produce({("orders", 0): build([Record(b"k", b"v", broker_now())] * 2)})
            second = json.loads(until(process.stdout, lambda _: True))
            assert (second["rows"], second["partitions"][0]["from"]) == (2, 3)
            process.send_signal(signal.SIGTERM)
            rest, said = process.communicate(timeout=90)
            assert (process.returncode, rest) == (0, ""), said
            assert said.count("it is tried again") == 0
        assert list((tmp_path / "data" / "objects" / "reports" / "archive").iterdir())
    assert ds.dataset(tmp_path / "out", partitioning="hive").to_table().num_rows == 5


def broker_now() -> int:
    from holdfast.io.clock import SystemClock

    return SystemClock().now_ms()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--every", "5s"], "--every is for --follow"),
        (["--follow", "--every", "soon"], "--every soon is no time: write 10s"),
        (["--follow", "--every", "0"], "--every 0 is no time"),
        (["--follow", "--plot", "p.png"], "--plot is drawn at the end"),
    ],
)
def test_what_does_not_belong_together(tmp_path: Path, given: list[str], said: str) -> None:
    from typer.testing import CliRunner

    from holdfast.cli.main import app

    add(Stored(tmp_path / "data"), 0, 1)
    done = CliRunner().invoke(
        app, ["archive", "orders", str(tmp_path / "out"), "--path", str(tmp_path / "data"), *given]
    )
    assert done.exit_code == 1
    assert said in done.stderr
