"""An independent implementation of the messages: random entities of it, their bytes, and both sides' values compared.

Never give it bytes that may be malformed: a large array length ends the process.
"""

from __future__ import annotations

import datetime
import random
import typing
import uuid
from collections.abc import Callable, Mapping
from dataclasses import Field, fields, is_dataclass
from functools import cache
from io import BytesIO
from typing import Any, TypeAlias

from kio.index import load_request_schema, load_response_schema
from kio.schema.errors import ErrorCode
from kio.serial import entity_reader, entity_writer

from holdfast.protocol.message import part_class

EPOCH = datetime.datetime.fromtimestamp(0, datetime.UTC)


def request_entity(key: int, version: int) -> Any:
    return load_request_schema(key, version)


def response_entity(key: int, version: int) -> Any:
    return load_response_schema(key, version)


def encode(entity: Any) -> bytes:
    out = BytesIO()
    entity_writer(type(entity))(out, entity)
    return out.getvalue()


def decode(entity_class: Any, data: bytes) -> Any:
    entity, size = entity_reader(entity_class)(data, 0)
    assert size == len(data)
    return entity


def entity(chance: random.Random, entity_class: Any) -> Any:
    """A random entity of a class."""
    return entity_class(**{name: make(chance) for name, make in _makers(entity_class).items()})


Maker: TypeAlias = Callable[[random.Random], Any]


@cache
def _makers(entity_class: Any) -> dict[str, Maker]:
    hints = typing.get_type_hints(entity_class)
    return {field.name: _maker(field, hints[field.name]) for field in fields(entity_class)}


def _maker(field: Field[Any], hint: Any) -> Maker:
    parts = typing.get_args(hint)
    if type(None) in parts:
        inner = _maker(field, next(part for part in parts if part is not type(None)))
        return lambda chance: inner(chance) if chance.random() < 0.7 else None
    if typing.get_origin(hint) is tuple:
        item = _maker(field, parts[0])
        return lambda chance: tuple(item(chance) for _ in range(chance.choice(COUNTS)))
    if is_dataclass(hint):
        return lambda chance: entity(chance, hint)
    return SIMPLE[field.metadata["kafka_type"]]


COUNTS = (0, 1, 1, 2, 3)
LETTERS = "aé€\U0001f600\0"


def _integers(bits: int) -> Maker:
    edge = 2 ** (bits - 1)
    return lambda chance: chance.choice((-edge, -1, 0, 1, edge - 1, chance.randrange(-edge, edge)))


def _milliseconds(chance: random.Random) -> datetime.timedelta:
    return datetime.timedelta(milliseconds=chance.choice((-1, 0, 30_000, chance.randrange(-(2**31), 2**31))))


def _string(chance: random.Random) -> str:
    return "".join(
        chance.choices(LETTERS, k=chance.choice((0, 1, 5, 9, 126, 127, 128) if chance.random() < 0.2 else (1, 4)))
    )


def _bytes(chance: random.Random) -> bytes:
    return chance.randbytes(chance.choice((0, 1, 20, 126, 127, 128, 20_000) if chance.random() < 0.2 else (0, 3)))


SIMPLE: dict[str, Maker] = {
    "bool": lambda chance: chance.random() < 0.5,
    "bytes": _bytes,
    "records": _bytes,
    "string": _string,
    "int8": _integers(8),
    "int16": _integers(16),
    "uint16": lambda chance: chance.choice((0, 9092, 2**16 - 1)),
    "int32": _integers(32),
    "int64": _integers(64),
    "float64": lambda chance: chance.choice((0.0, -1.5, chance.random() * 1e300)),
    "uuid": lambda chance: uuid.UUID(int=chance.getrandbits(128)),
    "error_code": lambda chance: chance.choice(
        (ErrorCode.none, ErrorCode.corrupt_message, ErrorCode.unknown_server_error)
    ),
    "timedelta_i32": _milliseconds,
    "timedelta_i64": _milliseconds,
    "datetime_i64": lambda chance: EPOCH + datetime.timedelta(milliseconds=chance.randrange(10**13)),
}


def values_of_entity(entity: Any) -> dict[str, Any]:
    """What an entity says, in plain values."""
    return {field.name: _plain(getattr(entity, field.name), field.metadata) for field in fields(entity)}


def _plain(value: Any, metadata: Mapping[str, Any]) -> Any:
    if value is None and metadata.get("kafka_type") == "datetime_i64":
        return -1
    if is_dataclass(value):
        return values_of_entity(value)
    if isinstance(value, tuple):
        return [_plain(item, metadata) for item in value]
    if isinstance(value, datetime.timedelta):
        return round(value / datetime.timedelta(milliseconds=1))
    if isinstance(value, datetime.datetime):
        return round((value - EPOCH) / datetime.timedelta(milliseconds=1))
    return int(value) if isinstance(value, ErrorCode) else value


def raw_uuid(value: uuid.UUID | None) -> bytes:
    """The oracle takes zeros for None."""
    return bytes(16) if value is None else value.bytes


def values_of_message(message: Any, like: dict[str, Any]) -> dict[str, Any]:
    """What one of our messages says about the same things, in the same plain values."""
    return {name: _value(message, _name(message, name), other) for name, other in like.items()}


def _name(message: Any, name: str) -> str:
    """The oracle leaves the unit out of names."""
    known = {row[0] for row in message.ROWS}
    return next(each for each in (name, f"{name}_ms") if each in known)


def _value(message: Any, name: str, like: Any) -> Any:
    value = getattr(message, name)
    if isinstance(like, dict):
        return values_of_message(_left_out(message, name) if value is None else value, like)
    if isinstance(like, list) and isinstance(value, list) and like and isinstance(like[0], dict):
        return [values_of_message(item, other) for item, other in zip(value, like, strict=True)]
    return list(value) if isinstance(like, list) else value


def _left_out(message: Any, name: str) -> Any:
    """A part that is not there says what its defaults say."""
    [kind] = [row[1] for row in message.ROWS if row[0] == name]
    return part_class(type(message), kind)()
