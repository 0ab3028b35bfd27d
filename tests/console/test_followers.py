"""Who follows the log from elsewhere: a subscriber, a sync both ways, an archive; and what the doctor has left."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

import pytest
from confluent_kafka import Producer
from tests.console.asking import Asked
from tests.console.browser import Watched, browser

from holdfast.cluster.reports import Report
from holdfast.cluster.sync_points import decode_sync_point
from holdfast.console.followers import archived_behind
from holdfast.console.pages.proof import facts_seen
from holdfast.console.survey import ShownTopic
from holdfast.io.clock import SystemClock
from holdfast.io.turns import Pace
from holdfast.testing import RunningBroker, free_port, running_broker

PAGE = "/subscriptions"


class FollowedPlace(NamedTuple):
    """A broker with a console, and another that is kept equal to it."""

    broker: RunningBroker
    other: RunningBroker
    asked: Asked
    metrics: int


@contextmanager
def running(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A command of ours, until the block ends."""
    command = [sys.executable, "-m", "holdfast", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(60)


def write(broker: RunningBroker, topic: str, count: int) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    for number in range(count):
        producer.produce(topic, f"{number}", partition=0)
    producer.flush(20)


@pytest.fixture(scope="module")
def place() -> Iterator[FollowedPlace]:
    port, metrics, subscribers = free_port(), free_port(), free_port()
    settings: dict[str, Any] = {
        "console_sync_metrics": f"127.0.0.1:{metrics}",
        "subscribe_listen": f"127.0.0.1:{subscribers}",
    }
    with running_broker(serve_console_listen=f"127.0.0.1:{port}", **settings) as broker, running_broker() as other:
        write(broker, "orders", 20)
        write(other, "stock", 30)
        options = (
            "--both",
            "--topics",
            "orders",
            "--topics",
            "stock",
            "--metrics",
            f"127.0.0.1:{metrics}",
            "--save-interval",
            "0.3",
        )
        address = f"127.0.0.1:{subscribers}"
        with (
            running("sync", other.bootstrap, broker.bootstrap, *options),
            running("subscribe", "orders", "--address", address, "--since", "earliest", "--follow"),
        ):
            yield FollowedPlace(broker, other, Asked(port), metrics)


def test_a_subscription_says_whose_it_is_and_how_far_behind(place: FollowedPlace) -> None:
    """V6."""
    place.asked.wait_for(PAGE, lambda page: page["open"] == 1 and page["rows"][0]["partitions"])
    [row] = place.asked.page(PAGE)["rows"]
    assert (row["who"], row["host"], row["topics"], row["partitions"]) == ("User:ANONYMOUS", "127.0.0.1", ["orders"], 1)
    place.asked.wait_for(PAGE, lambda page: page["rows"][0]["lag"] == 0)


def test_a_sync_is_seen_by_its_checkpoints_and_both_ways_by_its_metrics(place: FollowedPlace) -> None:
    """V6: what writes here has left its checkpoints here; the other way is known from the sync itself."""
    place.asked.wait_for(PAGE, lambda page: {"stock": 0}.items() <= _lags(page).items())
    [stock] = [each for each in place.asked.page(PAGE)["checkpoints"] if each["topic"] == "stock"]
    assert (stock["partitions"], len(stock["source"]) > 8) == (1, True)
    ways = (
        f"{place.other.bootstrap} → {place.broker.bootstrap}",
        f"{place.broker.bootstrap} → {place.other.bootstrap}",
    )
    copied = {(ways[0], "stock"): 30, (ways[1], "orders"): 20}
    place.asked.wait_for(PAGE, lambda page: copied.items() <= _copied(page).items())
    place.asked.wait_for(PAGE, lambda page: all(each["checkpoints"] and _is_equal(each) for each in _ways(page)))
    for each in _ways(place.asked.page(PAGE)):
        assert (each["errors"], each["last_checkpoint_s"] > 1e9) == (0, True)
    write(place.other, "stock", 5)
    place.asked.wait_for(PAGE, lambda page: _copied(page).get((ways[0], "stock")) == 35)


def _lags(page: Any) -> dict[str, int]:
    return {each["topic"]: each["lag"] for each in page["checkpoints"]}


def _ways(page: Any) -> list[Any]:
    return [each for sync in page["syncs"] for each in sync["directions"]]


def _is_equal(way: Any) -> bool:
    return all(topic["lag"] == 0 for topic in way["topics"])


def _copied(page: Any) -> dict[tuple[str, str], int]:
    return {(way["direction"], each["topic"]): each["records"] for way in _ways(page) for each in way["topics"]}


def test_an_archive_is_seen_with_what_it_has_yet_to_take(place: FollowedPlace, tmp_path: Path) -> None:
    """V6: its last run, and exactly so many offsets behind as were written since; a run that failed says why."""
    write(place.broker, "paid", 20)
    target, data = str(tmp_path / "archive"), str(place.broker.data)
    command = ["archive", "paid", target, "--path", data, "--master", "none", "--bootstrap", place.broker.bootstrap]
    subprocess.run([sys.executable, "-m", "holdfast", *command, "--report"], check=True, capture_output=True)
    place.asked.wait_for(PAGE, lambda page: page["archives"])
    [row] = place.asked.page(PAGE)["archives"]
    assert (row["target"], row["topics"], row["lag"], row["is_good"]) == (target, ["paid"], 0, True)
    assert row["said"].startswith("20 rows added")
    write(place.broker, "paid", 7)
    place.asked.wait_for(PAGE, lambda page: page["archives"][0]["lag"] == 7)
    schema = tmp_path / "s.avsc"
    schema.write_text('{"type": "record", "name": "r", "fields": [{"name": "n", "type": "long"}]}')
    bad = [*command, "--value-format", "json", "--value-schema", str(schema), "--report"]
    assert subprocess.run([sys.executable, "-m", "holdfast", *bad], capture_output=True).returncode == 1
    place.asked.wait_for(PAGE, lambda page: not page["archives"][0]["is_good"])
    assert place.asked.page(PAGE)["archives"][0]["lag"] == 7


def test_the_doctor_s_findings_are_on_proof(place: FollowedPlace) -> None:
    """V6: each with what to do; ports that the broker itself has are no fault."""
    settings = {"HOLDFAST_SERVE_LISTEN": place.broker.bootstrap, "HOLDFAST_SERVE_DATA_PATH": str(place.broker.data)}
    doctor = [sys.executable, "-m", "holdfast", "doctor", "--report"]
    subprocess.run(doctor, check=True, capture_output=True, env={**os.environ, **settings})
    [row] = [each for each in place.asked.page("/proof/reports")["rows"] if each["kind"] == "doctor"]
    assert row["is_good"]
    assert {"python", "disk sync", "free space", "store"} <= row["facts"].keys()
    assert row["facts"]["Kafka port"][:2] == [
        "ok",
        f"{place.broker.bootstrap} is taken: a broker runs on this data directory",
    ]


def test_all_of_them_in_a_browser(place: FollowedPlace) -> None:
    """V7."""
    with browser() as chromium:
        tab = Watched(chromium.new_context().new_page(), place.asked.port)
        page = tab.open(PAGE)
        page.wait_for_selector("[data-subscribed='0']")
        page.wait_for_selector("[data-synced=stock]")
        assert page.locator("[data-direction]").count() >= 2
        page.wait_for_selector("[data-archived]")
        tab.keep("followers")
        page = tab.open("/proof")
        page.wait_for_selector("[data-finding='disk sync']")
        tab.keep("doctor")
        assert tab.wrong == []


def test_a_sync_that_is_gone_is_said_to_be_gone() -> None:
    """V6: and what is no checkpoint is none."""
    port, nobody = free_port(), free_port()
    with running_broker(serve_console_listen=f"127.0.0.1:{port}", console_sync_metrics=f"127.0.0.1:{nobody}"):
        page = Asked(port).page(PAGE)
        assert "does not answer" in page["syncs"][0]["why"]
        assert (page["checkpoints"], page["archives"], page["rows"]) == ([], [], [])
    assert decode_sync_point(b"{", b"{}") is None
    assert decode_sync_point(b'{"from": "a"}', None) is None
    assert decode_sync_point(b"[" * 100_000, b"1") is None


def test_topics_that_may_not_be_described_are_in_no_report() -> None:
    """V2: neither of an archive, nor of an audit."""
    topic_id = UUID(int=7)
    archived = Report(
        "archive", 0, is_good=True, said="", host="", facts={"next": {f"{topic_id.hex}/0": 5, "no/name": 1}}
    )
    topics = {topic_id: ShownTopic("hidden", topic_id, {}, ())}
    behind = archived_behind(archived, topics, lambda _: False, Pace(SystemClock().monotonic))
    assert asyncio.run(behind) == ({}, 1)
    audited = Report("audit", 0, is_good=True, said="", host="", facts={"hidden-0": [1], "seen-1": [2]})
    assert facts_seen(audited, lambda topic: topic == "seen") == {"seen-1": [2]}
