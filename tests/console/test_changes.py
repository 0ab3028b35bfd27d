"""Changes: off unless they are asked for, by right, asked twice, through the broker's own handlers, and audited."""

from __future__ import annotations

import json
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition
from tests.broker.wire import wait_for
from tests.console.asking import Asked, Place, Told, basic

from holdfast.console.changes import CHANGES, Change
from holdfast.testing import SecuredBroker

SAID: dict[str, dict[str, Any]] = {
    "/topics": {"name": "c-new", "partitions": 2, "configs": {"retention.ms": "1000"}},
    "/topics/{topic}/configs": {"name": "retention.ms", "value": "5000"},
    "/topics/{topic}/records": {"partition": 0, "key": "k", "value": "v", "headers": {"a": "b"}},
}
ORDER = sorted(CHANGES, key=lambda each: each.path.endswith("/delete"))


@pytest.fixture(scope="module")
def guarded(secured: tuple[SecuredBroker, int]) -> Asked:
    broker, port = secured
    consumer = Consumer(broker.conf("admin") | {"group.id": "idle", "enable.auto.commit": False})
    consumer.commit(offsets=[TopicPartition("orders", 0, 1)], asynchronous=False)
    consumer.close()
    return Asked(port, broker.ssl_context())


def post(asked: Asked, path: str, said: dict[str, Any], user: str = "", scheme: str = "https", **headers: str) -> Told:
    ours = {"Origin": f"{scheme}://127.0.0.1:{asked.port}", "Content_Type": "application/json"}
    if user:
        ours["Authorization"] = basic(user, SecuredBroker.password(user))
    return asked.ask(path, "POST", json.dumps(said), **{**ours, **headers})


def path_of(change: Change) -> str:
    return change.path.format(topic="c-new", group="idle", id="refunds-1")


def said_to(change: Change) -> dict[str, Any]:
    names = {"topic": "c-new", "group": "idle", "id": "refunds-1"}
    return {**SAID.get(change.path, {}), "repeat": names.get(change.repeats, "")}


@pytest.mark.parametrize("change", ORDER, ids=lambda each: each.path)
def test_each_change_asks_for_its_right_and_is_asked_twice(
    guarded: Asked, secured: tuple[SecuredBroker, int], change: Change
) -> None:
    """V3: 401 for strangers, 403 without the right, nothing without the name; then it is done, and audited.

    The test of V3.
    """
    path, said = path_of(change), said_to(change)
    assert post(guarded, path, said).status == 401
    assert post(guarded, path, said, "looker").status in (400, 403)
    assert post(guarded, path, said, "changer", Origin="https://evil.example").status == 403
    assert post(guarded, path, said, "changer", Content_Type="text/plain").status == 403
    if change.repeats:
        told = post(guarded, path, said | {"repeat": "x"}, "changer")
        assert (told.status, "repeat the name" in told.text) == (400, True)
    told = post(guarded, path, said, "changer")
    assert told.status == 200, told
    wait_for(
        lambda: any("console: " + told.json["done"] in each and "User:changer" in each for each in secured[0].said)
    )


def test_what_was_changed_is_so(guarded: Asked) -> None:
    """V3: a record that was produced here is there, with its headers; a topic that was deleted is not."""
    assert post(guarded, "/topics", {"name": "c-one"}, "admin").status == 200
    assert post(guarded, "/topics", {"name": "c-one"}, "admin").status == 400
    done = post(guarded, "/topics/c-one/records", {"key": None, "value": "ä", "headers": {"h": "1"}}, "admin").json[
        "done"
    ]
    assert done == "record c-one-0@0 produced"
    said = {"Authorization": basic("admin", SecuredBroker.password("admin"))}
    one = guarded.page("/topics/c-one/0/records/0", **said)
    assert (one["key"], one["value"], one["headers"]) == (None, "ä", [["h", "1"]])
    may = guarded.page("/topics/c-one", **said)["may"]
    assert may == {"delete": True, "configure": True, "produce": True}
    assert post(guarded, "/topics/c-one/delete", {"repeat": "c-one"}, "admin").status == 200
    assert guarded.ask("/topics/c-one", **said).status == 404
    for wrong in ({"partition": "x"}, {"value": 5}, {"headers": []}, {"partition": 99, "value": "v"}):
        assert post(guarded, "/topics/orders/records", wrong, "admin").status == 400, wrong


def test_nothing_is_changed_unless_that_was_asked_for(place: Place) -> None:
    """V3: console.write is false by itself, and then there are no buttons."""
    for change in CHANGES:
        told = post(place.asked, path_of(change), said_to(change), scheme="http")
        assert (told.status, "console.write is false" in told.text) == (403, True), change.path
    assert place.asked.page("/me")["writes"] is False
    assert set(place.asked.page("/topics/orders")["may"].values()) == {False}
    assert place.asked.page("/transactions")["rows"][0]["may"] == {"end": False}


def test_verdicts_name_their_rule(guarded: Asked) -> None:
    """V6: may X do Y on Z, and by which rule."""
    said = {"Authorization": basic("looker", SecuredBroker.password("looker"))}

    def verdict(user: str, operation: str, name: str) -> tuple[bool, str]:
        page = guarded.page(f"/access/verdict?user=User:{user}&operation={operation}&kind=TOPIC&name={name}", **said)
        return page["is_allowed"], page["by"]

    assert verdict("reader", "read", "orders") == (True, "ALLOW User:reader READ TOPIC:LITERAL:orders from *")
    assert verdict("reader", "write", "orders") == (False, "no rule allows it")
    assert verdict("admin", "write", "orders") == (True, "super user")
    page = guarded.page("/access", **said)
    assert {"reader", "knower"} <= {each["user"] for each in page["users"]}
    assert any(each["principal"] == "User:reader" for each in page["rules"])
    assert "salt" not in json.dumps(page)
    guarded.ask("/me", Authorization=basic("reader", "hunter2"))
    guarded.ask("/wal", Authorization=basic("reader", SecuredBroker.password("reader")))
    events = {(each["event"], each["text"].partition(":")[0]) for each in guarded.page("/access", **said)["recent"]}
    assert {"login failed", "refused"} <= {event for event, _ in events}
    assert "hunter2" not in json.dumps(guarded.page("/access", **said)["recent"])


def test_a_partition_is_verified_to_its_end(place: Place) -> None:
    """V6: in parts, each of which says where to go on."""
    page = place.asked.page("/topics/orders/0/verify")
    assert (page["findings"], page["next"], page["end"]) == ([], None, page["flushed"])
    assert page["records"] == page["flushed"]
    assert place.asked.page("/proof")["failed"] == []
    assert place.asked.page("/subscriptions")["open"] == 0
