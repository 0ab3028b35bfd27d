"""Real processes whose write-ahead log is in the store: killed, their directories removed, and begun elsewhere."""

from __future__ import annotations

import shutil
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic
from tests.kill.numbers import PARTITIONS, QUIET, TOPIC, History, produce, read_all
from tests.support.broker_process import BrokerProcess
from tests.support.s3_server import S3Server, missing

from holdfast.testing import free_port
from holdfast.testing.process import BrokerDidNotStart

LIVES = 2
SETTINGS = ("wal.place=store", "wal.interval_ms=5", "log.owner_check_ms=200")


@pytest.fixture(params=["a directory", pytest.param("S3", marks=pytest.mark.s3)])
def store(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    if request.param == "a directory":
        yield str(tmp_path / "store")
        return
    if reason := missing():
        pytest.skip(reason)
    with S3Server() as server:
        server.tell(monkeypatch)
        yield f"s3://{server.fresh_bucket()}"


def a_broker(data: Path, store: str, port: int) -> BrokerProcess:
    return BrokerProcess(data, port=port, settings=(*SETTINGS, f"serve.store={store}"))


def test_all_that_was_acknowledged_is_there_after_the_machine_is_lost(store: str, tmp_path: Path) -> None:
    """C4, for one broker: kill -9 under load, its directory removed, the next one begins with nothing."""
    port, history, stop = free_port(), History(), threading.Event()
    writers = []
    for life in range(LIVES):
        data = tmp_path / f"machine-{life}"
        with a_broker(data, store, port) as broker:
            if life == 0:
                admin = AdminClient({**QUIET, "bootstrap.servers": broker.address})
                admin.create_topics([NewTopic(TOPIC, PARTITIONS)])[TOPIC].result()
                writers = [
                    threading.Thread(target=produce, args=(number, broker.address, history, stop))
                    for number in range(2)
                ]
                for writer in writers:
                    writer.start()
            before = len(history.acked)
            deadline = time.monotonic() + 60
            while len(history.acked) < before + 500:
                assert time.monotonic() < deadline, f"life {life}: nothing is acknowledged any more"
                time.sleep(0.02)
            broker.kill()
        shutil.rmtree(data)
    with a_broker(tmp_path / "last", store, port) as broker:
        stop.set()
        for writer in writers:
            writer.join()
        found = read_all(broker.address)
    assert not history.refused
    assert not history.problems
    assert len(history.acked) > 500 * LIVES
    for (number, at), (partition, offset) in history.acked.items():
        assert found[partition][offset] == f"{number}:{at}", "An acknowledged record was lost."
    for records in found:
        assert len(set(records)) == len(records), "A record is there twice."
        for number in range(2):
            order = [int(each.partition(":")[2]) for each in records if each.startswith(f"{number}:")]
            assert order == sorted(order), "Records are in another order."


def test_a_second_broker_on_the_same_store_stops_nobody(tmp_path: Path) -> None:
    """C3: it is refused while the first one lives, and goes on in its place when that is stopped for good."""
    store, port = str(tmp_path / "store"), free_port()
    with a_broker(tmp_path / "one", store, port) as first:
        second = a_broker(tmp_path / "two", store, 0)
        with pytest.raises(BrokerDidNotStart, match=r"is running .* share a store with --cluster") as refused, second:
            pass
        assert "copy" not in str(refused.value), "Its data directory is its own."
        admin = AdminClient({**QUIET, "bootstrap.servers": first.address})
        admin.create_topics([NewTopic("t", 1)])["t"].result()
        first.signal(signal.SIGSTOP)
        with a_broker(tmp_path / "three", store, 0) as third:
            asker = AdminClient({**QUIET, "bootstrap.servers": third.address})
            assert "t" in asker.list_topics(timeout=20).topics
            first.signal(signal.SIGCONT)
            assert first.wait(30) != 0, "It goes on although another has taken over."
