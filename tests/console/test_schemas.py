"""Values on Records by their schemas: files of the settings, and a registry that may be away."""

from __future__ import annotations

import asyncio
import io
import json
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import fastavro
import pytest
from confluent_kafka import Producer
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
from tests.broker.wire import wait_for
from tests.console.asking import Asked
from tests.console.browser import Watched, browser
from tests.support.little_registry import LittleRegistry, little_registry

from holdfast.client.registry import Registry
from holdfast.console.schemas import ASKED_MAX, KNOWN_MAX, Schemas, TopicValues
from holdfast.errors import Rejected
from holdfast.extras import how_to_get
from holdfast.io.calls import InlineCalls
from holdfast.io.clock import SystemClock
from holdfast.security.secret import NONE, Secret
from holdfast.testing import free_port, running_broker

ORDER = {
    "type": "record",
    "name": "Order",
    "fields": [{"name": "id", "type": "long"}, {"name": "who", "type": "string"}],
}
LINE = {"type": "record", "name": "Line", "fields": [{"name": "order", "type": "Order"}, {"name": "n", "type": "int"}]}
PROTO = """syntax = "proto3"; package shop; import "money.proto";
message Click { string page = 1; Money paid = 2; message Inner { int32 x = 1; } }"""
MONEY = 'syntax = "proto3"; package shop; message Money { int64 cents = 1; }'
MIXED = "/topics/mixed/records?from=start"
CLICK = b"\x0a\x05/home\x12\x02\x08\x2a"


def avro(schema: Any, value: Any, *needed: Any) -> bytes:
    out, named = io.BytesIO(), dict[str, Any]()
    for each in needed:
        fastavro.parse_schema(each, named_schemas=named)
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema, named_schemas=named), value)
    return out.getvalue()


def prefixed(number: int, value: bytes) -> bytes:
    return struct.pack(">BI", 0, number) + value


class SchemaPlace(NamedTuple):
    """A broker whose console knows a registry and two files."""

    asked: Asked
    registry: LittleRegistry
    conf: dict[str, Any]
    numbers: dict[str, int]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SchemaPlace]:
    folder, port = tmp_path_factory.mktemp("schemas"), free_port()
    (folder / "order.avsc").write_text(json.dumps(ORDER))
    file = FileDescriptorProto(name="note.proto", package="shop", syntax="proto3")
    file.message_type.add(name="Note").field.add(name="text", number=1, type=9, label=1)
    (folder / "note.desc").write_bytes(FileDescriptorSet(file=[file]).SerializeToString())
    files = f"bare={folder}/order.avsc, notes={folder}/note.desc:shop.Note"
    with (
        little_registry() as registry,
        running_broker(
            serve_console_listen=f"127.0.0.1:{port}", console_schema_registry=registry.url, console_schema_files=files
        ) as broker,
    ):
        order = registry.register("order", json.dumps(ORDER))
        needs = [{"name": "Order", "subject": "order", "version": 1}]
        registry.register("money", MONEY, "PROTOBUF")
        imports = [{"name": "money.proto", "subject": "money", "version": 1}]
        numbers = {
            "order": order,
            "line": registry.register("line", json.dumps(LINE), "AVRO", needs),
            "click": registry.register("click", PROTO, "PROTOBUF", imports),
            "json": registry.register("json", '{"type": "object"}', "JSON"),
            "bad": registry.register("bad", '{"type": "array", "items": "null"}'),
        }
        conf = {"bootstrap.servers": broker.bootstrap}
        producer = Producer(conf)
        for value, key in values(numbers):
            producer.produce("mixed", value, key)
        producer.produce("bare", avro(ORDER, {"id": 5, "who": "bare"}))
        producer.produce("bare", b"no avro")
        producer.produce("notes", b"\x0a\x02hi")
        producer.flush(20)
        asked = Asked(port)
        # A registry has three seconds for an answer: where the machine is busy it is asked again.
        wait_for(lambda: all("does not answer" not in each["why"] for each in rows(asked, MIXED)), 60)
        yield SchemaPlace(asked, registry, conf, numbers)


