"""Schemas that change: what a table can take up it takes up, without a new place; the rest is one sentence."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from tests.spark import killed_job
from tests.spark.archived import Delta, Iceberg, Kind, Parquet, catalog_of
from tests.spark.killing import killed
from tests.spark.stored import T0, Stored, fill

from holdfast.broker.topics import Topics
from holdfast.errors import Rejected
from holdfast.record.records import Record
from holdfast.spark.jobs.archive.archive import archive
from holdfast.spark.jobs.archive.errors import OtherLayout
from holdfast.spark.jobs.archive.values import ValueDecoding
from holdfast.spark.jobs.replay.archive import Access, archive_store, row_groups
from holdfast.spark.jobs.replay.tables import NoArchive
from holdfast.spark.session.small import SmallFirst

HERE = SmallFirst(lambda: None, None, lambda _: None)


def decoding(*fields: Any) -> ValueDecoding:
    made = [each if isinstance(each, dict) else {"name": each[0], "type": each[1]} for each in fields]
    return ValueDecoding("json", json.dumps({"type": "record", "name": "r", "fields": made}))


FIRST = decoding(("id", "int"), ("rate", "float"), ("total", ["null", "int"]))
NEXT = decoding(
    ("id", "long"),
    ("rate", "double"),
    {"name": "amount", "aliases": ["total"], "type": ["null", "long"]},
    ("note", ["null", "string"]),
)


class Lake:
    """A topic whose values change, and its archive."""

    def __init__(self, kind: type[Kind], folder: Path) -> None:
        self.cluster = Stored(folder / "data")
        self.kind: Any = kind(HERE, folder)

    def add(self, *values: bytes) -> None:
        async def work(topics: Topics) -> None:
            topic = topics.find("orders") or await topics.create("orders", 1, {})
            await fill(topic.partition(0), [[Record(None, value, T0) for value in values]])

        self.cluster.run(work)

    def run(self, with_: ValueDecoding | None) -> int:
        catalog = catalog_of(self.cluster)
        return archive(HERE, catalog, self.kind.target(catalog), decoding=with_).rows()

    def rows(self) -> list[dict[str, Any]]:
        if isinstance(self.kind, Parquet):
            newest = pq.read_schema(self.kind.folder / "_common_metadata")
            table = ds.dataset(self.kind.folder, schema=newest).to_table()
        else:
            table = self.kind.read()
        return sorted(table.to_pylist(), key=lambda row: int(row["offset"]))


@pytest.fixture(params=[Parquet, Delta, Iceberg])
def lake(request: pytest.FixtureRequest, tmp_path: Path) -> Lake:
    made = Lake(request.param, tmp_path)
    made.add(b'{"id": 1, "rate": 0.5, "total": 7}')
    assert made.run(FIRST) == 1
    return made


def test_what_a_table_takes_up(lake: Lake) -> None:
    """P4: a new field, wider types and a field with another name: rows of before have null in what is new, and every
    value is right; so are those of the next run."""
    for number in (2, 3):
        lake.add(b'{"id": %d, "rate": 0.1, "amount": %d, "note": "n"}' % (number << 40, number << 33))
        assert lake.run(NEXT) == 1
    wanted = [
        {"id": 1, "rate": 0.5, "total": 7, "note": None},
        {"id": 2 << 40, "rate": 0.1, "total": 2 << 33, "note": "n"},
        {"id": 3 << 40, "rate": 0.1, "total": 3 << 33, "note": "n"},
    ]
    assert [{name: row[name] for name in wanted[0]} for row in lake.rows()] == wanted


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (decoding(("id", "int"), ("rate", "float")), r"has the column total \(.*\), which this run would not write"),
        (decoding(("id", "int"), ("rate", "float"), ("total", "string")), "in the column total, .*another type"),
        (decoding(("id", "int"), ("rate", "float"), ("total", "double")), "in the column total, .*another type"),
    ],
)
def test_what_no_table_can_take_up(lake: Lake, changed: ValueDecoding, said: str) -> None:
    """P4: a column that goes, and another type, are refused in a sentence that names the column."""
    lake.add(b'{"id": 2, "rate": 0.1}')
    with pytest.raises(OtherLayout, match=said):
        lake.run(changed)
    assert len(lake.rows()) == 1


def test_a_narrower_type(lake: Lake) -> None:
    """P4: who still has the first schema cannot write to a table that is wider now."""
    lake.add(b'{"id": 2, "rate": 0.1}')
    lake.run(NEXT)
    lake.add(b'{"id": 3, "rate": 0.1}')
    with pytest.raises(OtherLayout, match=r"in the column id, where this run has int\w*, which is narrower"):
        lake.run(decoding(("id", "int"), ("rate", "double"), ("total", ["null", "long"]), ("note", ["null", "string"])))
    assert len(lake.rows()) == 2


def test_killed_while_columns_are_taken_up(lake: Lake, tmp_path: Path) -> None:
    """P4: at whatever call the run is killed, the next one has every row once, in the columns as they are now."""
    lake.add(b'{"id": 4398046511104, "rate": 0.1, "amount": 8, "note": "n"}')
    name = type(lake.kind).__name__.lower()
    seed, kills = 1, 0
    chance = random.Random(seed)
    for low in (0, 18):
        at = low + chance.randrange(18)
        kills += killed(killed_job.decode, name, lake.cluster.data, tmp_path, NEXT, at=at)[0]
    assert kills
    lake.run(NEXT)
    found = [(row["offset"], row["id"], row["total"], row["note"]) for row in lake.rows()]
    assert found == [(0, 1, 7, None), (1, 1 << 42, 8, "n")], f"seed {seed}"


def test_pyarrow_unifies_what_files_say(tmp_path: Path) -> None:
    """P4: the guide's way for who has no newest schema at hand: that of all files, where types were not widened."""
    lake = Lake(Parquet, tmp_path)
    for fields, value in (([("id", "long")], b'{"id": 1}'), ([("id", "long"), ("x", "int")], b'{"id": 2, "x": 3}')):
        lake.add(value)
        lake.run(decoding(*fields))
    whole = ds.dataset(lake.kind.folder, partitioning="hive")
    schema = pa.unify_schemas([each.physical_schema for each in whole.get_fragments()])
    assert sorted(whole.replace_schema(schema).to_table()["x"].to_pylist(), key=str) == [3, None]


