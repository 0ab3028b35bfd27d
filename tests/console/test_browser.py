"""Every page in a real browser, on a real broker: texts, the drawings' numbers, no mistake, no foreign request."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from tests.console.asking import Place
from tests.console.browser import Watched, browser
from tests.console.paths import PATHS
from tests.console.seeding import HELD, LATE, ORDERS
from tests.support.every_way import new_token

from holdfast.testing import SecuredBroker, free_port, running_broker

NAMELESS = """[...document.querySelectorAll("a, button, input, svg[role=img], select")].filter((each) =>
    !(each.textContent.trim() || each.getAttribute("aria-label") || each.labels?.length)).length"""


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with browser() as opened:
        yield opened


@pytest.fixture
def tab(chromium: Any, place: Place) -> Iterator[Watched]:
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(15_000)
    watched = Watched(context.new_page(), place.port)
    yield watched
    context.close()
    assert watched.wrong == []


def test_a_topic_arrives_in_the_list_without_a_reload(tab: Watched, place: Place) -> None:
    """V4, V7: within about a second; sorted and filtered by the broker; by keyboard. The test of V4."""
    page = tab.open("/topics")
    page.wait_for_selector("text=orders")
    name = f"arrives-{time.monotonic_ns()}"
    admin = AdminClient(place.conf)
    admin.create_topics([NewTopic(name, 1)])[name].result(20)
    began = time.monotonic()
    page.wait_for_selector(f"text={name}")
    assert time.monotonic() - began < 15  # A reload is what it must not need; measured 1 s.
    page.get_by_label("Filter").fill("ORD")
    page.wait_for_selector(f"text={name}", state="detached")
    assert page.url.endswith("?filter=ORD")
    page.get_by_role("button", name="records").press("Enter")
    page.wait_for_selector("th[aria-sort=ascending]:has-text('records')")
    page.get_by_role("link", name="orders").press("Enter")
    page.wait_for_selector("li[data-partition='2']")
    tab.keep("topic")
    admin.delete_topics([name])[name].result(20)


def test_topic_draws_the_marks_and_names_who_holds_readers(tab: Watched) -> None:
    """V7: the numbers are in the drawing."""
    page = tab.open("/topics/orders")
    bar = page.locator("li[data-partition='0'] svg")
    bar.wait_for()
    parts = {
        each.get_attribute("data-part"): (int(each.get_attribute("data-from")), int(each.get_attribute("data-to")))
        for each in bar.locator("[data-part]").all()
    }
    end = ORDERS + LATE + HELD
    assert parts == {"stored": (0, ORDERS), "logged": (ORDERS, end), "undecided": (ORDERS, end)}
    assert f"high watermark {end}" in bar.get_attribute("aria-label")
    assert page.inner_text("[data-held='0']").split() == (
        f"partition 0 at offset {ORDERS}, {LATE + HELD} records behind the open transaction of billing-1.".split()
    )
    page.wait_for_selector("text=retention.ms")


def test_topic_draws_its_partitions_on_an_axis_of_time(tab: Watched, place: Place) -> None:
    """V7: what is stored ends where the last segment's newest record is, what is logged with the newest."""
    row = place.asked.page("/topics/orders")["rows"][0]
    page = tab.open("/topics/orders")
    page.get_by_label("by time").check()
    page.wait_for_url("**/topics/orders?axis=time")
    bar = page.locator("li[data-partition='0'] svg")
    bar.locator("[data-part=logged]").wait_for()
    parts = {
        each.get_attribute("data-part"): (int(each.get_attribute("data-from")), int(each.get_attribute("data-to")))
        for each in bar.locator("[data-part]").all()
    }
    assert parts == {
        "stored": (row["oldest_ms"], row["flushed_ms"]),
        "logged": (row["flushed_ms"], row["newest_ms"]),
    }
    assert 0 < row["oldest_ms"] <= row["flushed_ms"] <= row["newest_ms"]
    tab.keep("topic-in-time")


def test_partition_shows_segments_down_to_their_bytes(tab: Watched) -> None:
    """V7."""
    page = tab.open("/topics/orders/0")
    page.wait_for_selector(".tiles li")
    assert page.inner_text("[data-mark=high_watermark] dd") == str(ORDERS + LATE + HELD)
    assert page.get_attribute(".tiles li:first-child", "data-base") == "0"
    codec = page.locator(".tiles li:first-child [data-codec]")
    assert (codec.get_attribute("data-codec"), codec.inner_text()) in (
        ("none", "not compressed"),
        ("unknown", "codec not known"),
    )
    page.get_by_role("button", name="Read the last versions").click()
    page.wait_for_selector("text=the first")
    tab.keep("partition")
    page.locator(".tiles a").first.click()
    page.wait_for_selector("text=every crc is right")
    assert page.locator("td:has-text('right')").count() > 0
    tab.keep("segment")


