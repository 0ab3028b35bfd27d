"""Metrics: a real broker under traffic, scraped by a real parser. What is documented is shown, and nothing else."""

from __future__ import annotations

import contextlib
import re
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import NamedTuple
from urllib.error import HTTPError

import pytest
from confluent_kafka import Consumer, Producer
from prometheus_client.openmetrics.parser import text_string_to_metric_families as open_families
from prometheus_client.parser import text_string_to_metric_families as plain_families
from tests.support.ports import ports_of

from holdfast.client import Client
from holdfast.errors import HoldfastError
from holdfast.metrics.catalog import METRICS, exposed
from holdfast.record.build import build
from holdfast.record.records import Record
from holdfast.testing import RunningBroker, running_broker

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "metrics.md"
COUNT = 50
READ = 20


class Scrape(NamedTuple):
    """The samples of one scrape."""

    samples: dict[str, dict[tuple[tuple[str, str], ...], float]]

    def get(self, name: str, **labels: str) -> float:
        return self.samples[name][tuple(sorted(labels.items()))]


def url(broker: RunningBroker) -> str:
    [said] = [line for line in broker.said if "holdfast: metrics at " in line]
    return said.rpartition(" ")[2]


def ask(broker: RunningBroker, accept: str = "", path: str = "", method: str = "GET") -> str:
    request = urllib.request.Request(url(broker) + path, headers={"Accept": accept}, method=method)
    with urllib.request.urlopen(request, timeout=60) as answer:
        text: str = answer.read().decode()
        return text


def scrape(broker: RunningBroker) -> Scrape:
    found: dict[str, dict[tuple[tuple[str, str], ...], float]] = {}
    for family in plain_families(ask(broker)):
        for sample in family.samples:
            found.setdefault(sample.name, {})[tuple(sorted(sample.labels.items()))] = sample.value
    return Scrape(found)


@contextmanager
def subscribed(broker: RunningBroker) -> Iterator[None]:
    """A subscriber, in a process of its own: what is flushed it reads from the store, what comes then it is sent."""
    [said] = [line for line in broker.said if "subscribers at " in line]
    command = [sys.executable, "-m", "holdfast.cli", "subscribe", "orders*", "--since", "earliest"]
    words = [*command, "--follow", "--address", said.rpartition(" ")[2]]
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as subscriber:
        try:
            assert subscriber.stdout is not None
            assert len(list(islice(subscriber.stdout, COUNT))) == COUNT
            producer.produce("orders-2", b"one")
            assert producer.flush(60) == 0
            assert subscriber.stdout.readline()
            yield
        finally:
            subscriber.kill()


@pytest.fixture(scope="module")
def broker() -> Iterator[RunningBroker]:
    """A broker that has written, flushed, read from all places but a slow store, has a group that lags behind and a
    subscriber that does not."""
    small = {"log_flush_age_ms_max": 1, "log_retention_check_ms": 100, "subscribe_listen": "127.0.0.1:0"}
    with running_broker(serve_metrics_listen="127.0.0.1:0", **small) as broker:
        producer = Producer({"bootstrap.servers": broker.bootstrap})
        for number in range(COUNT):
            producer.produce("orders", b"%d" % number)
        assert producer.flush(60) == 0
        consumer = Consumer(
            {
                "bootstrap.servers": broker.bootstrap,
                "group.id": "billing",
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
            }
        )
        consumer.subscribe(["orders"])
        last = None
        for _ in range(READ):
            last = consumer.poll(60)
            assert last is not None
            assert last.error() is None
        consumer.commit(last, asynchronous=False)
        copier = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": "copier"})
        copier.init_transactions(60)
        for end in (copier.commit_transaction, copier.abort_transaction):
            copier.begin_transaction()
            copier.produce("copies", b"one")
            assert copier.flush(60) == 0
            end(60)
        while scrape(broker).get("holdfast_partition_flushed", topic="orders", partition="0") < COUNT:
            consumer.poll(0.05)  # The flusher looks ten times a second.
        with subscribed(broker):
            yield broker
        consumer.close()


def test_every_metric_is_shown_and_no_other(broker: RunningBroker) -> None:
    """A6: reads by place among them."""
    documented = {name for metric in METRICS for name in exposed(metric)}
    shown = {name for name in scrape(broker).samples if not name.endswith("_created")}
    assert shown == documented


def test_the_page_lists_every_metric_with_its_labels(broker: RunningBroker) -> None:
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \| ([^|]*) \| ([^|]+) \|$", PAGE.read_text(), re.MULTILINE)
    listed = [(name, kind, tuple(re.findall(r"`(\w+)`", labels)), meaning) for name, kind, labels, meaning in rows]
    assert listed == [(exposed(each)[0].removesuffix("_bucket"), *each[1:]) for each in METRICS]


def test_what_is_in_the_write_ahead_log_gets_durable(broker: RunningBroker) -> None:
    """A6: the two positions meet as soon as nobody writes; a commit may be under way at the first look."""
    deadline = time.monotonic() + 60
    while (now := scrape(broker)).get("holdfast_wal_durable_position") < now.get("holdfast_wal_end_position"):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert now.get("holdfast_wal_durable_position") == now.get("holdfast_wal_end_position")


