"""Every route, by the table: without a login, with too few rights, with enough."""

from __future__ import annotations

import json
from typing import Any

import pytest
from confluent_kafka.admin import (
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)
from tests.broker.wire import wait_for
from tests.console.asking import Asked, Told, basic

from holdfast.console.routes import PageRight, Route
from holdfast.console.table import ROUTES
from holdfast.testing import BrokerDidNotStart, SecuredBroker, free_port, running_broker

ENOUGH = {
    PageRight.NONE: "nobody",
    PageRight.LISTED: "nobody",
    PageRight.CLUSTER: "looker",
    PageRight.DESCRIBE_TOPIC: "knower",
    PageRight.READ_TOPIC: "reader",
    PageRight.READ_TOPICS: "reader",
    PageRight.DESCRIBE_GROUP: "reader",
}
TOO_FEW = {
    PageRight.CLUSTER: ("reader", 403),
    PageRight.DESCRIBE_TOPIC: ("looker", 404),
    PageRight.READ_TOPIC: ("knower", 403),
    PageRight.READ_TOPICS: ("knower", 403),
    PageRight.DESCRIBE_GROUP: ("looker", 404),
}


@pytest.fixture(scope="module")
def guarded(secured: tuple[SecuredBroker, int]) -> Asked:
    broker, port = secured
    return Asked(port, broker.ssl_context())


def path_of(route: Route) -> str:
    return route.path.format(topic="orders", partition=0, base=0, offset=0, group="billing") + route.example


def as_user(guarded: Asked, user: str, path: str) -> Told:
    return guarded.ask(path, Authorization=basic(user, SecuredBroker.password(user)))


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.path)
def test_each_route_asks_for_its_right(guarded: Asked, route: Route) -> None:
    """V2, X8: 401 for strangers; 403, or 404 where nothing may be known, for those without it; 200 with it.

    The test of V2.
    """
    path = path_of(route)
    told = guarded.ask(path)
    assert (told.status, "orders" in told.text) == (401, False)
    assert guarded.ask(path, Accept="text/event-stream").status == 401
    if route.right in TOO_FEW:
        user, status = TOO_FEW[route.right]
        assert as_user(guarded, user, path).status == status
    assert as_user(guarded, ENOUGH[route.right], path).status == 200


def test_a_topic_s_row_names_no_group_that_may_not_be_described(guarded: Asked) -> None:
    """V2: neither how many there are, nor how far behind they are."""

    def row(user: str) -> Any:
        return next(each for each in as_user(guarded, user, "/topics").json["rows"] if each["name"] == "orders")

    wait_for(lambda: row("reader")["groups"] == 1)  # It is of a few seconds ago.
    rows = {user: row(user) for user in ("reader", "knower")}
    assert rows["reader"]["behind"] == "billing"
    assert (rows["knower"]["groups"], rows["knower"]["behind"], rows["knower"]["lag"]) == (0, None, None)


def test_lists_leave_out_what_may_not_be_described(guarded: Asked) -> None:
    """V2, X8."""
    rows = {
        user: [each["name"] for each in as_user(guarded, user, "/topics").json["rows"]]
        for user in ("nobody", "looker", "knower", "admin")
    }
    assert (rows["nobody"], rows["looker"], rows["knower"]) == ([], [], ["orders"])
    assert len(rows["admin"]) == 4
    assert as_user(guarded, "knower", "/topics").json["all"] == 1
    hidden, missing = (as_user(guarded, "nobody", f"/topics/{name}") for name in ("orders", "nothing"))
    assert hidden.text == missing.text.replace("nothing", "orders")
    assert "/wal" not in as_user(guarded, "reader", "/me").json["pages"]


def test_no_search_leaves_the_topics_that_may_be_read(guarded: Asked) -> None:
    """V2: neither by a cursor, nor by another name beside one that may; a group shows no topic that may not be seen."""
    for path in (
        "/topics/orders/records?cursor=payments:0:0",
        "/timeline?topics=orders,payments",
        "/timeline?topics=orders&cursor=payments:0:0",
        "/topics/payments/0/records/0",
    ):
        told = as_user(guarded, "reader", path)
        assert told.status in (400, 404), path
        assert "refund" not in told.text
    assert as_user(guarded, "admin", "/timeline?topics=orders,payments").status == 200
    assert as_user(guarded, "looker", "/store/objects?prefix=auth/").status == 400
    assert as_user(guarded, "looker", "/store/objects?name=auth/newest.json").status == 400


