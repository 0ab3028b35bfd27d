"""Real brokers that each lead, and their store: all of them put into it what they are asked for; it may say nothing."""

from __future__ import annotations

import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.cluster.test_many import PATIENT, many, start, until_led_by
from tests.cluster.test_pair import Writers, led_behind_a_proxy
from tests.kill.numbers import PARTITIONS, TOPIC
from tests.support.broker_process import COMMAND
from tests.support.faulty_proxy import Fault, FaultyProxy
from tests.support.s3_server import S3Server, missing

from holdfast.catalog import open_catalog
from holdfast.client import Client
from holdfast.client.errors import NotNow
from holdfast.record.build import build
from holdfast.record.records import Record

_LEASES = ("cluster.lease_renew_ms=200", "cluster.lease_ms=1500", "cluster.takeover_ms=2500")


def in_segments(store: str) -> dict[int, int]:
    """By partition, the records of the topic that somebody sees who reads segments only."""
    catalog = open_catalog(store, topics=[TOPIC], rounds=False)
    return {where.partition: each.flushed for where, each in catalog.manifests.items()}


def write_five(client: Client) -> None:
    """To each partition; a repeat is known as one."""
    producer = client.init_producer_id()
    batch = build([Record(value=b"x")] * 5, producer_id=producer.id, producer_epoch=producer.epoch, base_sequence=0)
    client.produce({(TOPIC, number): batch for number in range(PARTITIONS)})


def test_a_flush_is_asked_of_every_leader(tmp_path: Path) -> None:
    """C1, P4: through any broker, also by an archive; what a killed leader led is asked for where it goes."""
    store, lake = str(tmp_path / "store"), str(tmp_path / "lake")
    with many(tmp_path, *PATIENT, "log.flush_age_ms_max=3600000") as cluster:
        start(cluster, 1, 2)
        cluster.make_topic()
        for number in (1, 2):
            until_led_by(cluster, number, {1, 2})
        first, waits = cluster.brokers[1].address, threading.Event()
        with (
            Client(cluster.bootstrap, patience_s=120, on_wait=lambda *_: waits.set()) as client,
            ThreadPoolExecutor() as pool,
        ):
            write_five(client)
            with Client(first, patience_s=0) as once, pytest.raises(NotNow, match="each leader is to be asked"):
                once.alter_configs(TOPIC, [("holdfast.flush", "now")])
            subprocess.run([COMMAND, "flush", TOPIC, "--bootstrap", first], check=True)
            assert in_segments(store) == dict.fromkeys(range(PARTITIONS), 5)
            write_five(client)
            archive = [COMMAND, "archive", TOPIC, lake, "--path", store, "--bootstrap", first]
            done = subprocess.run(archive, check=True, capture_output=True, text=True)
            assert f"{10 * PARTITIONS} rows added" in done.stdout
            assert in_segments(store) == dict.fromkeys(range(PARTITIONS), 10)
            write_five(client)
            cluster.brokers[2].kill()
            waits.clear()
            flushed = pool.submit(client.flush_topic, TOPIC)
            assert waits.wait(120), "it does not wait for a leader that is away"
            cluster.brokers[2].start()  # Ends the life before at once.
            flushed.result(120)
            assert in_segments(store) == dict.fromkeys(range(PARTITIONS), 15)


@pytest.mark.s3
def test_a_broker_that_stops_waits_for_no_store_that_says_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C2, C5: it says what it leaves behind, and ends; another serves all that was acknowledged."""
    if reason := missing():
        pytest.skip(reason)
    long = ("cluster.drain_ms=600000", "log.close_timeout_ms=600000", "log.flush_age_ms_max=3600000")
    with S3Server() as server, FaultyProxy(server.port) as proxy:
        server.tell(monkeypatch)
        with many(tmp_path, *_LEASES, *long, store=f"s3://{server.fresh_bucket()}") as cluster:
            monkeypatch.setenv("AWS_ENDPOINT", proxy.endpoint)
            start(cluster, 1)
            monkeypatch.setenv("AWS_ENDPOINT", server.endpoint)
            start(cluster, 2)
            cluster.make_topic()
            for number in (1, 2):
                until_led_by(cluster, number, {1, 2})
            writers, first = Writers(cluster.bootstrap), cluster.brokers[1]
            try:
                writers.more()
                proxy.plan = lambda method, path: Fault.HOLD_ANSWER
                began = time.monotonic()
                assert first.stop(120) == 0
                print(f"stopped after {time.monotonic() - began:.1f} s")
                until_led_by(cluster, 2, {2})
                writers.more()
            finally:
                writers.end()
            said = "\n".join(first.said)
            assert "are not handed over: the store does not answer. What they have acknowledged is in the store" in said
            assert "broker 1 could not say that it leaves" in said
            writers.check(cluster.brokers[2].address)


@pytest.mark.s3
def test_the_leader_of_everything_waits_for_no_store_that_says_nothing_when_it_stops(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C2, C5: as one of many does."""
    long = ("log.close_timeout_ms=600000", "log.flush_age_ms_max=3600000")
    with led_behind_a_proxy(tmp_path, monkeypatch, (*_LEASES, *long)) as (cluster, proxy):
        writers, first = Writers(cluster.bootstrap), cluster.brokers[1]
        try:
            writers.more()
            proxy.plan = lambda method, path: Fault.HOLD_ANSWER
            began = time.monotonic()
            assert first.stop(120) == 0
            print(f"stopped after {time.monotonic() - began:.1f} s")
            cluster.until(2, "broker 2 leads")
            writers.more()
        finally:
            writers.end()
        assert "are not handed over: the store does not answer" in "\n".join(first.said)
        writers.check(cluster.brokers[2].address)