def test_the_value_beside_its_columns(lake: Lake, tmp_path: Path) -> None:
    """P4: --keep-value has both, and such an archive has what a replay needs; a table of rows without values is no
    place for it."""
    kept = replace(FIRST, keep_value=True)
    lake.add(b'{"id": 2, "rate": 0.1}')
    with pytest.raises(OtherLayout, match="rows without their values, which --keep-value cannot bring back"):
        lake.run(kept)
    other = Lake(type(lake.kind), tmp_path / "other")
    values = [b'{"id": 1,  "rate": 0.5}', b"bad", b'{"rate": 2, "id": 3}']
    other.add(*values)
    assert other.run(kept) == 2
    assert [(row["id"], row["value"]) for row in other.rows()] == [(1, values[0]), (3, values[2])]
    store = archive_store(str(other.kind.folder))
    catalog = {"type": "sql", "uri": f"sqlite:///{other.kind.folder}/c.db", "warehouse": f"file://{other.kind.folder}"}
    topic, groups = row_groups(store, None, Access({}, catalog))
    assert (topic, sum(each.rows for each in groups)) == ("orders", 2)
    at = {**catalog, "uri": f"sqlite:///{lake.kind.folder}/c.db", "warehouse": f"file://{lake.kind.folder}"}
    with pytest.raises(NoArchive, match="if it was made with --keep-value"):
        row_groups(archive_store(str(lake.kind.folder)), None, Access({}, at))


def test_a_field_with_the_name_of_the_value() -> None:
    """P4: there is one column of a name."""
    with pytest.raises(Rejected, match="has a field value"):
        replace(decoding(("value", "string")), keep_value=True)


def test_spark_reads_the_newest_columns(spark: Any, tmp_path: Path) -> None:
    """P4: Spark's own reader finds what is new and wide in the whole directory, and null where there was nothing."""
    lake = Lake(Parquet, tmp_path)
    lake.add(b'{"id": 1, "rate": 0.5, "total": 7}')
    lake.run(FIRST)
    lake.add(b'{"id": 4398046511104, "rate": 0.1, "amount": 8, "note": "n"}')
    lake.run(NEXT)
    frame = spark.read.parquet(str(lake.kind.folder)).orderBy("offset").select("topic", "id", "rate", "total", "note")
    assert [tuple(row) for row in frame.collect()] == [
        ("orders", 1, 0.5, 7, None),
        ("orders", 1 << 42, 0.1, 8, "n"),
    ]