def test_write_ahead_log_draws_its_rounds(tab: Watched, place: Place) -> None:
    """V7: as many bars as there were rounds, with the times that the broker says."""
    page = tab.open("/wal")
    page.wait_for_selector("rect.strip")
    told = place.asked.page("/wal")["rounds"]
    drawn = [
        float(each.get_attribute("data-value")) for each in page.locator("figure:has-text('Fsync time') rect").all()
    ]
    assert drawn[:5] == [each["ms"] for each in told[:5]]
    tab.keep("wal")


def test_a_record_is_found_by_its_key(tab: Watched) -> None:
    """V7: by typing it; then the record itself, as text and as bytes."""
    page = tab.open("/topics/orders/records")
    page.wait_for_selector("tr[data-at]")
    page.get_by_label("Key").fill("key-123")
    page.get_by_label("From").fill("start")
    page.get_by_label("From").press("Enter")
    page.wait_for_selector("tr[data-at='2@61']")
    assert [each.get_attribute("data-at") for each in page.locator("tr[data-at]").all()] == ["0@123", "2@61"]
    tab.keep("records")
    page.get_by_role("link", name="0@123").click()
    page.wait_for_selector("text=leader epoch")
    assert '"order": 123' in page.inner_text("pre.value >> nth=1")
    page.get_by_label("raw bytes").check()
    assert page.inner_text("pre.value >> nth=1").startswith("7b 22 6f")


def test_records_are_marked_followed_and_taken_along(tab: Watched, place: Place) -> None:
    """V4, V7: undecided ones are marked; what arrives comes by itself; a file holds what is shown."""
    page = tab.open("/topics/clicks/records?from=end")
    page.wait_for_selector("[data-found]")
    page.get_by_label("follow").check()
    producer = Producer(place.conf)
    producer.produce("clicks", "<b>followed</b>", "c1", partition=0)
    producer.flush(20)
    page.wait_for_selector("text=<b>followed</b>")
    assert page.locator("td b").count() == 0
    with page.expect_download() as taken:
        page.get_by_role("button", name="Save as JSON lines").click()
    lines = Path(taken.value.path()).read_text().splitlines()
    assert json.loads(lines[-1])["value"] == "<b>followed</b>"
    page = tab.open("/topics/orders/records?state=undecided&from=start")
    page.wait_for_selector("tr.undecided")
    assert page.locator("tr.undecided").count() == LATE


def test_timeline_draws_a_lane_for_each_partition(tab: Watched) -> None:
    """V7."""
    page = tab.open("/timeline?topics=customers,clicks&from=start&key=c5")
    page.wait_for_selector("circle")
    dots = page.locator("circle").all()
    assert {each.get_attribute("data-lane").rpartition("-")[0] for each in dots} == {"customers", "clicks"}
    tab.keep("timeline")


def test_a_group_s_lag_falls_on_the_page(tab: Watched, place: Place) -> None:
    """V4, V7: while it commits, without a reload."""
    page = tab.open("/groups")
    page.get_by_role("link", name="billing").click()
    page.wait_for_selector("[data-lag]")
    before = int(page.get_attribute("[data-lag]", "data-lag"))
    tab.keep("group")
    consumer = Consumer(place.conf | {"group.id": "billing", "enable.auto.commit": False})
    consumer.commit(offsets=[TopicPartition("orders", 1, 110)], asynchronous=False)
    page.wait_for_selector(f"[data-lag='{before - 100}']")
    page.wait_for_selector("path[data-name=lag]")
    consumer.commit(offsets=[TopicPartition("orders", 1, 10)], asynchronous=False)
    consumer.close()


def test_transactions_and_store(tab: Watched) -> None:
    """V7."""
    page = tab.open("/transactions")
    page.wait_for_selector("text=billing-1")
    assert page.get_attribute("[data-held-back]", "data-held-back") == str(LATE + HELD)
    tab.keep("transactions")
    page = tab.open("/store")
    page.wait_for_selector("td:has-text('segments')")
    tab.keep("store")
    page.get_by_role("link", name="manifests/").click()
    page.locator("td a").first.click()
    page.wait_for_selector("pre.value")
    assert '"holdfast": "manifest"' in page.inner_text("pre.value")
    page = tab.open("/store/objects?prefix=segments/")
    page.locator("tr:has-text('orders-0') a").first.click()
    page.wait_for_selector("text=every crc is right")


