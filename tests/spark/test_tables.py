"""Topics that are tables: their configs say so, and one application keeps all of them fresh, each for itself."""

from __future__ import annotations

import json
import os
import random
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pyarrow.dataset as ds
import pytest
from tests.spark.archived import DAY, Delta, Iceberg, Kind, Parquet, catalog_of
from tests.spark.stored import Stored, fill, records
from tests.spark.test_archive_registry import prefixed, record
from tests.support.broker_process import COMMAND
from tests.support.little_registry import little_registry
from typer.testing import CliRunner

from holdfast.broker.topics import Topics
from holdfast.catalog.store import find_store
from holdfast.cli.main import app
from holdfast.cli.tables.command import _targets
from holdfast.client import Client, ClientSettings
from holdfast.client.errors import Refused
from holdfast.cluster.topic_table import TopicTable
from holdfast.errors import Rejected
from holdfast.io.clock import ManualClock
from holdfast.record.build import build
from holdfast.record.records import Record
from holdfast.spark.jobs.archive.archive import archive
from holdfast.spark.jobs.archive.follow import FollowedStep
from holdfast.spark.jobs.archive.registry_values import reader_of
from holdfast.spark.jobs.replay.archive import Access, archive_store, row_groups
from holdfast.spark.jobs.replay.plan import ReplayRange
from holdfast.spark.jobs.replay.stage import read_range
from holdfast.spark.jobs.tables.keep import KeptTable, TableKeeper
from holdfast.spark.jobs.tables.report import TableReports
from holdfast.spark.jobs.tables.upkeep import Upkeep, UpkeepSettings
from holdfast.spark.jobs.tables.wanted import check_below
from holdfast.spark.session.small import SmallFirst
from holdfast.sync.topics import to_copy
from holdfast.testing import running_broker

HERE = SmallFirst(lambda: None, None, lambda _: None)
SCHEMA = json.dumps({"type": "record", "name": "r", "fields": [{"name": "id", "type": "long"}]})


class World:
    """A broker, and the keeper of its tables beside it."""

    def __init__(self, folder: Path, address: str) -> None:
        self.folder = folder
        self.address = address
        self.client = Client(address)
        self.said: list[tuple[str, int | None]] = []
        store = find_store(str(folder / "data"))
        self.reports = TableReports(store)
        targets = _targets(HERE, None, None, None)
        self.keeper = TableKeeper(HERE, store, targets, self.changed, broker=ClientSettings.at(address))

    def changed(self, table: KeptTable, step: FollowedStep | None) -> None:
        self.reports.leave(table)
        self.said.append((table.wanted.topic, None if step is None else step.done.rows()))

    def table(self, topic: str, kind: str, **more: str) -> None:
        configs = {"format": kind, "location": str(self.folder / topic), "freshness.ms": "400", **more}
        self.client.create_topics({topic: 1}, {f"holdfast.table.{name}": text for name, text in configs.items()})

    def add(self, topic: str, *values: bytes) -> None:
        now = time.time_ns() // 1_000_000
        self.client.produce({(topic, 0): build([Record(b"k", value, now) for value in values])})

    def until(self, is_so: Callable[[], bool]) -> None:
        for _ in range(400):
            pause_s = self.keeper.tick()
            self.keeper.finish()
            if is_so():
                return
            time.sleep(min(pause_s, 0.05))
        raise AssertionError(self.said)

    def rows(self, topic: str) -> int:
        return sum(count or 0 for name, count in self.said if name == topic)

    def listed(self) -> dict[str, dict[str, Any]]:
        done = CliRunner().invoke(app, ["tables", "list", "--path", str(self.folder / "data"), "--json"])
        assert done.exit_code == 0, done.output
        return {each["topic"]: each for each in map(json.loads, done.stdout.splitlines())}


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with running_broker(data=tmp_path / "data") as broker:
        made = World(tmp_path, broker.bootstrap)
        yield made
        made.keeper.close()
        made.client.close()


