"""What keeps other sites away, on every answer: walked through the tables, so that a new route cannot forget it."""

from __future__ import annotations

import socket

import pytest
from tests.console.asking import Asked, Place, Told, basic
from tests.console.test_rights import path_of

from holdfast.console.changes import CHANGES
from holdfast.console.routes import Route
from holdfast.console.table import ROUTES
from holdfast.testing import SecuredBroker

ADMIN = basic("admin", SecuredBroker.password("admin"))
POSTS = ["/login", "/logout", *(each.path for each in CHANGES)]
STARTS = "default-src 'self'; frame-ancestors 'none'"


def is_safe(headers: dict[str, str]) -> bool:
    return (
        headers.get("content-security-policy", "").startswith(STARTS)
        and headers.get("x-content-type-options") == "nosniff"
        and headers.get("referrer-policy") == "no-referrer"
        and headers.get("cross-origin-resource-policy") == "same-origin"
        and not any(name.startswith("access-control-") for name in headers)
    )


def told(asked: Asked, path: str, **headers: str) -> tuple[int, bool]:
    found = asked.ask(path, **headers)
    return found.status, is_safe(dict(found.headers))


def begun(port: int, path: str) -> tuple[int, dict[str, str]]:
    """The status and the headers of an answer that may have no end."""
    with socket.create_connection(("127.0.0.1", port), 20) as link:
        link.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n".encode())
        with link.makefile("r", encoding="latin-1", newline="\r\n") as lines:
            status = int(lines.readline().split()[1])
            pairs = (line.partition(":") for line in iter(lines.readline, "\r\n"))
            return status, {name.lower(): value.strip() for name, _, value in pairs}


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.path)
def test_every_route_keeps_other_sites_away(place: Place, route: Route) -> None:
    """V2: as JSON, as a page, as a stream; and it answers to no name that is not ours."""
    path, evil = path_of(route), "https://evil.example"
    assert told(place.asked, path, Origin=evil) == (200, True)
    assert told(place.asked, path, Accept="text/html") == (200, True)
    status, headers = begun(place.port, path)
    assert (status, is_safe(headers)) == (200, True)
    for accept in ("application/json", "text/html", "text/event-stream"):
        assert told(place.asked, path, Host="evil.example", Accept=accept) == (421, True)


@pytest.mark.parametrize("path", POSTS)
def test_every_post_is_json_from_a_page_of_ours(secured: tuple[SecuredBroker, int], path: str) -> None:
    """V2, V3: also of who may everything."""
    broker, port = secured
    asked = Asked(port, broker.ssl_context())
    here, named = f"https://127.0.0.1:{port}", path.format(topic="orders", group="billing", id="refunds-1")

    def post(**headers: str) -> Told:
        found = asked.ask(named, "POST", '{"repeat": "orders"}', Authorization=ADMIN, **headers)
        assert is_safe(dict(found.headers))
        return found

    form = "application/x-www-form-urlencoded"
    for wrong in (
        {"Content_Type": "application/json"},
        {"Content_Type": "application/json", "Origin": "https://evil.example"},
        {"Content_Type": "application/json", "Origin": "null"},
        {"Content_Type": "application/json", "Origin": here.replace("https", "http")},
        {"Content_Type": "application/json", "Origin": f"https://127.0.0.1:{port + 1}"},
        {"Content_Type": form, "Origin": here},
        {"Content_Type": "text/plain", "Origin": here},
        {"Origin": here},
    ):
        assert post(**wrong).status == 403, wrong
    evil = {"Host": "evil.example", "Origin": "https://evil.example", "Content_Type": "application/json"}
    assert post(**evil).status == 421
    assert asked.page("/topics/orders", Authorization=ADMIN)["name"] == "orders"


def test_what_is_refused_keeps_other_sites_away_too(place: Place, secured: tuple[SecuredBroker, int]) -> None:
    """V2: what is not there, not allowed, no request at all; and files."""
    broker, port = secured
    guarded = Asked(port, broker.ssl_context())
    assert told(guarded, "/topics") == (401, True)
    assert told(guarded, "/wal", Authorization=basic("reader", SecuredBroker.password("reader"))) == (403, True)
    assert told(place.asked, "/nothing") == (404, True)
    assert told(place.asked, "/topics?start=x") == (400, True)
    assert told(place.asked, "/static/nothing/app.js") == (404, True)
    style = place.asked.ask("/", Accept="text/html").text.partition('href="')[2].partition('"')[0]
    assert told(place.asked, style) == (200, True)
    for method, status in (("OPTIONS", 405), ("PUT", 405), ("DELETE", 405)):
        found = place.asked.ask("/topics", method, Origin="https://evil.example")
        assert (found.status, is_safe(dict(found.headers))) == (status, True)
    assert begun(place.port, "//[x")[0] == 400
    assert is_safe(begun(place.port, "//[x")[1])