def test_proof_access_and_subscriptions(tab: Watched) -> None:
    """V7."""
    page = tab.open("/topics/orders/0")
    page.get_by_role("link", name="verify").click()
    page.get_by_role("button", name="Verify").click()
    page.wait_for_selector("[data-verdict=sound]")
    assert f"{ORDERS} records" in page.inner_text("[data-verdict]")
    tab.keep("proof")
    page = tab.open("/access")
    page.get_by_label("Who").fill("User:alice")
    page.get_by_label("called").fill("orders")
    page.get_by_role("button", name="Ask").click()
    page.wait_for_selector("[data-allowed=true]")
    tab.keep("access")
    page = tab.open("/subscriptions")
    page.wait_for_selector("text=Nobody subscribes.")
    tab.keep("subscriptions")


def test_a_person_s_path(chromium: Any) -> None:
    """V3, V4, V7: from start to finish: a topic arrives, a record is found by its key, a group's lag falls; why a
    read-committed consumer stands still; the hanging transaction ended; all of it verified; a broker that is gone is
    said to be gone, until it is back."""
    port = free_port()
    with running_broker(serve_console_listen=f"127.0.0.1:{port}", console_write="true") as broker:
        conf = {"bootstrap.servers": broker.bootstrap}
        context = chromium.new_context()
        context.set_default_timeout(15_000)
        tab = Watched(context.new_page(), port)
        page = tab.open("/topics")
        page.wait_for_selector("text=There is no topic yet.")
        page.get_by_role("button", name="Make a topic").click()
        page.get_by_label("Name").fill("paid")
        page.get_by_role("dialog").get_by_role("button", name="Make a topic").click()
        page.wait_for_selector("text=topic paid made")
        page.get_by_role("button", name="Close").click()
        page.get_by_role("link", name="paid").click()
        _finds_a_record(page, conf)
        _sees_a_lag_fall(page, conf)
        page.get_by_role("link", name="Topics", exact=True).click()
        page.get_by_role("link", name="paid").click()
        hanging = _ends_what_hangs(page, conf)
        page = tab.open("/topics/paid")
        page.wait_for_selector("li[data-partition='0']")
        assert page.locator("text=stand still").count() == 0
        page.get_by_role("link", name="records").click()
        page.wait_for_selector("tr.aborted")
        page = tab.open("/proof?topic=paid")
        page.get_by_role("button", name="Verify").click()
        page.wait_for_selector("[data-verdict=sound]")
        page = tab.open("/topics/paid")
        page.get_by_role("button", name="Delete the topic").click()
        page.get_by_label("Repeat the name").fill("paid")
        page.get_by_role("dialog").get_by_role("button", name="Delete the topic").click()
        page.wait_for_selector("text=there is no topic paid")
        page = tab.open("/wal")
        page.wait_for_selector("rect.strip")
        assert [each for each in tab.wrong if "404" not in each] == []
        broker.kill()
        page.wait_for_selector("text=The broker does not answer: what is here may be old.")
        broker.start()
        page.wait_for_selector("text=does not answer", state="detached")
        context.close()
        del hanging


def _finds_a_record(page: Any, conf: dict[str, Any]) -> None:
    """On the page of a topic: produces one by a button, others as a client, and searches by a key."""
    page.get_by_role("button", name="Produce a record").click()
    page.get_by_label("Key").fill("by hand")
    page.get_by_role("dialog").get_by_label("Value").fill('{"paid": 3}')
    page.get_by_role("dialog").get_by_role("button", name="Produce a record").click()
    page.wait_for_selector("text=record paid-0@0 produced")
    page.get_by_role("button", name="Close").click()
    producer = Producer(conf)
    for number in range(20):
        producer.produce("paid", f"{number}", f"key-{number}")
    producer.flush(20)
    page.get_by_role("link", name="records").click()
    page.get_by_label("From").fill("start")
    page.get_by_label("Key").fill("key-7")
    page.get_by_role("button", name="Search").click()
    page.wait_for_url("**key=key-7**")
    page.locator("tr[data-at]").nth(1).wait_for(state="detached")
    page.wait_for_selector("tr[data-at='0@8']")
    assert page.locator("tr[data-at]").count() == 1


def _sees_a_lag_fall(page: Any, conf: dict[str, Any]) -> None:
    consumer = Consumer(conf | {"group.id": "tills", "enable.auto.commit": False})
    consumer.commit(offsets=[TopicPartition("paid", 0, 1)], asynchronous=False)
    page.get_by_role("link", name="Groups").click()
    page.get_by_role("link", name="tills").click()
    page.wait_for_selector("[data-lag='20']")
    consumer.commit(offsets=[TopicPartition("paid", 0, 21)], asynchronous=False)
    page.wait_for_selector("[data-lag='0']")
    consumer.close()


