"""Values by the schemas of a registry: whatever they were written by, they fit the columns of one table."""

from __future__ import annotations

import io
import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.support.little_registry import LittleRegistry, little_registry
from typer.testing import CliRunner

from holdfast.cli.archive.command import check_registry
from holdfast.cli.main import app
from holdfast.client.registry import NotLetIn, with_login
from holdfast.errors import Rejected, Unavailable
from holdfast.spark.jobs.archive.registry_values import reader_of
from holdfast.spark.jobs.archive.values import ValueDecoding

fastavro = pytest.importorskip("fastavro", reason="the packages of the Spark part are missing")


def record(*fields: Any) -> dict[str, Any]:
    made = [each if isinstance(each, dict) else {"name": each[0], "type": each[1]} for each in fields]
    return {"type": "record", "name": "Order", "fields": made}


FIRST = record(("id", "int"), ("total", "long"))
NEXT = record(("id", "long"), ("amount", "long"), ("note", ["null", "string"]))
OTHER = record(("id", "string"))
COLUMNS = record(("id", "long"), {"name": "amount", "aliases": ["total"], "type": "long"}, ("note", ["null", "string"]))


def prefixed(number: int, schema: Any, value: Any) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), value)
    return struct.pack(">BI", 0, number) + out.getvalue()


@pytest.fixture
def registry() -> Iterator[LittleRegistry]:
    with little_registry() as made:
        reader_of.cache_clear()  # Another one had the same address, perhaps.
        yield made


def decode(registry: LittleRegistry, values: list[bytes | None]) -> tuple[list[Any], list[Any]]:
    rows = pa.RecordBatch.from_pydict({"offset": range(len(values)), "value": pa.array(values, pa.binary())})
    decoding = ValueDecoding("registry", json.dumps(COLUMNS), registry=registry.url)
    good, bad = decoding.decode(rows)
    return (
        [(row["offset"], row["id"], row["amount"], row["note"]) for row in good.to_pylist()],
        [(row["offset"], row["reason"]) for row in bad.to_pylist()],
    )


def test_each_value_by_its_own_schema(registry: LittleRegistry) -> None:
    """P4: an older schema with narrower types and another name, a newer one, and JSON; what does not fit is a dead
    letter with its reason, and a registry that is gone makes none."""
    first, other = (registry.register(name, json.dumps(each)) for name, each in (("a", FIRST), ("c", OTHER)))
    newer = registry.register("a", json.dumps(NEXT))
    plain = registry.register("j", '{"type": "object"}', "JSON")
    values = [
        prefixed(first, FIRST, {"id": 1, "total": 7}),
        prefixed(newer, NEXT, {"id": 1 << 40, "amount": 8, "note": "n"}),
        struct.pack(">BI", 0, plain) + b'{"id": 3, "amount": 9}',
        None,
        prefixed(other, OTHER, {"id": "x"}),
        struct.pack(">BI", 0, 999) + b"?",
        b"plain",
        struct.pack(">BI", 0, plain) + b"[1]",
    ]
    good, bad = decode(registry, values)
    assert good == [(0, 1, 7, None), (1, 1 << 40, 8, "n"), (2, 3, 9, None), (3, None, None, None)]
    assert [offset for offset, _ in bad] == [4, 5, 6, 7]
    said = [reason for _, reason in bad]
    assert "field id does not fit" in said[0] or "field amount is missing" in said[0]
    assert "schema 999 cannot be used" in said[1]
    assert "number of a schema" in said[2]
    assert "not a record but a list" in said[3]
    registry.stop()
    reader_of.cache_clear()
    with pytest.raises(Unavailable, match="does not answer"):
        decode(registry, values)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--value-format", "registry"], "--value-format registry and --registry belong together"),
        (["--registry", "http://127.0.0.1:1"], "--value-format registry and --registry belong together"),
        (["--value-format", "registry", "--registry", "here", "--value-schema", "s"], "--registry must be http://"),
    ],
)
def test_what_belongs_together(tmp_path: Path, given: list[str], said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s").write_text(json.dumps(COLUMNS))
    done = CliRunner().invoke(app, ["archive", "orders", "./out", "--path", ".", *given])
    assert done.exit_code == 1
    assert said in done.stderr


def test_a_registry_that_wants_to_know_who_asks(tmp_path: Path) -> None:
    """P4: a login is read from a file and shown by nobody; who is not let in fails, and makes no dead letter of a value
    that nothing is wrong with."""
    (tmp_path / "login").write_text("me:pass word/@:\n")
    with little_registry("me:pass word/@:") as made:
        number = made.register("a", json.dumps(FIRST))
        values = [prefixed(number, FIRST, {"id": 1, "total": 7})]
        rows = pa.RecordBatch.from_pydict({"offset": [0], "value": pa.array(values, pa.binary())})

        def decoded(url: str) -> Any:
            reader_of.cache_clear()
            decoding = ValueDecoding("registry", json.dumps(COLUMNS), registry=url)
            assert "word" not in repr(decoding)
            return decoding.decode(rows)

        good, bad = decoded(check_registry(made.url, tmp_path / "login"))
        assert (good["id"].to_pylist(), bad.num_rows) == ([1], 0)
        for wrong in (made.url, with_login(made.url, "me:other")):
            with pytest.raises(NotLetIn, match="--registry-login says who asks") as caught:
                decoded(wrong)
            assert "other" not in str(caught.value)
        with pytest.raises(Rejected, match="others see a command line"):
            check_registry(made.url.replace("//", "//me:x@"), None)
    with pytest.raises(Rejected, match="USER:PASSWORD"):
        with_login("http://127.0.0.1:1", "me")
    with pytest.raises(Rejected, match="--registry-login is for --registry"):
        check_registry(None, tmp_path / "login")