def test_a_login_is_a_cookie_that_no_script_reads(guarded: Asked) -> None:
    """V2: taken away by a logout; made only for pages of ours."""
    ours = {"Origin": f"https://127.0.0.1:{guarded.port}", "Content_Type": "application/json"}
    said = json.dumps({"user": "looker", "password": SecuredBroker.password("looker")})
    assert guarded.ask("/login", "POST", said, **{**ours, "Origin": "https://evil.example"}).status == 403
    assert guarded.ask("/login", "POST", said, **{**ours, "Content_Type": "text/plain"}).status == 403
    assert guarded.ask("/login", "POST", '{"user": "looker", "password": "x"}', **ours).status == 401
    assert guarded.ask("/login", "POST", "[", **ours).status == 400
    told = guarded.ask("/login", "POST", said, **ours)
    assert told.status == 200
    cookie = told.headers["set-cookie"]
    assert all(word in cookie for word in ("HttpOnly", "Secure", "SameSite=Strict"))
    mine = {"Cookie": cookie.partition(";")[0]}
    assert guarded.ask("/me", **mine).json["visitor"] == "User:looker"
    assert guarded.ask("/wal", **mine).status == 200
    assert guarded.ask("/me", Cookie="holdfast-session=0").status == 401
    assert guarded.ask("/logout", "POST", "{}", **ours, **mine).status == 200
    assert guarded.ask("/me", **mine).status == 401


@pytest.mark.parametrize("listen", ["0.0.0.0:0", "[::]:0", "NOBODY://127.0.0.1:0"])
def test_beyond_loopback_a_start_needs_a_protection(listen: str) -> None:
    """V2."""
    with pytest.raises(BrokerDidNotStart, match=r"serve\.console_listen"), running_broker(serve_console_listen=listen):
        pass


def test_everybody_may_look_where_somebody_has_said_so() -> None:
    """V2: console.allow_anonymous; a name of its own must be told, too."""
    port = free_port()
    settings = {
        "serve_console_listen": f"0.0.0.0:{port}",
        "console_allow_anonymous": "true",
        "console_hosts": "log.example",
    }
    with running_broker(**settings):
        assert Asked(port).ask("/topics").status == 200
        assert Asked(port).ask("/topics", Host="log.example").status == 200
        assert Asked(port).ask("/topics", Host="other.example").status == 421


def logged_in(guarded: Asked, user: str, password: str) -> dict[str, str]:
    """The cookie of a login, as headers."""
    ours = {"Origin": f"https://127.0.0.1:{guarded.port}", "Content_Type": "application/json"}
    told = guarded.ask("/login", "POST", json.dumps({"user": user, "password": password}), **ours)
    assert told.status == 200
    return {"Cookie": told.headers["set-cookie"].partition(";")[0]}


def set_password(broker: SecuredBroker, user: str, password: str) -> None:
    info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096)
    wanted = UserScramCredentialUpsertion(user, info, password.encode())
    admin = AdminClient(broker.conf("admin"))
    assert all(each.result() is None for each in admin.alter_user_scram_credentials([wanted]).values())


def test_a_login_ends_with_its_password_and_ends_streams(guarded: Asked, secured: tuple[SecuredBroker, int]) -> None:
    """V2, X5: whoever gets another password is out, also of a page that is followed."""
    broker, _ = secured
    mine = logged_in(guarded, "looker", SecuredBroker.password("looker"))
    assert guarded.ask("/me", **mine).status == 200
    with guarded.follow("/wal", **mine) as events:
        assert next(events).startswith("data:")
        set_password(broker, "looker", "another one")
        assert any(each == "event: gone" for each in events)
    assert guarded.ask("/me", **mine).status == 401
    again = logged_in(guarded, "looker", "another one")
    set_password(broker, "looker", SecuredBroker.password("looker"))
    assert guarded.ask("/me", **again).status == 401


@pytest.mark.parametrize(
    "said", ["[" * 100_000, '{"a":' * 100_000, '{"user": "\\ud800", "password": "x"}', '"x"', "\x00"]
)
def test_what_strangers_say_at_the_login_is_refused(guarded: Asked, said: str) -> None:
    """V2: and no fault of ours."""
    ours = {"Origin": f"https://127.0.0.1:{guarded.port}", "Content_Type": "application/json"}
    assert guarded.ask("/login", "POST", said, **ours).status in (400, 401, 413)


def test_producers_are_shown_to_those_who_may_read(guarded: Asked) -> None:
    """V2: as Kafka's DescribeProducers asks."""
    shown = {user: as_user(guarded, user, "/topics/orders/0").json["producers_all"] for user in ("knower", "reader")}
    assert shown["knower"] is None
    assert isinstance(shown["reader"], int)