def values(numbers: dict[str, int]) -> list[tuple[bytes, bytes | None]]:
    order = {"id": 17, "who": "alice"}
    return [
        (
            prefixed(numbers["order"], avro(ORDER, order)),
            prefixed(numbers["order"], avro(ORDER, {"id": 1, "who": "k"})),
        ),
        (prefixed(numbers["line"], avro(LINE, {"order": order, "n": 2}, ORDER)), b"plain"),
        (prefixed(numbers["click"], b"\x00" + CLICK), None),
        (prefixed(numbers["json"], b'{"a": [1]}'), None),
        (prefixed(999, b"whose?"), None),
        (prefixed(numbers["bad"], b"\xfe\xff\xff\xff\x0f"), None),
        (prefixed(numbers["order"], b"\x01"), None),
        (b'{"id": 17}', None),
    ]


def rows(asked: Asked, path: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = asked.page(path)["rows"]
    return found


def test_values_are_decoded_by_the_registry(place: SchemaPlace) -> None:
    """V6: Avro and Protobuf with what they refer to, JSON behind a number; keys, too; others with the reason."""
    found = rows(place.asked, MIXED)
    assert [(each["form"], json.loads(each["value"])) for each in found[:4]] == [
        ("avro", {"id": 17, "who": "alice"}),
        ("avro", {"order": {"id": 17, "who": "alice"}, "n": 2}),
        ("protobuf", {"page": "/home", "paid": {"cents": "42"}}),
        ("json", {"a": [1]}),
    ]
    assert json.loads(found[0]["key"]) == {"id": 1, "who": "k"}
    assert [each["key"] for each in found[1:3]] == ["plain", None]
    whys = [each["why"] for each in found]
    assert whys[:4] == [""] * 4
    assert "has no /schemas/ids/999" in whys[4]
    assert "nothing bounds" in whys[5]
    assert "not what its avro schema says" in whys[6]
    assert (found[7]["form"], found[7]["why"]) == ("text", "")
    assert bytes.fromhex(found[4]["value"]) == prefixed(999, b"whose?")


def test_searches_look_into_decoded_values(place: SchemaPlace) -> None:
    """V6: by JSON path, text and key, beside plain JSON."""
    path = "/topics/mixed/records?from=start&"
    assert [each["offset"] for each in rows(place.asked, path + "json=id=17")] == [0, 7]
    assert [each["offset"] for each in rows(place.asked, path + "json=order.who=alice")] == [1]
    assert [each["offset"] for each in rows(place.asked, path + "json=paid.cents=42")] == [2]
    assert [each["offset"] for each in rows(place.asked, path + 'text="page":')] == [2]
    assert [each["offset"] for each in rows(place.asked, path + 'key={"id":%201,%20"who":%20"k"}')] == [0]


def test_values_are_decoded_by_files(place: SchemaPlace) -> None:
    """V6: bare Avro, and Protobuf by a descriptor set of protoc."""
    good, bad = rows(place.asked, "/topics/bare/records?from=start")
    assert (good["form"], json.loads(good["value"])) == ("avro", {"id": 5, "who": "bare"})
    assert (bad["form"], bad["value"]) == ("text", "no avro")
    assert "not what its avro schema says" in bad["why"]
    [note] = rows(place.asked, "/topics/notes/records?from=start")
    assert (note["form"], json.loads(note["value"])) == ("protobuf", {"text": "hi"})


def test_bytes_are_one_click_away(place: SchemaPlace) -> None:
    """V7: in the list, and on the record's own page, with what the schema says."""
    with browser() as chromium:
        tab = Watched(chromium.new_context().new_page(), place.asked.port)
        page = tab.open(MIXED)
        page.wait_for_selector("tr[data-at='0@2'] :text('Protobuf')")
        page.locator("tr[data-at='0@2']").get_by_role("button", name="raw").click()
        page.wait_for_selector("[data-raw]")
        assert bytes.fromhex(page.inner_text("[data-raw]")) == prefixed(place.numbers["click"], b"\x00" + CLICK)
        assert "has no /schemas/ids/999" in page.inner_text("tr[data-at='0@4'] [data-why]")
        tab.keep("schemas")
        page.get_by_role("link", name="0@1", exact=True).click()
        page.wait_for_selector("text=avro")
        assert '"who": "alice"' in page.inner_text("pre.value >> nth=1")
        assert tab.wrong == []


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ("orders", "TOPIC=FILE"),
        ("orders=/nowhere/x.avsc", "No such file"),
        ("orders={here}", "cannot be used"),
        ("orders={here}:a.B", "no descriptor set"),
    ],
)
def test_a_schema_file_that_cannot_be_used_stops_the_start(files: str, said: str) -> None:
    """V6: nothing is accepted and ignored."""
    given = files.format(here=Path(__file__))
    with (
        pytest.raises(Exception, match=said),
        running_broker(serve_console_listen="127.0.0.1:0", console_schema_files=given),
    ):
        pass


