"""The message classes: kafka-python's, which it makes from Kafka's schemas, and some of ours made in the same way.

This is the only module that knows the library; `library` has it loaded without its clients. A class has a request's or
response's fields as attributes, and the classes of its parts as attributes too: `Response(error_code=0,
groups=[Response.ListedGroup(group_id="g")])`. What is not given has the schema's default; a field that a version does
not have is left out when it is encoded. The library turns two types into Python's: a uuid of zeros is None, and the
bits of "authorized operations" are a set of their numbers, None where they were not asked for.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any, TypeAlias

from holdfast.protocol import library
from holdfast.protocol.api import APIS, Key
from holdfast.protocol.lazy import LazyClass

library.put_into_place()  # Before the first of its modules is imported.
_ApiMessage = import_module("kafka.protocol.api_message").ApiMessage
_EncodeBuffer = import_module("kafka.protocol.schemas.fields.codecs").EncodeBuffer

Message: TypeAlias = Any  # An object of a message class; the library has no types to offer.

_SCHEMAS = "holdfast.protocol.schemas"
_FIRST_SIZE = 512  # Of the buffer that a message is encoded into; it doubles as needed.
_FAMILIES = ("metadata", "consumer", "producer", "admin", "sasl")  # Where the library has its classes.

_OURS: dict[str, Any] = {
    name: type(_ApiMessage)(name, (_ApiMessage,), {"__module__": __name__}, load_json=_SCHEMAS)
    for key in (
        Key.CONSUMER_GROUP_HEARTBEAT,
        Key.CONSUMER_GROUP_DESCRIBE,
        Key.CREATE_DELEGATION_TOKEN,
        Key.RENEW_DELEGATION_TOKEN,
        Key.EXPIRE_DELEGATION_TOKEN,
        Key.DESCRIBE_DELEGATION_TOKEN,
        Key.UNREGISTER_BROKER,
        Key.GET_TELEMETRY_SUBSCRIPTIONS,
        Key.PUSH_TELEMETRY,
        Key.ADD_RAFT_VOTER,
        Key.REMOVE_RAFT_VOTER,
        Key.SHARE_GROUP_HEARTBEAT,
        Key.SHARE_GROUP_DESCRIBE,
        Key.SHARE_FETCH,
        Key.SHARE_ACKNOWLEDGE,
        Key.DESCRIBE_SHARE_GROUP_OFFSETS,
        Key.ALTER_SHARE_GROUP_OFFSETS,
        Key.DELETE_SHARE_GROUP_OFFSETS,
    )
    for name in (f"{APIS[key].name}Request", f"{APIS[key].name}Response")
}


@cache
def request_class(key: Key) -> LazyClass:
    """A request's class, which is made when it is first used."""
    return LazyClass(lambda: load_request(key))


@cache
def response_class(key: Key) -> LazyClass:
    """A response's class, which is made when it is first used."""
    return LazyClass(lambda: load_response(key))


@cache
def load_request(key: Key) -> Any:
    """A request's class itself."""
    return _class(f"{APIS[key].name}Request")


@cache
def load_response(key: Key) -> Any:
    """A response's class itself."""
    return _class(f"{APIS[key].name}Response")


def _class(name: str) -> Any:
    if name in _OURS:
        return _OURS[name]
    modules = (import_module(f"kafka.protocol.{family}") for family in _FAMILIES)
    return next(getattr(module, name) for module in modules if hasattr(module, name))


def encode(message: Message, version: int) -> bytearray:
    """A message's bytes, without a header."""
    return _encode(message._struct, message, version, flexible=message.flexible_version_q(version))


def encode_item(message_class: Any, array: str, item: Message, version: int) -> bytearray:
    """The bytes of one item of a message's array."""
    schema = message_class._struct.fields[array].array_of
    return _encode(schema, item, version, flexible=message_class.flexible_version_q(version))


def _encode(schema: Any, item: Message, version: int, *, flexible: bool) -> bytearray:
    out = _EncodeBuffer(_FIRST_SIZE)
    schema.compiled_encode_into(version, compact=flexible, tagged=flexible)(item, out)
    del out.buf[out.pos :]
    encoded: bytearray = out.buf
    return encoded