def test_one_application_keeps_all_tables_fresh(world: World) -> None:
    """P4: each format by its configs; a table that cannot be is said once, counted and tried again, and stops no other;
    a topic that becomes a table meanwhile is taken up; all of it is listed."""
    world.client.create_topics({"plain": 1})
    world.table("a", "parquet", **{"value.format": "json", "value.schema": SCHEMA, "keep.value": "true"})
    world.table("b", "delta")
    world.table("bad", "parquet", location=str(world.folder / "data"))
    for topic in ("a", "b", "bad", "plain"):
        world.add(topic, b'{"id": 1}', b'{"id": 2}')
    world.until(lambda: world.rows("a") == 2 and world.rows("b") == 2 and ("bad", None) in world.said)
    found = ds.dataset(world.folder / "a", partitioning="hive").to_table(["id", "value"]).to_pylist()
    assert sorted((row["id"], row["value"]) for row in found) == [(1, b'{"id": 1}'), (2, b'{"id": 2}')]
    world.table("c", "iceberg")
    world.add("c", b"x")
    world.add("a", b'{"id": 3}', b"bad")
    world.keeper._looked_s = None  # In place of ten seconds.
    world.until(lambda: world.rows("c") == 1 and world.rows("a") == 3)
    assert [name for name, _ in world.said].count("bad") == 1
    listed = world.listed()
    assert {name: each["rows"] for name, each in listed.items()} == {"a": 3, "b": 2, "bad": None, "c": 1}
    assert "is not empty, and holds no archive" in listed["bad"]["error"]
    assert listed["bad"]["failures"] >= 1
    assert not listed["b"]["error"]
    assert 0 <= listed["b"]["freshness_ms"] < 60_000
    assert listed["b"]["freshness_wanted_ms"] == 400


