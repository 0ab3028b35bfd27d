"""Errors across the wire: what the server raised is raised again in the client, with its facts."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterable
from typing import Any

from holdfast.errors import Corrupt, HoldfastError, Rejected
from holdfast.subscribe.errors import (
    BadCursor,
    BadFilter,
    BadRequest,
    CursorDiverged,
    NoSuchSource,
    NotLoggedIn,
    NotPermitted,
    PartitionMoved,
    ServerFailed,
    ServerGone,
    SessionOver,
    SourceGone,
)

FACTS = "holdfast-error"  # The name of the trailing metadata.
UNEXPECTED = "unexpected"  # The kind of whatever is not one of our errors.
# Bytes of one text. What ends a call may have 8 KiB: more, and the client is told of that instead. A byte becomes three
# at most in the status, six in the facts, and an error has at most two texts.
_TEXT_SIZE_MAX = 400
_KINDS: dict[str, type[HoldfastError]] = {
    kind.__name__: kind
    for kind in (
        BadCursor,
        BadFilter,
        BadRequest,
        CursorDiverged,
        NoSuchSource,
        NotLoggedIn,
        NotPermitted,
        PartitionMoved,
        SessionOver,
        SourceGone,
    )
}
_REFUSED = (
    "INVALID_ARGUMENT",
    "NOT_FOUND",
    "OUT_OF_RANGE",
    "ABORTED",
    "FAILED_PRECONDITION",
    "UNIMPLEMENTED",
    "UNAUTHENTICATED",
    "PERMISSION_DENIED",
)


def facts_of(failure: HoldfastError) -> tuple[tuple[str, str], ...]:
    """The kind and the fields of an error, as trailing metadata."""
    kind = type(failure)
    if kind.__name__ not in _KINDS:
        return ()
    found = {name: getattr(failure, name) for name in inspect.signature(kind).parameters}
    fields = {name: cut(value) if isinstance(value, str) else value for name, value in found.items()}
    return ((FACTS, json.dumps([kind.__name__, fields])),)


def cut(text: str) -> str:
    """The beginning of a text: what a client sent, or a store said, may be of any size. What is no UTF-8 is a ?."""
    data = text.encode("utf-8", "replace")
    if len(data) <= _TEXT_SIZE_MAX:
        return data.decode()
    return data[:_TEXT_SIZE_MAX].decode("utf-8", "ignore") + "…"


def cause_of(failure: Exception) -> tuple[str, tuple[tuple[str, str], ...]]:
    """What nobody expected, as a sentence and as trailing metadata."""
    return cut(f"{type(failure).__name__}: {failure}"), ((FACTS, json.dumps([UNEXPECTED, {}])),)


def error_from(address: str, code: str, details: str, trailing: Iterable[tuple[str, Any]]) -> HoldfastError:
    """The error that a call ended with. What is not the client's fault can be tried again."""
    for name, value in trailing:
        if name == FACTS:
            kind, fields = json.loads(value)
            if kind == UNEXPECTED:
                return ServerFailed(address, details)
            if kind in _KINDS:
                return _KINDS[kind](**fields)
    if code == "DATA_LOSS":
        return Corrupt(f"{address}: {details}")
    if code in _REFUSED:
        return Rejected(f"{address}: {details}")
    return ServerGone(address, f"{code}: {details}" if details else code)