def _ends_what_hangs(page: Any, conf: dict[str, Any]) -> Producer:
    """The producer, which lives on, or its transaction would end by itself."""
    producer = Producer(conf | {"transactional.id": "hangs", "transaction.timeout.ms": 600_000})
    producer.init_transactions(20)
    producer.begin_transaction()
    producer.produce("paid", "never decided", "k")
    producer.flush(20)
    page.wait_for_selector("text=Read-committed consumers stand still")
    assert "hangs" in page.inner_text("[data-held='0']")
    page.get_by_role("link", name="Transactions").click()
    page.get_by_role("button", name="End it").click()
    page.get_by_label("Repeat the name").fill("hangs")
    page.get_by_role("dialog").get_by_role("button", name="End it").click()
    page.wait_for_selector("text=what it had open is aborted")
    page.get_by_role("button", name="Close").click()
    page.wait_for_selector("text=Ongoing", state="detached")
    return producer


def test_what_is_typed_stays_when_the_page_is_drawn_again(tab: Watched) -> None:
    """V7: when rows arrive behind a search that is being written; who goes back finds what was searched for."""
    page = tab.open("/topics/orders/records?key=asked")
    page.wait_for_selector("[data-found]")
    key = page.get_by_label("Key")
    assert key.input_value() == "asked"
    key.fill("typed")
    with page.expect_response("**/records?*"):
        page.get_by_role("button", name="Look again").click()
    page.wait_for_selector("button:enabled:has-text('Look again')")
    assert key.input_value() == "typed"
    page.get_by_role("button", name="Search").click()
    page.wait_for_url("**key=typed**")
    page.wait_for_selector("[data-found]")
    page.go_back()
    page.wait_for_url("**key=asked**")
    page.wait_for_selector("[data-found]")
    assert key.input_value() == "asked"


def test_dark_and_narrow(chromium: Any, place: Place) -> None:
    """V1: dark by preference, nothing wider than the window, a name for each control. The test of V1."""
    context = chromium.new_context(viewport={"width": 390, "height": 800}, color_scheme="dark")
    tab = Watched(context.new_page(), place.port)
    for path in PATHS:
        page = tab.open(path)
        page.wait_for_selector("main .figures, main table, main .empty")
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), path
        assert page.evaluate(NAMELESS) == 0, path
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(14, 20, 19)"
    context.close()
    assert tab.wrong == []


def test_what_is_not_there_says_so(tab: Watched) -> None:
    """V1."""
    page = tab.open("/topics?filter=nothing-like-this")
    page.wait_for_selector("text=No topic has nothing-like-this in its name.")
    tab.wrong.clear()


def test_overview(tab: Watched) -> None:
    """V7: the headline, figures with units, lines, and which broker it is. The test of V7."""
    page = tab.open("/")
    page.wait_for_selector("[data-headline]")
    assert page.inner_text("[data-headline]").startswith(f"{LATE + HELD} records wait for a transaction")
    assert page.inner_text(".where").startswith("broker 0 of cluster ")
    assert "GiB" in page.inner_text(".figure:has-text('Until producers wait') dd")
    page.wait_for_selector("path[data-name=records]")
    assert page.get_attribute("path[data-name=records]", "d").startswith("M")
    tab.keep("overview")


def test_a_login_shows_what_its_user_may_see(chromium: Any, secured: tuple[SecuredBroker, int]) -> None:
    """V2: by a form, with a password or a token; a wrong one is told so, and a logout ends it."""
    broker, port = secured
    context = chromium.new_context(ignore_https_errors=True)
    page = context.new_page()
    page.goto(f"https://127.0.0.1:{port}/topics")
    page.get_by_label("User").fill("knower")
    page.get_by_label("Password").fill("wrong")
    page.get_by_role("button", name="Log in").click()
    page.wait_for_selector("text=No user has this name and password.")
    page.get_by_label("Password").fill(broker.password("knower"))
    page.get_by_role("button", name="Log in").click()
    page.wait_for_selector("text=orders")
    assert page.locator("tbody tr").count() == 1
    assert page.locator("nav.main a").all_inner_texts() == [
        each for each in page.locator("nav.main a").all_inner_texts() if each not in ("Overview", "Write-ahead log")
    ]
    assert json.loads(page.evaluate("JSON.stringify(document.cookie)")) == ""
    page.get_by_role("button", name="log out").click()
    page.get_by_role("button", name="With a bearer token").click()
    page.get_by_label("Token").fill("wrong")
    page.get_by_role("button", name="Log in").click()
    page.wait_for_selector("text=The broker does not take this token.")
    page.get_by_label("Token").fill(new_token(600, "knower"))
    page.get_by_role("button", name="Log in").click()
    page.wait_for_selector("text=User:knower")
    context.close()