def test_the_figures_are_those_of_the_traffic(broker: RunningBroker) -> None:
    now = scrape(broker)
    place = {"topic": "orders", "partition": "0"}
    assert now.get("holdfast_partition_log_end", **place) == COUNT
    assert now.get("holdfast_partition_high_watermark", **place) == COUNT
    assert now.get("holdfast_partition_flushed", **place) == COUNT
    assert now.get("holdfast_partition_segments", **place) >= 1
    assert now.get("holdfast_group_committed_offset", group="billing", **place) == READ
    assert now.get("holdfast_group_lag_records", group="billing", **place) == COUNT - READ
    assert now.get("holdfast_requests_total", api="Produce") >= 1
    assert now.get("holdfast_request_seconds_count", api="Produce") == now.get("holdfast_requests_total", api="Produce")
    assert now.get("holdfast_request_bytes_total", api="Produce") > COUNT
    assert now.get("holdfast_response_bytes_total", api="Fetch") > COUNT
    assert now.get("holdfast_connections") >= 2
    assert now.get("holdfast_fsync_seconds_count") >= now.get("holdfast_wal_rounds_total") > 0
    assert now.get("holdfast_wal_durable_position") > COUNT
    assert now.get("holdfast_store_seconds_count", operation="put", kind="segments") >= 1
    assert now.get("holdfast_store_failures_total", operation="put", kind="segments") == 0
    assert now.get("process_open_fds") > 5
    assert now.get("holdfast_flushes_total") >= 1
    assert now.get("holdfast_flushed_bytes_total") >= COUNT
    assert now.get("holdfast_group_members", group="billing") == 1
    assert now.get("holdfast_subscriptions") == 1
    assert now.get("holdfast_subscription_events_total") == 1
    assert now.get("holdfast_subscription_bytes_total") > 1
    assert now.get("holdfast_subscription_lag_records") == 0
    assert now.get("holdfast_transactions_total", outcome="CompleteCommit") == 1
    assert now.get("holdfast_transactions_total", outcome="CompleteAbort") == 1


def test_a_reader_that_knows_openmetrics_gets_it(broker: RunningBroker) -> None:
    text = ask(broker, accept="application/openmetrics-text; version=1.0.0")
    assert text.endswith("# EOF\n")
    assert {family.name for family in open_families(text)} == {metric.name for metric in METRICS}


def test_counters_only_grow_and_a_later_scrape_shows_later_figures(broker: RunningBroker) -> None:
    before = scrape(broker)
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    producer.produce("later", b"one")
    assert producer.flush(60) == 0
    after = scrape(broker)
    assert after.get("holdfast_partition_log_end", topic="later", partition="0") == 1
    for metric in (each for each in METRICS if each.kind == "counter"):
        for labels, value in before.samples[exposed(metric)[0]].items():
            assert after.samples[exposed(metric)[0]][labels] >= value, metric.name


@pytest.mark.parametrize(("path", "method", "code"), [("/other", "GET", 404), ("", "POST", 405)])
def test_everything_else_is_refused(broker: RunningBroker, path: str, method: str, code: int) -> None:
    with pytest.raises(HTTPError) as caught:
        ask(broker, path=path, method=method)
    assert caught.value.code == code


@pytest.mark.parametrize("sent", [b"x" * 100_000, b"\r\n\r\n", b"\xff\x00 /metrics\r\n\r\n"])
def test_garbage_ends_its_own_connection_and_nothing_else(broker: RunningBroker, sent: bytes) -> None:
    """K7: on this port, too."""
    host, _, port = url(broker).removeprefix("http://").removesuffix("/metrics").partition(":")
    with socket.create_connection((host, int(port)), 60) as connection, contextlib.suppress(ConnectionError):
        connection.sendall(sent)
        while answer := connection.recv(65_536):
            assert b" 200 OK" not in answer
    assert scrape(broker).get("holdfast_connections") >= 1


def test_without_an_address_there_is_no_port(holdfast_broker: RunningBroker) -> None:
    assert not [line for line in holdfast_broker.said if "metrics" in line]
    assert ports_of(holdfast_broker.pid) == {holdfast_broker.port}


def test_errors_are_counted_by_api_and_code() -> None:
    """What clients were told, of an API in messages, of Produce and of Fetch, which are not."""
    with running_broker(serve_metrics_listen="127.0.0.1:0", auto_create_topics_enable=False) as broker:
        broker.topic("orders", "one")
        with Client(broker.bootstrap, follow_leaders=False, patience_s=0) as client:
            for ask in (
                lambda: client.create_topics({"orders": 1}),
                lambda: client.produce({("orders", 7): bytes(build([Record(None, b"x")]))}),
                lambda: client.produce({("orders", 7): bytes(build([Record(None, b"x")]))}),
            ):
                with pytest.raises(HoldfastError):
                    ask()
            assert client.fetch({("orders", 0): 99})["orders", 0].error is not None
        told = scrape(broker)
        assert told.get("holdfast_errors_total", api="CreateTopics", code="TOPIC_ALREADY_EXISTS") == 1
        assert told.get("holdfast_errors_total", api="Produce", code="UNKNOWN_TOPIC_OR_PARTITION") == 2
        assert told.get("holdfast_errors_total", api="Fetch", code="OFFSET_OUT_OF_RANGE") == 1