def test_no_more_schemas_are_kept_than_so_many() -> None:
    """V5: the oldest go, and one look asks for a few only."""
    schemas = Schemas(Registry("http://127.0.0.1:1"), {}, InlineCalls(), SystemClock())  # Nobody is there.

    async def look(start: int) -> list[str]:
        def call(values: TopicValues) -> list[str]:
            return [values.decoded(prefixed(number, b"")).why for number in range(start, start + 2 * ASKED_MAX)]

        found: list[str] = await schemas.look(InlineCalls(), "t", call)
        return found

    for start in range(0, 2 * KNOWN_MAX, ASKED_MAX):
        said = asyncio.run(look(start))
        assert ["does not answer" in each for each in said[:ASKED_MAX]] == [True] * ASKED_MAX
        assert len(schemas.known) <= KNOWN_MAX
    assert "other schemas were asked for first" in said[-1]


def test_what_is_not_installed_is_one_sentence(place: SchemaPlace, monkeypatch: pytest.MonkeyPatch) -> None:
    """V6: beside the bytes."""
    monkeypatch.setitem(sys.modules, "fastavro", None)
    schemas = Schemas(Registry(place.registry.url), {}, InlineCalls(), SystemClock())
    number = place.numbers["order"]
    said = asyncio.run(schemas.look(InlineCalls(), "t", lambda values: values.decoded(prefixed(number, b"")).why))
    assert said == f"fastavro is not installed: {how_to_get('avro')}"


def test_a_registry_is_asked_as_a_user() -> None:
    """V6: who may not read hears which setting says who asks; the password is in no word of it."""
    with little_registry("console:s3cret") as registry:
        number = registry.register("order", json.dumps(ORDER))
        assert Registry(registry.url, "console", Secret("s3cret")).reader(number).form == "avro"
        for user in (("", NONE), ("console", Secret("wr0ng"))):
            with pytest.raises(Rejected, match="schema_registry_user says who asks") as refused:
                Registry(registry.url, *user).reader(number)
            assert "wr0ng" not in str(refused.value)


def test_an_address_that_is_none_is_refused() -> None:
    """V6."""
    with pytest.raises(Rejected, match="http://HOST:PORT"):
        Registry("127.0.0.1:8081")


def test_a_registry_that_is_away_is_said_to_be_away(place: SchemaPlace) -> None:
    """V5, V6: what is known is decoded on; others are shown as they are. The last test: it stops the registry."""
    rows(place.asked, MIXED)
    place.registry.stop()
    producer = Producer(place.conf)
    for number in (place.numbers["order"], 5_000, 5_001):
        producer.produce("later", prefixed(number, avro(ORDER, {"id": 1, "who": "b"})))
    producer.flush(20)
    known, *others = rows(place.asked, "/topics/later/records?from=start")
    assert (known["form"], known["why"]) == ("avro", "")
    assert ["does not answer" in each["why"] for each in others] == [True, True]
    assert others[0]["form"] == "hex"
