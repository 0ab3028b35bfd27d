"""The guide to fail-over, done: on purpose, and because A is gone."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

from tests.sync.consuming import PARTITIONS, consume
from tests.sync.process import SyncProcess
from tests.sync.sides import read_topic, write

from holdfast.client import Client
from holdfast.record.records import Record
from holdfast.testing import RunningBroker, running_broker

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "fail-over.md"
TOPIC, GROUP = "orders", "shipping"
KEEP = {"log_retention_ms": -1}


def orders(name: str, count: int) -> dict[int, list[Record]]:
    return {
        partition: [Record(None, f"{name}-{partition}-{number}".encode(), 1) for number in range(count)]
        for partition in range(PARTITIONS)
    }


def write_all(broker: RunningBroker, made: dict[int, list[Record]]) -> set[bytes]:
    """Each is acknowledged; their values."""
    with Client(broker.bootstrap, "writer") as client:
        for partition, records in made.items():
            write(client, TOPIC, partition, records)
    return {record.value or b"" for records in made.values() for record in records}


def held(broker: RunningBroker) -> Counter[bytes]:
    with Client(broker.bootstrap, "reader") as client:
        return Counter(each.seen.value or b"" for part in read_topic(client, TOPIC) for each in part)


def make_topic(broker: RunningBroker) -> None:
    with Client(broker.bootstrap, "maker") as client:
        client.create_topics({TOPIC: PARTITIONS})


def as_in_the_guide(a: RunningBroker, b: RunningBroker) -> list[str]:
    """The commands of its blocks, with real addresses."""
    text = GUIDE.read_text().replace("a.example:9092", a.bootstrap).replace("b.example:9092", b.bootstrap)
    return re.findall(r"^(holdfast .*)$", "".join(re.findall(r"^```sh\n(.*?)^```", text, re.M | re.S)), re.M)


def run(command: str) -> str:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("HOLDFAST_")}
    surroundings = clean | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    done = subprocess.run(command.split(), capture_output=True, text=True, timeout=120, env=surroundings)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_on_purpose_nothing_is_lost_and_nothing_read_twice() -> None:
    """S8: the guide's commands, with a sync that ran before, and a group that had read a part."""
    with running_broker(**KEEP) as a, running_broker(**KEEP) as b:
        make_topic(a)
        running, once, lag = as_in_the_guide(a, b)
        assert (running.split()[1], once.split()[1], lag.split()[1:3]) == ("sync", "sync", ["group", "offsets"])
        sync = SyncProcess(*running.split()[2:4], "--both")
        try:
            written = write_all(a, orders("first", 400))
            sync.wait_for("records", 1)
            before = consume(a.bootstrap, TOPIC, GROUP, 700)
            written |= write_all(a, orders("last", 100))
            assert sync.stop() == 0
        finally:
            if sync.is_running:
                sync.kill()
        run(once)
        assert GROUP in run(lag) or TOPIC in run(lag)
        a.stop()
        written |= write_all(b, orders("at-b", 50))
        after = consume(b.bootstrap, TOPIC, GROUP, None)
        assert set(before) | set(after) == written, "a record was never read"
        assert len(before) + len(after) == len(written), "a record was read twice"


def test_when_a_is_gone_nothing_is_lost_and_only_what_was_not_committed_is_read_again(tmp_path: Path) -> None:
    """S8: A is killed with records that B does not have yet; B goes on; when A is back, each record is there once."""
    with running_broker(data=tmp_path / "a", **KEEP) as a, running_broker(**KEEP) as b:
        make_topic(a)
        written = write_all(a, orders("first", 400))
        sync = SyncProcess(a.bootstrap, b.bootstrap, "--both", "--save-interval", "0.5")
        try:
            sync.wait_for("records", len(written))
            carried = consume(a.bootstrap, TOPIC, GROUP, 600)
            looks = len(sync.looks)
            while len(sync.looks) < looks + 8:  # Lines come once a second and direction: checkpoints have been made.
                sync.wait_for("records", len(written))
            sync.kill()  # So that there is something that only A has.
            written |= write_all(a, orders("last", 100))
            a.kill()
            sync = SyncProcess(a.bootstrap, b.bootstrap, "--both", "--save-interval", "0.5")
            at_b = write_all(b, orders("at-b", 50))
            after = consume(b.bootstrap, TOPIC, GROUP, None)
            first = {value for value in written if value.startswith(b"first")}
            assert set(carried) | set(after) == first | at_b, "a record that B has was never read"
            assert not set(carried) & set(after), "what was committed, and carried, is read again"
            a.start()
            sync.wait_for("records", 3 * 100)
            rest = consume(b.bootstrap, TOPIC, GROUP, None)
            assert sync.stop() == 0
        finally:
            if sync.is_running:
                sync.kill()
        assert sorted(rest) == sorted(written - first), "what only A had is read at B, each record once"
        assert held(a) == held(b) == Counter(written | at_b)
