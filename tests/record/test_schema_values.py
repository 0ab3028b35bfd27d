"""Values by their schemas: right ones are read, hostile ones end nothing."""

from __future__ import annotations

import io
from typing import Any

import fastavro
import pytest
from google.protobuf import descriptor_pb2, struct_pb2, timestamp_pb2

from holdfast.errors import Rejected
from holdfast.record.values.avro import SELF_HOLDING_SIZE_MAX, avro_reader
from holdfast.record.values.prefix import split_prefix
from holdfast.record.values.protobuf import (
    descriptor_file,
    descriptor_set,
    indexed_reader,
    protobuf_reader,
    split_indexes,
)

NODE = {"type": "record", "name": "Node", "fields": [{"name": "next", "type": ["null", "Node"]}]}
EMPTY = {"type": "record", "name": "E", "fields": [{"name": "n", "type": "null"}]}


def written(schema: Any, value: Any) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), value)
    return out.getvalue()


def test_a_value_whose_type_holds_itself_cannot_overflow_the_stack() -> None:
    """V5: one of 10 kB would end the process; one that is short is read."""
    read = avro_reader(NODE)
    assert read(b"\x02\x02\x00") == {"next": {"next": {"next": None}}}
    with pytest.raises(ValueError, match="holds itself"):
        read(b"\x02" * (SELF_HOLDING_SIZE_MAX + 1))
    with pytest.raises(EOFError):
        read(b"\x02" * SELF_HOLDING_SIZE_MAX)


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"type": "array", "items": "null"}, "no byte"),
        ({"type": "array", "items": EMPTY}, "no byte"),
        ({"type": "record", "name": "R", "fields": [{"name": "r", "type": "R"}]}, "begins with itself"),
        (
            {
                "type": "record",
                "name": "R",
                "fields": [{"name": "x", "type": ["null", {"type": "array", "items": "null"}]}],
            },
            "no byte",
        ),
        ({"type": "nothing"}, "no Avro schema"),
        ([], None),
    ],
)
def test_schemas_whose_values_nothing_bounds_are_refused(schema: Any, said: str | None) -> None:
    """V5: before a value is read."""
    if said is None:
        avro_reader(schema)
        return
    with pytest.raises(Rejected, match=said):
        avro_reader(schema)


def test_types_that_lie_too_deep_are_refused() -> None:
    """V5: also where each is named and none holds itself."""
    needed = [{"type": "record", "name": "T0", "fields": [{"name": "x", "type": "int"}]}]
    for number in range(1, 300):
        fields = [{"name": "x", "type": f"T{number - 1}"}, {"name": "y", "type": f"T{number - 1}"}]
        needed.append({"type": "record", "name": f"T{number}", "fields": fields})
    with pytest.raises(Rejected, match="deep"):
        avro_reader("T299", needed)
    with pytest.raises(Rejected, match="more than 10000 records"):
        avro_reader("T50", needed)
    assert avro_reader({"type": "array", "items": "T1"}, needed)(b"\x02\x02\x04\x00") == [
        {"x": {"x": 1}, "y": {"x": 2}}
    ]


def test_trees_and_names_of_all_kinds_are_read() -> None:
    """V6: enums and fixed by name, maps, lists of the type itself."""
    schema = {
        "type": "record",
        "name": "shop.Tree",
        "fields": [
            {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["A", "B"]}},
            {"name": "again", "type": "Kind"},
            {"name": "mark", "type": {"type": "fixed", "name": "Mark", "size": 2}},
            {"name": "kids", "type": {"type": "array", "items": "Tree"}},
            {"name": "words", "type": {"type": "map", "values": "null"}},
        ],
    }
    leaf = {"kind": "A", "again": "B", "mark": b"ab", "kids": [], "words": {"x": None}}
    value = leaf | {"kids": [leaf, leaf]}
    assert avro_reader(schema)(written(schema, value)) == value


def test_a_prefix_is_a_zero_and_a_number() -> None:
    """V6."""
    assert split_prefix(b"\x00\x00\x00\x01\x02rest") == (258, b"rest")
    assert split_prefix(b"\x01\x00\x00\x00\x01") is None
    assert split_prefix(b"\x00\x00\x00\x01") is None


def shop() -> Any:
    """message Outer { message Inner { string name = 1; Timestamp at = 2; } }  message Second { int64 n = 1; }"""
    file = descriptor_pb2.FileDescriptorProto(name="shop.proto", package="shop", syntax="proto3")
    file.dependency.append("google/protobuf/timestamp.proto")
    outer = file.message_type.add(name="Outer")
    inner = outer.nested_type.add(name="Inner")
    inner.field.add(name="name", number=1, type=9, label=1)
    inner.field.add(name="at", number=2, type=11, label=1, type_name=".google.protobuf.Timestamp")
    file.message_type.add(name="Second").field.add(name="n", number=1, type=3, label=1)
    return file


def test_protobuf_is_read_by_its_descriptors() -> None:
    """V6: bare by name, or as registries write it, with the numbers of the message first."""
    inner = b"\x0a\x03abc\x12" + bytes([len(at := timestamp_pb2.Timestamp(seconds=5).SerializeToString())]) + at
    expected = {"name": "abc", "at": "1970-01-01T00:00:05Z"}
    files = descriptor_set(descriptor_pb2.FileDescriptorSet(file=[shop()]).SerializeToString())
    assert protobuf_reader(files, "shop.Outer.Inner")(inner) == expected
    read = indexed_reader([descriptor_file(shop().SerializeToString())])
    assert read(b"\x04\x00\x00" + inner) == expected
    assert read(b"\x02\x02\x08\x07") == {"n": "7"}
    assert read(b"\x00") == {}
    with pytest.raises(ValueError, match="has no message"):
        read(b"\x02\x08\x07")
    with pytest.raises(Rejected, match="no Protobuf message"):
        protobuf_reader([shop()], "shop.Nobody")


@pytest.mark.parametrize("data", [b"", b"\xff" * 9, b"\x01", b"\xfe\xff\xff\xff\x0f"])
def test_numbers_of_messages_that_are_none(data: bytes) -> None:
    """V5."""
    with pytest.raises(ValueError, match="numbers"):
        split_indexes(data)


def test_messages_within_messages_end_somewhere() -> None:
    """V5: the library's own bound holds."""
    files = [struct_pb2.DESCRIPTOR]
    value = struct_pb2.Value()
    within = value
    for _ in range(40):
        within = within.list_value.values.add()
    within.number_value = 1
    told = [descriptor_pb2.FileDescriptorProto.FromString(each.serialized_pb) for each in files]
    read = protobuf_reader(told, "google.protobuf.Value")
    assert read(value.SerializeToString()) is not None
    data = b""
    for _ in range(2_000):
        data = _field(6, _field(1, data))
    with pytest.raises(Exception, match=r"(?i)pars|decod"):
        read(data)


def _field(number: int, data: bytes) -> bytes:
    size, length = len(data), b""
    while size > 0x7F:
        length += bytes([size & 0x7F | 0x80])
        size >>= 7
    return bytes([number << 3 | 2]) + length + bytes([size]) + data


def test_what_is_no_descriptor_is_refused() -> None:
    """V6."""
    for data in (b"", b"no descriptor"):
        with pytest.raises(Rejected):
            descriptor_set(data)
