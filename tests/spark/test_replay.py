"""An archive back into a topic: as it was, and once."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.spark.disturbed import disturb
from tests.spark.sink_parts import read_committed
from tests.spark.sink_proxy import KafkaProxy, Passing, kill_session
from tests.support.broker_process import BrokerProcess

from holdfast.catalog.catalog import open_catalog
from holdfast.catalog.store import Store
from holdfast.cli.archive.target import open_target
from holdfast.client import Client, ClientSettings
from holdfast.errors import Rejected
from holdfast.io.objects.faulty import Call, Delay
from holdfast.protocol.api import Key
from holdfast.record.build import build
from holdfast.record.records import Record
from holdfast.spark.jobs.archive.access import catalog_properties
from holdfast.spark.jobs.archive.archive import archive
from holdfast.spark.jobs.archive.parquet import ParquetTarget, parquet_store
from holdfast.spark.jobs.commit_log import CommitLog, Move
from holdfast.spark.jobs.replay.archive import Access, NoArchive, archive_store, row_groups
from holdfast.spark.jobs.replay.replay import ReplayTakenOver, plan_replay, replay
from holdfast.spark.jobs.replay.tables import iceberg_files
from holdfast.spark.sink.options import SinkOptions
from holdfast.testing import free_port

ROOT = Path(__file__).parents[2]
PARTITIONS, ROWS = 2, 120
MIDNIGHT = 1_699_920_000_000  # Times go back and forth over it: rows of one partition lie in files of two days.


def record(number: int) -> Record:
    value = None if number % 11 == 10 else b"value %d" % number
    headers = (("n", b"%d" % number), ("none", None))[: number % 3]
    return Record(
        None if number % 7 == 6 else b"k%d" % number, value, MIDNIGHT + 1000 * (-1) ** number * number, headers
    )


class World:
    """A broker behind a proxy, and the archive of one of its topics."""

    def __init__(self, folder: Path, proxy: KafkaProxy, address: str) -> None:
        self.archive = folder / "archive"
        self.proxy = proxy
        self.address = address

    def options(self, topic: str) -> SinkOptions:
        staging = Store(str(self.archive / "_replay"))
        return SinkOptions(ClientSettings.at(self.address), staging, topic=topic, include_timestamp=True)

    def read(self, topic: str) -> list[list[tuple[Any, ...]]]:
        """What each partition holds, in order."""
        found: list[list[tuple[Any, ...]]] = [[] for _ in range(PARTITIONS)]
        for each in read_committed(self.address, topic, PARTITIONS):
            found[each.partition()].append((each.key(), each.value(), each.timestamp(), each.headers()))
        return found

    def make(self, topic: str) -> str:
        with Client(self.address) as client:
            client.create_topics({topic: PARTITIONS}, {"retention.ms": "-1"})
        return topic


@pytest.fixture(scope="module")
def world(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("replay")
    port = free_port()
    broker = BrokerProcess(folder / "data", port=free_port(), options=("--advertise", f"127.0.0.1:{port}"))
    with broker:
        proxy = KafkaProxy(("127.0.0.1", broker.port), port)
        made = World(folder, proxy, f"127.0.0.1:{port}")
        made.make("orders")
        with Client(made.address) as client:
            for start in range(0, ROWS, 10):
                records = [record(number) for number in range(start, start + 10)]
                client.produce({("orders", start // 10 % PARTITIONS): build(records)})
        assert broker.stop() == 0  # So that everything is in segments.
        broker.start()
        catalog = open_catalog(str(folder / "data"), topics=["orders"])
        archive(spark, catalog, ParquetTarget(spark, parquet_store(str(made.archive))))
        yield made
        proxy.close()


def test_an_archive_comes_back_as_it_was(spark: Any, world: World) -> None:
    """P4: partitions, order, keys, values, headers and times are those of the archived topic; a repeat does nothing."""
    topic = world.make("again")
    place = archive_store(str(world.archive))
    done = replay(spark, plan_replay(place, world.options(topic)), round_size=2000)
    assert done.records == ROWS
    assert done.transactions > 1
    assert world.read(topic) == world.read("orders")
    assert replay(spark, plan_replay(place, world.options(topic))).records == 0
    assert world.read(topic) == world.read("orders")
    named = replay(spark, plan_replay(place, world.options(topic), name="a second time"))
    assert named.records == ROWS
    assert list((world.archive / "_replay").rglob("*.batches")) == []


@pytest.mark.parametrize("kind", ["delta", "iceberg"])
def test_a_table_comes_back_as_it_was(spark: Any, world: World, tmp_path: Path, kind: str) -> None:
    """P4: the files of a table are those that it lists: what lies beside them is not read."""
    catalog = open_catalog(str(world.archive.parent / "data"), topics=["orders"])
    target = open_target(kind, str(tmp_path / "lake"), spark, catalog, {}, {}, "snappy")
    archive(spark, catalog, target)
    strays = [shutil.copy(each, each.with_name("stray.parquet")) for each in (tmp_path / "lake").rglob("*.parquet")]
    assert strays
    place = archive_store(str(tmp_path / "lake"))
    access = Access(catalog=catalog_properties(str(tmp_path), place.url, {}))
    topic = world.make(f"from-{kind}")
    done = replay(spark, plan_replay(place, world.options(topic), access=access))
    assert (done.source, done.records) == ("orders", ROWS)
    assert world.read(topic) == world.read("orders")
    assert replay(spark, plan_replay(place, world.options(topic), access=access)).records == 0


def test_tables_that_somebody_changed_are_refused(spark: Any, world: World, tmp_path: Path) -> None:
    """P4: rows that a table says are gone, or files that are not below it, must not come back unseen."""
    from pyiceberg.catalog import load_catalog

    catalog = open_catalog(str(world.archive.parent / "data"), topics=["orders"])
    archive(spark, catalog, open_target("iceberg", str(tmp_path / "lake"), spark, catalog, {}, {}, "snappy"))
    place = archive_store(str(tmp_path / "lake"))
    access = Access(catalog=catalog_properties(str(tmp_path), place.url, {}))
    with pytest.raises(NoArchive, match="a file elsewhere"):
        iceberg_files(Store(f"{place.url}/other"), access.catalog)
    load_catalog("holdfast", **access.catalog).drop_table("holdfast.records")
    with pytest.raises(NoArchive, match="say which with --catalog"):
        row_groups(place, None, access)


def test_what_cannot_be_replayed_is_told(world: World, tmp_path: Path) -> None:
    """P4: a wrong place, a topic that is not in it, and too few partitions."""
    with pytest.raises(NoArchive, match="not a directory"):
        archive_store(str(tmp_path / "absent"))
    with pytest.raises(NoArchive, match="no Parquet files"):
        plan_replay(archive_store(str(tmp_path)), world.options("orders"))
    with pytest.raises(NoArchive, match="holds no topic clicks, but orders"):
        plan_replay(archive_store(str(world.archive)), world.options("orders"), "clicks")
    with Client(world.address) as client:
        client.create_topics({"narrow": 1})
    with pytest.raises(Rejected, match="has 1 partitions, the archive has 2"):
        plan_replay(archive_store(str(world.archive)), world.options("narrow"))


def test_an_archive_that_grows_meanwhile(world: World, tmp_path: Path) -> None:
    """P4: what a run adds while the archive is looked at is not seen in part: the files are those of one commit."""
    place = archive_store(str(shutil.copytree(world.archive, tmp_path / "copy")))
    log = CommitLog(place)
    newest = log.newest()
    assert newest is not None

    def commit() -> None:
        """Another run of the archive, with one of two files in its place."""
        moves = [Move(f"_holdfast/staging/x/{n}", f"topic=orders/date=2030-01-0{n}/x-{n}.parquet", 1) for n in (1, 2)]
        log.commit(newest.version + 1, moves, newest.memory)
        objects = place.open()
        source = next(each.name for each in objects.list("topic=orders/"))
        objects.put(moves[0].target, [objects.get(source)])

    before = row_groups(place, "orders")
    calls = iter([Delay(commit)])
    name = f"_holdfast/{newest.version:020}.json"

    def before_the_commit_is_read(call: Call) -> Delay | None:
        return next(calls, None) if (call.kind, call.name) == ("get", name) else None

    assert row_groups(disturb(place, before_the_commit_is_read), "orders") == before
    assert next(calls, None) is None
    with pytest.raises(NoArchive, match="killed before all files were in their places"):
        row_groups(place, "orders")


def test_a_run_that_another_has_overtaken_stops(spark: Any, world: World) -> None:
    """P4: of two runs of one replay the slower writes nothing."""
    topic = world.make("raced")
    place = archive_store(str(world.archive))
    slower = plan_replay(place, world.options(topic))
    replay(spark, plan_replay(place, world.options(topic)), round_size=2000)
    with pytest.raises(ReplayTakenOver):
        replay(spark, slower, round_size=2000)
    assert world.read(topic) == world.read("orders")


def command(world: World, topic: str) -> list[str]:
    run = [sys.executable, "-m", "holdfast.cli", "replay", str(world.archive), "--topic", topic]
    return [*run, "--bootstrap", world.address, "--transaction-bytes", "2000", "--json", "--master", "local[2]"]


@pytest.mark.slow
@pytest.mark.timeout(600)  # Spark starts once more, and the machine may be busy.
def test_killed_in_the_middle_and_run_again(spark: Any, world: World) -> None:
    """P4: killed with one transaction committed and one open: the next run writes the rest, and nothing twice."""
    topic = world.make("killed")
    driver = subprocess.Popen(
        command(world, topic), cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    world.proxy.arm(Passing(Key.END_TXN, is_answer=False), lambda: kill_session(driver.pid), before=1)
    try:
        assert driver.wait(200) != 0
    finally:
        kill_session(driver.pid)
    part = sum(map(len, world.read(topic)))
    assert 0 < part < ROWS
    done = replay(spark, plan_replay(archive_store(str(world.archive)), world.options(topic)))
    assert done.records == ROWS - part
    assert world.read(topic) == world.read("orders")
