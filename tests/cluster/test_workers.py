"""`holdfast serve --workers N`: N brokers of one command, over one store."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewTopic
from tests.cluster.test_pair import Writers
from tests.kill.numbers import PARTITIONS, QUIET, TOPIC
from tests.support.broker_process import COMMAND

from holdfast import config
from holdfast.cli.serve.workers import check_workers, worker_settings
from holdfast.client import Client
from holdfast.client.errors import TopicNotFound
from holdfast.cluster.served_store import read_served
from holdfast.errors import Rejected
from holdfast.record.build import build
from holdfast.record.records import Record
from holdfast.testing import free_port


@pytest.fixture
def base() -> int:
    """Two free ports in a row."""
    while True:
        first = free_port()
        if first < 65_000 and free_port_is(first + 1):
            return first


def free_port_is(port: int) -> bool:
    with socket.socket() as found:
        return found.connect_ex(("127.0.0.1", port)) != 0


@pytest.fixture
def workers(tmp_path: Path, base: int) -> Iterator[subprocess.Popen[bytes]]:
    listen = f"127.0.0.1:{base}"
    command = [COMMAND, "serve", "--data", str(tmp_path / "data"), "--listen", listen, "--workers", "2"]
    command += ["--store", str(tmp_path / "store")]
    with subprocess.Popen([*command, "--set", "offsets.topic.num.partitions=4"]) as running:
        yield running
        if running.poll() is None:
            running.terminate()
            running.wait(30)


def brokers(base: int) -> dict[int, int]:
    """Ports by numbers, as the first tells them."""
    admin = AdminClient({**QUIET, "bootstrap.servers": f"127.0.0.1:{base}"})
    try:
        return {each.id: each.port for each in admin.list_topics(timeout=2).brokers.values()}
    except KafkaException:
        return {}


def until_there(base: int, seconds: float = 90.0) -> None:
    deadline = time.monotonic() + seconds
    while brokers(base) != {0: base, 1: base + 1}:
        assert time.monotonic() < deadline, "the workers are not there"
        time.sleep(0.1)


def test_workers_are_one_cluster_and_come_back(workers: subprocess.Popen[bytes], base: int, tmp_path: Path) -> None:
    """C9: both lead; one that is killed is started again; a signal ends all of them, cleanly. The test of C9."""
    until_there(base)
    admin = AdminClient({**QUIET, "bootstrap.servers": f"127.0.0.1:{base}"})
    admin.create_topics([NewTopic(TOPIC, PARTITIONS)])[TOPIC].result()
    found = admin.list_topics(TOPIC, timeout=10).topics[TOPIC].partitions
    assert {each.leader for each in found.values()} == {0, 1}
    bootstrap = f"127.0.0.1:{base},127.0.0.1:{base + 1}"
    writers = Writers(bootstrap)
    try:
        writers.more()
        own = f"serve.data_path={tmp_path / 'data' / 'worker-1'}"
        (killed,) = processes_with(own)
        os.kill(killed, signal.SIGKILL)
        deadline = time.monotonic() + 60
        while processes_with(own) in ([], [killed]):
            assert time.monotonic() < deadline, "a worker was not started again"
            time.sleep(0.05)
        writers.more(1000)
        until_there(base)
    finally:
        writers.end()
    writers.check(bootstrap)
    workers.send_signal(signal.SIGTERM)
    assert workers.wait(90) == 0
    assert (tmp_path / "data" / "worker-1").is_dir()
    for each in ("data", "data/worker-0", "data/worker-1"):  # Who leaves the store out is told which it is.
        assert read_served(tmp_path / each) == str(tmp_path / "store")


def test_our_own_client_writes_to_a_topic_that_it_has_just_made(workers: subprocess.Popen[bytes], base: int) -> None:
    """C8, C9, in part: also where the leader has not heard of it yet: it is asked again; nothing is there twice."""
    until_there(base)
    told: list[str] = []
    with Client(f"127.0.0.1:{base}", patience_s=30, on_wait=lambda why, _: told.append(str(why))) as client:
        for number in range(12):
            name = f"new-{number}"
            topic = client.topic(name, create=True)
            wanted = {(name, each): build([Record(None, b"v", 0)]) for each in topic.numbers}
            assert client.produce(wanted) == dict.fromkeys(wanted, 0)
        assert not told, "whoever has made a topic is told that there is none"
        with pytest.raises(TopicNotFound):
            client.produce({("absent", 0): build([Record(None, b"v", 0)])})


def processes_with(named: str) -> list[int]:
    """Those that have this in their command."""
    found = []
    for each in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if named.encode() in each.read_bytes():
                found.append(int(each.parent.name))
    return found


def test_workers_have_numbers_ports_and_folders_in_a_row() -> None:
    """C9: and share the memory that one would have."""
    settings = config.load(None, {}, ["serve.data_path=/d", "serve.listen=127.0.0.1:9100", "node.id=3"])
    own = dict(each.split("=", 1) for each in worker_settings(settings, 1, 2))
    assert own["node.id"] == "4"
    assert own["serve.listen"] == "127.0.0.1:9101"
    assert own["serve.data_path"] == "/d/worker-1"
    assert own["serve.store"] == "/d/objects"
    assert int(own["log.cache_size_max"]) == settings.log.cache_size_max // 2
    assert own["subscribe.listen"] == "none"
    given = ["subscribe.listen=SSL://127.0.0.1:9200", "subscribe.advertise=a.example:9300"]
    settings = config.load(None, {}, ["serve.listen=127.0.0.1:9100", *given])
    own = dict(each.split("=", 1) for each in worker_settings(settings, 1, 2))
    assert own["subscribe.listen"] == "SSL://127.0.0.1:9201"
    assert own["subscribe.advertise"] == "a.example:9301"


@pytest.mark.parametrize(
    ("count", "given", "said"),
    [
        (0, "serve.listen=127.0.0.1:9100", "1 to 64"),
        (2, "serve.listen=127.0.0.1:0", "ports in a row"),
        (2, "listeners=PLAINTEXT://127.0.0.1:9100", "--listen"),
    ],
)
def test_what_workers_cannot_have_is_said(count: int, given: str, said: str) -> None:
    """C9, in part."""
    with pytest.raises(Rejected, match=said):
        check_workers(config.load(None, {}, [given]), count)
