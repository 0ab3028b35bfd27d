"""Brokers of three are replaced by another release, one by one, while clients write and read."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from pathlib import Path
from typing import Self

import pytest
from confluent_kafka import Consumer, KafkaError, TopicPartition
from tests.cluster.test_many import PATIENT, many, start, until_led_by, wait_until
from tests.cluster.test_pair import SEVERAL, Cluster, Writers
from tests.kill.numbers import PARTITIONS, TOPIC, group_settings
from tests.support.broker_process import COMMAND
from typer.testing import CliRunner

import holdfast
from holdfast.cli.main import app
from holdfast.client import Client
from holdfast.cluster.level import LEVEL
from holdfast.testing.process import BrokerDidNotStart

NEXT = LEVEL + 1
SLOWLY = {"queue.buffering.max.messages": 200, "linger.ms": 50}  # Most of the time goes by while brokers start.


def next_release(folder: Path) -> Path:
    """What runs here, with its machine code, and one file that is another: it knows one level more."""
    [source] = map(Path, holdfast.__path__)
    own = source / "cluster" / "level.py"
    link_all(source, folder / "holdfast", source / "cluster")
    link_all(source / "cluster", folder / "holdfast" / "cluster", own)
    text, line = own.read_text(), f"\nLEVEL: Final[int] = {LEVEL}"
    assert text.count(line) == 1
    (folder / "holdfast" / "cluster" / "level.py").write_text(text.replace(line, f"\nLEVEL: Final[int] = {NEXT}"))
    return folder


def link_all(source: Path, target: Path, but: Path) -> None:
    """A folder with what another has, but for one thing, and for what was compiled."""
    target.mkdir(parents=True)
    for each in source.iterdir():
        if each != but and each.name != "__pycache__":
            (target / each.name).symlink_to(each)


def run(cluster: Cluster, number: int, release: Path | None) -> None:
    """Start a broker of another release, or of this one."""
    cluster.brokers[number] = cluster.made(number, release=release)
    cluster.brokers[number].start()
    cluster.until(number, f"broker {number} leads with", 60)


def replace(cluster: Cluster, number: int, release: Path | None) -> None:
    assert cluster.brokers[number].stop(60) == 0
    run(cluster, number, release)


def upgrade(store: Path) -> tuple[int, str]:
    """The command, as this release has it: its exit code, and what it says."""
    done = CliRunner().invoke(app, ["cluster", "upgrade", str(store)])
    return done.exit_code, done.stderr.strip()


class GroupReader:
    """A member of a group under way: how far it has read, and what it was told was wrong."""

    def __init__(self, bootstrap: str) -> None:
        own = {"enable.auto.commit": True, "auto.commit.interval.ms": 200, "error_cb": self._told}
        self._settings = group_settings(bootstrap, "readers", "consumer") | SEVERAL
        self._consumer = Consumer(self._settings | own)
        self._ends = [0] * PARTITIONS
        self._stop = threading.Event()
        self.problems: list[str] = []
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    def _told(self, error: KafkaError) -> None:
        """The rest, such as a connection that is gone, librdkafka settles by itself."""
        if error.fatal():
            self.problems.append(str(error))

    def _read(self) -> None:
        self._consumer.subscribe([TOPIC])
        while not self._stop.is_set():
            for message in self._consumer.consume(1000, 0.1):
                if message.error() is not None:
                    self.problems.append(str(message.error()))
                    continue
                partition, offset = message.partition(), message.offset()
                if offset > self._ends[partition]:
                    self.problems.append(f"{partition}: offset {offset} is read where {self._ends[partition]} is next")
                self._ends[partition] = max(self._ends[partition], offset + 1)
        self._consumer.close()

    def check(self, ends: list[int]) -> None:
        """It reads so far and no further; then it leaves, and all of it is committed."""
        wait_until(lambda: self._ends == ends or bool(self.problems), f"it reads up to {self._ends}, not {ends}", 60)
        self.end()
        assert not self.problems
        asking = Consumer(self._settings)
        found = asking.committed([TopicPartition(TOPIC, each) for each in range(PARTITIONS)], timeout=60)
        asking.close()
        assert [each.offset for each in found] == ends

    def end(self) -> None:
        self._stop.set()
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()


def test_brokers_are_replaced_by_the_next_release_under_load(tmp_path: Path) -> None:
    """C11: one by one, and no error reaches a client. The level goes up when the last one knows it, and not before.

    From then on the release before is refused; until then it may come back. The test of C11.
    """
    store, newer = tmp_path / "store", next_release(tmp_path / "newer")
    with many(tmp_path, *PATIENT, "wal.interval_ms=50") as cluster:
        start(cluster, 1, 2)
        run(cluster, 3, newer)
        cluster.until_known()
        cluster.make_topic()
        with GroupReader(cluster.bootstrap) as reader:
            writers = Writers(cluster.bootstrap, SLOWLY)
            try:
                check_back(cluster, store)
                for number in (1, 2, 3):
                    writers.more()
                    replace(cluster, number, newer)
                check_raised(store, newer)
                check_refused(cluster)
                with Client(cluster.bootstrap) as client:
                    client.create_topics({"later": 3})  # Something new is written, and all of them read it.
                for number in (1, 2, 3):
                    until_led_by(cluster, number, {1, 2, 3}, topic="later")
                writers.more()
            finally:
                writers.end()
            reader.check([len(each) for each in writers.check(cluster.bootstrap)])


def check_back(cluster: Cluster, store: Path) -> None:
    """Two are behind the third, which goes back: nothing was written that its release does not know."""
    code, said = upgrade(store)
    assert code == 1
    assert f"is at level {LEVEL}, which is the highest that all 3 brokers know: some know level {NEXT}, and " in said
    assert f"broker 1 knows up to level {LEVEL}; broker 2 knows up to level {LEVEL}; replace these" in said
    replace(cluster, 3, None)
    code, said = upgrade(store)
    assert code == 0
    assert said.endswith(f"is at level {LEVEL}, which is the highest that all 3 brokers know")


def check_raised(store: Path, newer: Path) -> None:
    """By the command of a release that knows the level."""
    code, said = upgrade(store)
    assert code == 1
    assert f"all 3 brokers know level {NEXT}, and this command knows up to level {LEVEL}" in said
    command = [COMMAND, "cluster", "upgrade", store, "--json"]
    told = subprocess.run(command, env=os.environ | {"PYTHONPATH": str(newer)}, capture_output=True, check=True)
    found = json.loads(told.stdout)
    assert (found["before"], found["level"], found["behind"]) == (LEVEL, NEXT, [])


def check_refused(cluster: Cluster) -> None:
    """This release does not start any more, and says why."""
    before = cluster.made(4)
    with pytest.raises(
        BrokerDidNotStart, match=r"has format version \d+; this release knows up to \d+: use a newer one"
    ):
        before.start()
    assert before.wait() == 1
    assert "Traceback" not in "\n".join(before.said)
