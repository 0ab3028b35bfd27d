"""A store is copied while brokers of a cluster run on it: the copy serves what was acknowledged when all are lost."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.catalog.left import TOPIC, UNFLUSHED, Left, fresh_url, write
from tests.cluster.test_many import MANY, PATIENT, many, start
from tests.support.broker_process import COMMAND, BrokerProcess
from tests.support.s3_server import S3Server, missing

from holdfast.catalog import open_catalog, read_topic
from holdfast.client import Client
from holdfast.record.batch import split
from holdfast.record.records import read_records
from holdfast.testing.process import BrokerDidNotStart
from holdfast.types import TopicPartition

# Those before are taken for dead soon, and nobody else is on a machine that is busy.
CALM = ("cluster.lease_renew_ms=200", "cluster.lease_ms=5000", "cluster.takeover_ms=7000")


@pytest.fixture(params=["a directory", pytest.param("S3", marks=pytest.mark.s3)])
def stores(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[str, str]]:
    """Where a cluster is, and where its backup is restored to."""
    if request.param == "a directory":
        yield str(tmp_path / "store"), str(tmp_path / "again")
        return
    if reason := missing():
        pytest.skip(reason)
    with S3Server() as server:
        server.tell(monkeypatch)
        yield fresh_url(server), fresh_url(server)


def run(*words: str) -> None:
    subprocess.run([COMMAND, *words], check=True)


def test_a_restored_cluster_has_what_was_acknowledged(stores: tuple[str, str], tmp_path: Path) -> None:
    """C4: a copy made while two brokers lead and most is only in rounds; both are lost with their disks and their
    store, and a new one serves every record that was acknowledged before the copy began. One that is
    no member is refused."""
    store, again = stores
    left, copy = Left(store), str(tmp_path / "copy")
    with many(tmp_path, *PATIENT, *UNFLUSHED, store=store) as cluster:
        start(cluster, 1, 2)
        write(left, cluster)
        run("backup", store, copy)
        for number in (1, 2):
            cluster.lose(number)
    run("restore", copy, str(tmp_path / "data"), "--store", again)
    for committed, wanted in ((True, left.committed), (False, left.everything)):
        found = read_topic(open_catalog(again), TOPIC, committed=committed, columns=["partition", "offset", "value"])
        rows = [tuple(row.values()) for batch in found for row in batch.to_pylist()]
        assert rows == [(number, *each) for number, records in wanted.items() for each in records]
    alone = BrokerProcess(
        tmp_path / "alone",
        settings=("subscribe.listen=none", f"serve.store={again}"),
        options=["--wal-place", "store", "--take-over"],
    )
    with pytest.raises(BrokerDidNotStart, match=r"with --cluster --set cluster\.leaders=many"):
        alone.start()  # Who leads alone would not know whose tails are whose.
    settings = (*CALM, *MANY, "subscribe.listen=none", f"serve.store={again}", "node.id=1")
    with (
        BrokerProcess(tmp_path / "new", settings=settings, options=["--cluster"]) as broker,
        Client(broker.address, patience_s=120) as client,
    ):
        for number, records in left.everything.items():
            assert served(client, number, len(records)) == records


def served(client: Client, partition: int, count: int) -> list[tuple[int, bytes | None]]:
    """The records of a partition, as the broker gives them, markers left out."""
    found: list[tuple[int, bytes | None]] = []
    where, at, deadline = TopicPartition(TOPIC, partition), 0, time.monotonic() + 120
    while len(found) < count:
        assert time.monotonic() < deadline, f"{len(found)} of {count} are served"
        fetched = client.fetch({where: at}, committed=False)[where]
        for header, batch in split(fetched.records):
            records = [] if header.is_control else enumerate(read_records(batch), header.base_offset)
            found += [(offset, each.value) for offset, each in records]
            at = header.end_offset
    return found