def test_the_application_is_killed_and_started_again(world: World) -> None:
    """P4: three tables, three kills at moments by chance while records come, and a last run that is told to stop: every
    record is in each table once."""
    kinds = {"parquet": Parquet, "delta": Delta, "iceberg": Iceberg}
    for kind in kinds:
        world.table(kind, kind)
    seed, count = 22, 0
    chance = random.Random(seed)
    command = [COMMAND, "tables", "run", "--path", str(world.folder / "data"), "--bootstrap", world.address]
    for number in range(4):
        with subprocess.Popen(
            [*command, "--master", "none", "--under", str(world.folder)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        ) as process:
            assert process.stdout is not None
            for kind in kinds:
                world.add(kind, *(b"%d" % each for each in range(count, count + 50)))
            count += 50
            process.stdout.readline()  # The first of them is there.
            if number < 3:
                time.sleep(chance.random() / 5)
                process.kill()
                continue
            wanted = {"rows": count, "error": ""}
            for _ in range(400):
                if all({name: each[name] for name in wanted} == wanted for each in world.listed().values()):
                    break
                time.sleep(0.05)
            process.terminate()
            assert process.wait(90) == 0
    for kind, cls in kinds.items():
        read: Any = cls(HERE, world.folder)
        read.folder = world.folder / kind
        if kind == "iceberg":
            (read.folder / "c.db").symlink_to(read.folder / "catalog.db")
        values = sorted(int(each) for each in read.read()["value"].to_pylist())
        assert values == list(range(count)), f"{kind}, seed {seed}"


def test_a_table_that_is_none_any_more(world: World) -> None:
    """P4: who takes the configs back has a topic again, and what the table holds stays."""
    world.table("a", "parquet")
    world.add("a", b"x")
    world.until(lambda: world.rows("a") == 1)
    world.client.alter_configs("a", [], ["holdfast.table.format", "holdfast.table.location"])
    world.keeper._looked_s = None
    world.until(lambda: not world.keeper.tables)
    assert ds.dataset(world.folder / "a", partitioning="hive").to_table().num_rows == 1
    assert world.listed() == {}


@pytest.mark.parametrize(
    ("configs", "said"),
    [
        ({"format": "orc", "location": "/lake"}, "'orc' is not of delta, iceberg, parquet"),
        ({"format": "delta"}, "say where the table is, with holdfast.table.location"),
        ({"location": "lake"}, "'lake' is not a path from / on"),
        ({"location": "/lake/../etc"}, "without .."),
        ({"value.format": "json"}, "belong together: set both"),
        ({"value.format": "xml", "value.schema": SCHEMA}, "'xml' is not of avro, avro-registry, json"),
        ({"value.format": "json", "value.schema": '{"type": "string"}'}, "not the Avro schema of a record"),
        ({"value.format": "json", "value.schema": "{nothing"}, "is not JSON"),
        ({"value.format": "json", "value.schema": "order.avsc"}, "is not a path from / on"),
        ({"value.format": "json", "value.schema": "subject:a"}, "holdfast.table.value.format must be registry"),
        ({"freshness.ms": "5"}, "a whole number from 200"),
        ({"keep.value": "true"}, "values are kept as they came in any case"),
        ({"colour": "red"}, "no such topic config"),
    ],
)
def test_configs_are_checked_when_they_are_set(configs: dict[str, str], said: str) -> None:
    """P4: in one sentence, which names the config."""
    from holdfast.broker.configs.topic import ConfigInvalid, check_topic_configs

    with pytest.raises(ConfigInvalid, match=r"config holdfast\.table\.") as told:
        check_topic_configs({f"holdfast.table.{name}": text for name, text in configs.items()})
    assert said in str(told.value)


def test_configs_are_refused_by_the_broker_and_shown_by_it(world: World) -> None:
    """P4: by CreateTopics, by AlterConfigs, and in the answer to DescribeConfigs."""
    world.table("a", "delta")
    shown = world.client.describe_configs("a", ["holdfast.table.format", "holdfast.table.keep.value"])
    assert shown == {"holdfast.table.format": "delta", "holdfast.table.keep.value": "false"}
    with pytest.raises(Refused, match=r"say where the table is"):
        world.client.alter_configs("a", [], ["holdfast.table.location"])


def test_the_columns_of_a_subject_are_followed(world: World) -> None:
    """P4: a new version of the subject is taken up by the step that meets the first value of it; without --registry
    the table says what it lacks."""
    schemas = [record(("id", "int")), record(("id", "long"), ("note", ["null", "string"]))]
    with little_registry() as registry:
        reader_of.cache_clear()
        world.table("a", "delta", **{"value.format": "registry", "value.schema": "subject:a-value"})
        for number, each in enumerate(schemas):
            schema = registry.register("a-value", json.dumps(each))
            world.add("a", prefixed(schema, each, {"id": number, "note": "n"}))
            if not number:
                world.until(lambda: ("a", None) in world.said)
                assert "say with --registry where that is" in world.keeper.tables["a"].error
                world.keeper._registry = registry.url
                world.keeper.tables["a"].next_s = 0
            world.until(lambda: world.rows("a") == number + 1)  # noqa: B023
    found = Delta(HERE, world.folder)
    found.folder = world.folder / "a"
    assert {(row["id"], row["note"]) for row in found.read().to_pylist()} == {(0, None), (1, "n")}


def test_tables_lie_below_a_place_that_is_named() -> None:
    """P4: who alters configs does not say where the application may write, or what it reads."""
    table = TopicTable("a", "delta", "/lake/a", "json", "/schemas/a.avsc")
    check_below(table, ["/lake", "/schemas/"])
    check_below(table, [])
    for places in (["/lake"], ["/schemas"], ["/lake/a/b", "/schemas"], ["/la", "/schemas"]):
        with pytest.raises(Rejected, match="is not below"):
            check_below(table, places)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--keep-old", "2h"], "--keep-old 2h is too short"),
        (["--keep-old", "long"], "--keep-old long is no time: write 10m"),
        (["--compact-every", "-5s"], "--compact-every -5s is too short"),
    ],
)
def test_times_that_are_none(tmp_path: Path, given: list[str], said: str) -> None:
    """P4: said before anything runs."""
    done = CliRunner().invoke(app, ["tables", "run", "--path", str(tmp_path), *given])
    assert done.exit_code == 1
    assert said in done.stderr


def test_configs_that_change_are_followed(world: World) -> None:
    """P4: another schema is taken up by the table that is there."""
    world.table("a", "delta", **{"value.format": "json", "value.schema": SCHEMA})
    world.add("a", b'{"id": 1}')
    world.until(lambda: world.rows("a") == 1)
    wider = SCHEMA.replace("}]", '}, {"name": "note", "type": ["null", "string"]}]')
    world.client.alter_configs("a", [("holdfast.table.value.schema", wider)])
    world.add("a", b'{"id": 2, "note": "n"}')
    world.keeper._looked_s = None
    world.until(lambda: world.rows("a") == 2)
    found = Delta(HERE, world.folder)
    found.folder = world.folder / "a"
    assert {(row["id"], row["note"]) for row in found.read().to_pylist()} == {(1, None), (2, "n")}


