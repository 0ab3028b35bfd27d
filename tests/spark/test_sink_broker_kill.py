"""The broker killed inside a commit: the sink goes on when it is back, and the result is exact."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.spark.sink_parts import commit, read_committed, rows, stage
from tests.spark.sink_proxy import KafkaProxy, Passing
from tests.support.broker_process import BrokerProcess

from holdfast.client import Client
from holdfast.io.objects.memory import MemoryBucket, MemoryObjects
from holdfast.io.objects.open import open_objects
from holdfast.protocol.api import Key
from holdfast.spark.sink.commit_record import BatchKey, BatchMemory
from holdfast.spark.sink.staging import Job
from holdfast.testing import free_port

MOMENTS = [
    Passing(Key.ADD_PARTITIONS_TO_TXN, is_answer=True),
    Passing(Key.PRODUCE, is_answer=False),
    Passing(Key.PRODUCE, is_answer=True),
    Passing(Key.TXN_OFFSET_COMMIT, is_answer=True),
    Passing(Key.END_TXN, is_answer=False),
    Passing(Key.END_TXN, is_answer=True),
]


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[BrokerProcess, KafkaProxy, str]]:
    port = free_port()
    options = ("--advertise", f"127.0.0.1:{port}")
    with BrokerProcess(tmp_path / "data", port=free_port(), options=options) as broker:
        proxy = KafkaProxy(("127.0.0.1", broker.port), port)
        yield broker, proxy, f"127.0.0.1:{port}"
        proxy.close()


def test_a_broker_killed_at_any_moment_of_a_commit(served: tuple[BrokerProcess, KafkaProxy, str]) -> None:
    """P3: whatever the request that it dies with, each row is there once when the commit returns."""
    broker, proxy, address = served

    def restart() -> None:
        broker.kill()
        broker.start()

    objects = MemoryObjects(MemoryBucket(), "staging")
    with Client(address) as client:
        client.create_topics({"t": 2})
        for batch, moment in enumerate(MOMENTS):
            staged = stage(client, objects, Job("s", str(batch)), rows(10 * batch, 10 * batch + 10), topic="t")
            proxy.arm(moment, restart)
            memory = BatchMemory("s", BatchKey("q", "r", batch))
            assert commit(client, objects, "s").run(staged, memory).is_new
            assert not commit(client, objects, "s").run(staged, memory).is_new
    found = sorted(int(each.value()[1:]) for each in read_committed(address, "t", 2))
    assert found == list(range(10 * len(MOMENTS)))


@pytest.mark.s3
def test_staging_in_a_bucket(served: tuple[Any, Any, str], s3_store: tuple[str, dict[str, Any]]) -> None:
    """P3: what was staged in S3 is committed, and swept."""
    from holdfast.spark.sink.staging_sweep import sweep_job

    address = served[2]
    objects = open_objects(*s3_store)
    with Client(address) as client:
        client.create_topics({"t": 2})
        job = Job("s", "0")
        staged = stage(client, objects, job, rows(0, 10), topic="t")
        assert commit(client, objects, "s").run(staged, None).record_count == 10
    assert sweep_job(objects, job) == 1
    assert len(read_committed(address, "t", 2)) == 10
