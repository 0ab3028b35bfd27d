"""Answers as values, and what a refusal is answered with."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from holdfast.console.link import Answer, Request
from holdfast.console.parts import NotThere
from holdfast.console.routes import Right
from holdfast.console.visit import Visitor
from holdfast.errors import Corrupt, HoldfastError, Rejected, Unavailable
from holdfast.security.errors import LoginFailed
from holdfast.security.rules import Operation, ResourceType


class Refused(Rejected):
    """The visitor may not."""


_STATUS: Final[tuple[tuple[type[HoldfastError], int], ...]] = (
    (LoginFailed, 401),
    (Refused, 403),
    (NotThere, 404),
    (Rejected, 400),
    (Unavailable, 503),
    (Corrupt, 500),
)


def check(right: Right, visitor: Visitor, names: Mapping[str, str]) -> None:
    """Raises Refused, or NotThere for what a visitor may not know of."""
    name = names.get("topic") or names.get("group") or ""
    if right is Right.CLUSTER:
        _need(visitor, Operation.DESCRIBE, ResourceType.CLUSTER)
    elif right in (Right.DESCRIBE_TOPIC, Right.READ_TOPIC):
        if not visitor.sees_topic(name):
            raise NotThere(f"there is no topic {name}")
        if right is Right.READ_TOPIC:
            _need(visitor, Operation.READ, ResourceType.TOPIC, name)
    elif right is Right.DESCRIBE_GROUP and not visitor.sees_group(name):
        raise NotThere(f"there is no group {name}")


def _need(visitor: Visitor, *asked: Any) -> None:
    try:
        visitor.need(*asked)
    except Rejected as failure:
        raise Refused(str(failure)) from None


def check_same_origin(request: Request) -> None:
    """A change comes from a page of ours, and from nowhere else."""
    scheme = "https" if request.is_private else "http"
    if request.headers.get("origin") != f"{scheme}://{request.headers.get('host', '')}":
        raise Refused("a change must come from this console: its Origin is another")
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise Refused("a change is sent as application/json")


def body_of(request: Request) -> dict[str, Any]:
    try:
        said = json.loads(request.body)
    except ValueError:
        raise Rejected("the body is no JSON") from None
    if not isinstance(said, dict):
        raise Rejected("the body is no JSON object")
    return said


def failed(failure: HoldfastError) -> Answer:
    code = next((code for kind, code in _STATUS if isinstance(failure, kind)), 500)
    said = "say who you are: log in, or send Authorization: Basic or Bearer" if code == 401 else str(failure)
    more = (("WWW-Authenticate", 'Bearer realm="holdfast"'),) if code == 401 else ()  # No browser asks by itself then.
    return as_json(code, {"error": said}, more)


def as_json(status: int, value: dict[str, Any], headers: tuple[tuple[str, str], ...] = ()) -> Answer:
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return Answer(status, "application/json", text.encode("utf-8", "replace"), headers)


def as_text(status: int, text: str) -> Answer:
    return Answer(status, "text/plain; charset=utf-8", f"{text}\n".encode())
