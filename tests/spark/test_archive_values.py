"""Values as columns: what fits its schema is in the table, what does not is a dead letter with offset and reason."""

from __future__ import annotations

import io
import json
from typing import Any

import pyarrow as pa
import pytest

from holdfast.spark.jobs.archive.schema import BadSchema, read_schema
from holdfast.spark.jobs.archive.values import GROUP_COUNT, ValueDecoding

fastavro = pytest.importorskip("fastavro", reason="the packages of the Spark part are missing")

SCHEMA: dict[str, Any] = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "note", "type": ["null", "string"]},
        {"name": "paid", "type": ["null", {"type": "long", "logicalType": "timestamp-millis"}]},
        {"name": "tags", "type": ["null", {"type": "array", "items": "string"}]},
    ],
}


def rows(values: list[bytes | None]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"offset": range(len(values)), "value": pa.array(values, pa.binary())})


def decode(kind: Any, values: list[bytes | None]) -> tuple[list[dict[str, Any]], list[tuple[int, str]]]:
    good, bad = ValueDecoding(kind, json.dumps(SCHEMA)).decode(rows(values))
    return good.to_pylist(), [(row["offset"], row["reason"]) for row in bad.to_pylist()]


def test_json_of_one_group_at_once() -> None:
    """P4: values become columns; a null value is a row of nulls; fields that the schema lacks are left out."""
    good, bad = decode("json", [b'{"id": 1, "note": "a", "more": 5}', None, b'{"id": 3, "tags": ["x", "y"]}'])
    assert not bad
    assert [(row["offset"], row["id"], row["note"], row["tags"]) for row in good] == [
        (0, 1, "a", None),
        (1, None, None, None),
        (2, 3, None, ["x", "y"]),
    ]


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (b"no json", "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b"", "not JSON"),
        (b"  ", "not JSON"),
        (b"[1]", "not a JSON object"),
        (b"null", "not a JSON object"),
        (b'{"id": "seven"}', "field id does not fit"),
        (b'{"id": 1.5}', "field id does not fit"),
        (b'{"note": "x"}', "field id is missing"),
        (b'{"id": null}', "field id is missing"),
        (b'{"id": 1}{"id": 2}', "not JSON"),
        (b'{"id": 1}\n{"id": 2}', "not JSON"),
        (b'{"id": 1', "not JSON"),
        (b',"note": "x"}', "not JSON"),
    ],
)
def test_json_that_does_not_fit(value: bytes, said: str) -> None:
    """P4: one bad value among good ones goes to the dead letters, and shifts none of its neighbours."""
    neighbours = [b'{"id": %d}' % n for n in range(5)]
    good, bad = decode("json", [*neighbours[:2], value, *neighbours[2:]])
    assert [(row["offset"], row["id"]) for row in good] == [(0, 0), (1, 1), (3, 2), (4, 3), (5, 4)]
    [(offset, reason)] = bad
    assert offset == 2
    assert said in reason


def test_two_halves_of_an_object_do_not_make_one() -> None:
    """P4: values that would fit together, beside one that holds two objects, keep to themselves."""
    good, bad = decode("json", [b'{"id": 1', b',"note": "x"}', b'{"id": 3}{"id": 4}', b'{"id": 5}'])
    assert [(row["offset"], row["id"]) for row in good] == [(3, 5)]
    assert [offset for offset, _ in bad] == [0, 1, 2]


def test_a_time_is_read_the_same_in_good_and_bad_company() -> None:
    """P4: what a value means does not depend on its neighbours."""
    value = b'{"id": 1,\n "paid": "2026-01-02 03:04:05"}'
    alone, _ = decode("json", [value.replace(b"\n", b"")])
    beside, _ = decode("json", [value, b"bad"])
    assert alone[0]["paid"] == beside[0]["paid"] is not None


def test_many_groups() -> None:
    """P4: offsets stay with their values across groups."""
    values: list[bytes | None] = [b'{"id": %d}' % n for n in range(3 * GROUP_COUNT)]
    values[GROUP_COUNT + 7] = b"bad"
    good, bad = decode("json", values)
    assert all(row["offset"] == row["id"] for row in good)
    assert len(good) == len(values) - 1
    assert [offset for offset, _ in bad] == [GROUP_COUNT + 7]


def avro(record: dict[str, Any]) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(SCHEMA), record)
    return out.getvalue()


@pytest.mark.parametrize(("kind", "prefix"), [("avro", b""), ("avro-registry", b"\x00\x00\x00\x00\x09")])
def test_avro(kind: str, prefix: bytes) -> None:
    """P4: Avro values, bare or behind a registry's prefix; what is cut off or left over is a dead letter."""
    right = prefix + avro({"id": 7, "note": None, "paid": None, "tags": ["x"]})
    good, bad = decode(kind, [right, right[:-1], right + b"!", None, b""])
    assert [(row["offset"], row["id"], row["tags"]) for row in good] == [(0, 7, ["x"]), (3, None, None)]
    assert [offset for offset, _ in bad] == [1, 2, 4]


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"type": "string"}, "its type is not record"),
        ({"type": "record", "name": "r", "fields": [{"name": "offset", "type": "long"}]}, "field offset"),
        ({"type": "record", "name": "r", "fields": [{"name": "x", "type": ["int", "string"]}]}, "union"),
    ],
)
def test_schemas_that_make_no_columns(tmp_path: Any, schema: Any, said: str) -> None:
    """P4: a schema is refused before anything runs."""
    (tmp_path / "s").write_text(json.dumps(schema))
    with pytest.raises(BadSchema, match=said):
        read_schema(tmp_path / "s")


@pytest.mark.parametrize("beside", [[], [b"bad"]], ids=["at once", "one by one"])
def test_a_field_is_read_by_its_earlier_names(beside: list[bytes | None]) -> None:
    """P4: JSON of before and after a renaming fits the same schema; what has neither name lacks the field."""
    renamed = {"name": "amount", "aliases": ["total", "id"], "type": "long"}
    schema = {"type": "record", "name": "r", "fields": [{"name": "id", "type": "long"}, renamed]}
    values = [b'{"id": 1, "amount": 5}', b'{"id": 2, "total": 6}', b'{"id": 3}', None, *beside]
    good, bad = ValueDecoding("json", json.dumps(schema)).decode(rows(values))
    assert [(row["id"], row["amount"]) for row in good.to_pylist()] == [(1, 5), (2, 6), (None, None)]
    assert next(row["reason"] for row in bad.to_pylist()) == "field amount is missing"
    assert bad.num_rows == 1 + len(beside)