def test_a_sync_leaves_tables_where_they_are() -> None:
    """P4: two clusters would write to one place."""
    assert to_copy({"holdfast.table.format": "delta", "retention.ms": "5"}) == {"retention.ms": "5"}


@pytest.mark.parametrize("kind", [Delta, Iceberg])
def test_small_files_are_merged_and_old_ones_go(tmp_path: Path, kind: type[Kind]) -> None:
    """P4: no row is lost or there twice, who reads the table as it was goes on, the next run goes on where the last one
    ended, and a replay finds everything."""
    cluster, lake = Stored(tmp_path / "data"), cast("Any", kind(HERE, tmp_path))

    async def work(topics: Topics, start: int) -> None:
        topic = topics.find("orders") or await topics.create("orders", 2, {})
        for number in range(2):
            await fill(topic.partition(number), [records(start, 10)])

    def add(start: int) -> int:
        cluster.run(lambda topics: work(topics, start))
        catalog = catalog_of(cluster)
        return archive(HERE, catalog, lake.target(catalog)).rows()

    assert [add(10 * number) for number in range(4)] == [20] * 4
    target = lake.target(catalog_of(cluster))
    before = sorted(map(str, lake.read().to_pylist()))
    reading = target.open_table("records")
    clock = ManualClock(time.time_ns() // 1_000_000 + 30 * DAY)
    Upkeep(UpkeepSettings(old_s=7 * 86400), clock)(TopicTable("orders", "x", str(lake.folder)), target)
    assert sorted(map(str, lake.read().to_pylist())) == before
    table = target.open_table("records")
    if isinstance(lake, Delta):
        assert len(reading.file_uris()) == 4
        assert len(table.file_uris()) == 1
        assert reading.to_pyarrow_table().num_rows == 80  # Of the files as they were.
    else:
        assert [len(each.inspect.data_files()) for each in (reading, table)] == [4, 1]
        assert len(table.snapshots()) == 1
    assert add(40) == 20
    everything = [(number, offset) for number in range(2) for offset in range(50)]
    found = lake.read()
    places = zip(found["partition"].to_pylist(), found["offset"].to_pylist(), strict=True)
    assert sorted(places) == everything
    assert target.row_count() == 100
    store = archive_store(str(lake.folder))
    catalog = {"type": "sql", "uri": f"sqlite:///{lake.folder}/c.db", "warehouse": f"file://{lake.folder}"}
    _, groups = row_groups(store, None, Access({}, catalog))
    batches = read_range(store, ReplayRange(1, 0, 50, tuple(groups), 0))
    assert [row for batch in batches for row in batch.column("offset").to_pylist()] == list(range(50))


def test_what_nobody_reads_any_more_is_deleted(tmp_path: Path) -> None:
    """P4: files that Delta has replaced, and those of runs that were killed, once they are old; nothing else."""
    cluster, lake = Stored(tmp_path / "data"), Delta(HERE, tmp_path)

    async def work(topics: Topics) -> None:
        topic = topics.find("orders") or await topics.create("orders", 1, {})
        await fill(topic.partition(0), [records(0, 10)])

    for _ in range(2):
        cluster.run(work)
        catalog = catalog_of(cluster)
        archive(HERE, catalog, lake.target(catalog))
    left = lake.folder / "files" / "dead" / "records-000000.parquet"
    left.parent.mkdir()
    left.write_bytes(b"half a file")
    os.utime(left, (1, 1))
    upkeep = Upkeep(UpkeepSettings(old_s=7 * 86400))
    upkeep(TopicTable("orders", "delta", str(lake.folder)), lake.target(catalog_of(cluster)))
    assert not left.exists()
    assert lake.read().num_rows == 20
    assert len(list(lake.folder.rglob("*.parquet"))) >= 3  # What was replaced just now stays.
