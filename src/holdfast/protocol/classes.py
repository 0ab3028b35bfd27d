"""Which class a request or a response has."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from holdfast.protocol.api import APIS, Key
from holdfast.protocol.message import Message

_GENERATED = "holdfast.protocol.generated"


@cache
def request_class(key: Key) -> type[Message]:
    """A request's class; its module is loaded when it is first asked for."""
    return _class(key, "Request")


@cache
def response_class(key: Key) -> type[Message]:
    """A response's class."""
    return _class(key, "Response")


def _class(key: Key, kind: str) -> type[Message]:
    found: type[Message] = getattr(import_module(f"{_GENERATED}.{key.name.lower()}"), f"{APIS[key].name}{kind}")
    return found
