"""Answers as values, and what a refusal is answered with."""

from __future__ import annotations

import json
from ipaddress import ip_address
from typing import Any, Final

from holdfast.console.link import HttpAnswer, HttpRequest
from holdfast.console.parts import PageNotFound
from holdfast.console.routes import PageRight, Visit
from holdfast.console.visit import Visitor
from holdfast.errors import Corrupt, HoldfastError, Rejected, Unavailable
from holdfast.security.errors import LoginFailed
from holdfast.security.logins.plain import PlainClaim
from holdfast.security.rules import Operation, ResourceType
from holdfast.security.secret import Secret

PAGE_SIZE_MAX: Final = 8 << 20


class VisitRefused(Rejected):
    """The visitor may not."""


_STATUS: Final[tuple[tuple[type[HoldfastError], int], ...]] = (
    (LoginFailed, 401),
    (VisitRefused, 403),
    (PageNotFound, 404),
    (Rejected, 400),
    (Unavailable, 503),
    (Corrupt, 500),
)


def check(right: PageRight, visit: Visit) -> None:
    """Raises VisitRefused, or PageNotFound for what a visitor may not know of."""
    visitor, names = visit.visitor, visit.names
    if right is PageRight.CLUSTER:
        _need(visitor, Operation.DESCRIBE, ResourceType.CLUSTER)
    elif right in (PageRight.DESCRIBE_TOPIC, PageRight.READ_TOPIC):
        _check_topic(visitor, names["topic"], reads=right is PageRight.READ_TOPIC)
    elif right is PageRight.READ_TOPICS:
        for name in filter(None, visit.query.get("topics", "").split(",")):
            _check_topic(visitor, name, reads=True)
    elif right is PageRight.DESCRIBE_GROUP and not visitor.sees_group(names["group"]):
        raise PageNotFound(f"there is no group {names['group']}")


def _check_topic(visitor: Visitor, name: str, *, reads: bool) -> None:
    if not visitor.sees_topic(name):
        raise PageNotFound(f"there is no topic {name}")
    if reads:
        _need(visitor, Operation.READ, ResourceType.TOPIC, name)


def _need(visitor: Visitor, *asked: Any) -> None:
    try:
        visitor.need(*asked)
    except Rejected as failure:
        raise VisitRefused(str(failure)) from None


def check_same_origin(request: HttpRequest) -> None:
    """A change comes from a page of ours, and from nowhere else."""
    scheme = "https" if request.is_private else "http"
    if request.headers.get("origin") != f"{scheme}://{request.headers.get('host', '')}":
        raise VisitRefused("a change must come from this console: its Origin is another")
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise VisitRefused("a change is sent as application/json")


def body_of(request: HttpRequest) -> dict[str, Any]:
    try:
        said = json.loads(request.body)
    except (ValueError, RecursionError):
        raise Rejected("the body is no JSON") from None
    if not isinstance(said, dict):
        raise Rejected("the body is no JSON object")
    return said


def claim_of(request: HttpRequest) -> PlainClaim | Secret:
    """Who somebody says they are: `token`, or `user` and `password`."""
    said = body_of(request)
    if said.get("token"):
        return Secret(str(said["token"]))
    return PlainClaim(str(said.get("user", "")), Secret(str(said.get("password", ""))))


def failed(failure: HoldfastError) -> HttpAnswer:
    code = next((code for kind, code in _STATUS if isinstance(failure, kind)), 500)
    said = "say who you are: log in, or send Authorization: Basic or Bearer" if code == 401 else str(failure)
    more = (("WWW-Authenticate", 'Bearer realm="holdfast"'),) if code == 401 else ()  # No browser asks by itself then.
    return as_json(code, {"error": said}, more)


def as_json(status: int, value: dict[str, Any], headers: tuple[tuple[str, str], ...] = ()) -> HttpAnswer:
    return HttpAnswer(status, "application/json", page_of(value), headers)


def page_of(value: dict[str, Any]) -> bytes:
    """As JSON. Raises Rejected if it is larger than a page may be."""
    data = json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "replace")
    if len(data) > PAGE_SIZE_MAX:
        raise Rejected(f"this page would have {len(data)} bytes, {PAGE_SIZE_MAX} at most: ask for less, by a filter")
    return data


def as_text(status: int, text: str) -> HttpAnswer:
    return HttpAnswer(status, "text/plain; charset=utf-8", f"{text}\n".encode())


def is_ours(host: str, names: frozenset[str]) -> bool:
    """A name that an attacker's DNS points here is none of ours; an address cannot be pointed anywhere."""
    name = host.lower().rpartition(":")[0] if not host.endswith("]") and ":" in host else host.lower()
    if name in names:
        return True
    try:
        return bool(ip_address(name.strip("[]")))
    except ValueError:
        return False


NOT_OURS: Final = as_text(421, "this console is not known by that name: console.hosts lists its names")
