"""Stored records from plain Python: what is there, all of it, once, and never nothing for what cannot be read."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pytest
from confluent_kafka import Producer

from holdfast.catalog import Times, open_catalog, read_topic, topic_reader
from holdfast.catalog.frames import _library
from holdfast.catalog.rows import TYPES
from holdfast.errors import Corrupt, Rejected
from holdfast.testing import running_broker
from holdfast.types import TopicPartition

BASE_MS = 1_700_000_000_000
COUNT = 3000


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory with three partitions, all of it flushed, one transaction aborted."""
    data = tmp_path_factory.mktemp("catalog") / "data"
    with running_broker(data=data, num_partitions=3, log_flush_age_ms_max=100) as broker:
        producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 5})
        for number in range(COUNT):
            producer.produce(
                "t", key=str(number), value=f"v{number}", partition=number % 3, timestamp=BASE_MS + number,
                headers=[("n", str(number))] if number % 2 else None,
            )  # fmt: skip
        producer.flush()
        failing = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": "x"})
        failing.init_transactions()
        failing.begin_transaction()
        failing.produce("t", value="taken back", partition=0, timestamp=BASE_MS)
        failing.flush()
        failing.abort_transaction()
        ends = {TopicPartition("t", number): COUNT // 3 + 2 * (number == 0) for number in range(3)}
        end_s = time.monotonic() + 60
        while flushed(data) != ends:
            assert time.monotonic() < end_s, flushed(data)
            time.sleep(0.05)
    return data


def flushed(data: Path) -> dict[TopicPartition, int]:
    return {where: manifest.flushed for where, manifest in open_catalog(str(data)).manifests.items()}


def rows(batches: list[pa.RecordBatch]) -> list[dict[str, object]]:
    return pa.Table.from_batches(batches).to_pylist() if batches else []


def test_every_record_comes_once_in_the_order_of_its_partition(stored: Path) -> None:
    """P1: all partitions, keys, values, times and headers; what was aborted is left out."""
    found = rows(list(read_topic(open_catalog(str(stored)), "t")))
    assert [(each["partition"], each["key"]) for each in found] == [
        (number % 3, str(number).encode()) for number in sorted(range(COUNT), key=lambda n: (n % 3, n))
    ]
    for each in found:
        number = int(each["key"])  # type: ignore[call-overload]
        assert each["value"] == f"v{number}".encode()
        assert each["offset"] == number // 3
        assert each["timestamp"].timestamp() * 1000 == pytest.approx(BASE_MS + number)  # type: ignore[attr-defined]
        assert each["headers"] == ([{"key": "n", "value": str(number).encode()}] if number % 2 else None)


def test_parts_of_a_topic(stored: Path) -> None:
    """P1: partitions, offsets, times and columns, each as asked for."""
    catalog = open_catalog(str(stored))
    some = rows(list(read_topic(catalog, "t", partitions=[1], start=10, end=20, columns=["offset"])))
    assert some == [{"offset": each} for each in range(10, 20)]
    late = rows(list(read_topic(catalog, "t", times=Times(BASE_MS + 2900, BASE_MS + 2950), columns=["key"])))
    assert {int(each["key"]) for each in late} == set(range(2900, 2950))  # type: ignore[call-overload]
    shown = rows(list(read_topic(catalog, "t", partitions=[0], committed=False, columns=["value"])))
    assert shown[-1] == {"value": b"taken back"}


def test_a_reader_of_arrow(stored: Path) -> None:
    """P1: one reader for all libraries that take Arrow: with the schema of the columns asked for, also where no row is,
    and no more rows than asked for."""
    catalog = open_catalog(str(stored))
    whole = topic_reader(catalog, "t").read_all()
    assert whole.num_rows == COUNT
    assert whole.schema.names == list(TYPES)
    some = topic_reader(catalog, "t", columns=["offset", "key"], partitions=[2], limit=7).read_all()
    assert some.to_pydict()["offset"] == list(range(7))
    none = topic_reader(catalog, "t", columns=["value"], times=Times(1, 2)).read_all()
    assert (none.num_rows, none.schema.names) == (0, ["value"])
    assert topic_reader(catalog, "t", limit=0).read_all().num_rows == 0


def test_a_library_that_is_not_there(stored: Path) -> None:
    """P1: it is said which, and what works without it."""
    with pytest.raises(Rejected, match="absent is not installed: pip install absent, or use topic_reader"):
        _library("absent")


def test_what_is_asked_wrongly_is_said(stored: Path) -> None:
    """P1: a topic that is not there, offsets of several partitions, offsets that were never stored, a wrong place."""
    catalog = open_catalog(str(stored))
    with pytest.raises(Rejected, match="there is no topic nowhere"):
        list(read_topic(catalog, "nowhere"))
    with pytest.raises(Rejected, match="offsets of one partition"):
        list(read_topic(catalog, "t", start=5))
    with pytest.raises(Rejected, match="can be read"):
        list(read_topic(catalog, "t", partitions=[0], start=0, end=10**6))
    with pytest.raises(Rejected, match="holds no cluster"):
        open_catalog(str(stored / "wal"))


def test_damage_is_raised_and_not_left_out(stored: Path, tmp_path: Path) -> None:
    """D9: a byte of a segment is wrong: nothing that lies in it passes for read."""
    data = tmp_path / "damaged"
    shutil.copytree(stored, data)
    segment = max((data / "objects" / "segments").rglob("*.seg"), key=lambda each: each.stat().st_size)
    content = bytearray(segment.read_bytes())
    content[len(content) // 3] ^= 1
    segment.write_bytes(content)
    with pytest.raises(Corrupt, match="crc"):
        list(read_topic(open_catalog(str(data)), "t"))


def test_the_face_loads_no_arrow_before_it_is_used() -> None:
    program = "import sys, holdfast.catalog; print([m for m in ('pyarrow', 'numba', 'pyspark') if m in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", program], text=True).strip() == "[]"
