"""Wrote the data directories below tests/compat/data-<version>. They are kept for ever, and never written again.

A release that changes what lies in a data directory gets a new folder: run this with the release's `holdfast`, and
commit what it wrote.

    .venv/bin/python tests/compat/write_data.py data-2 .venv/bin/holdfast
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

SETTINGS = ("wal.chunk_size_max=16384", "wal.zero_ahead_size=1024", "offsets.topic.num.partitions=1")


class Broker:
    """A `holdfast serve` of any release."""

    def __init__(self, command: list[str], data: Path) -> None:
        options = [word for setting in SETTINGS for word in ("--set", setting)]
        self._process = subprocess.Popen(
            [*command, "serve", "--data", str(data), "--listen", "127.0.0.1:0", *options],
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self._process.stderr is not None
        said = next(line for line in self._process.stderr if "Kafka clients at" in line)
        self.bootstrap = f"127.0.0.1:{int(said.rstrip().rpartition(':')[2])}"

    def end(self, *, kill: bool = False) -> None:
        self._process.kill() if kill else self._process.terminate()
        self._process.wait(60)


def produce(bootstrap: str, part: str) -> list[tuple[str, int, str, str]]:
    """Records of all codecs, with keys and headers, and of an idempotent producer; what was written."""
    written = []
    for number, codec in enumerate(["none", "gzip", "snappy", "lz4", "zstd"]):
        options = {"bootstrap.servers": bootstrap, "compression.codec": codec, "enable.idempotence": codec == "lz4"}
        producer = Producer(options)
        for topic, partition in (("orders", 0), ("orders", 1), ("prices", 0)):
            for count in range(3):
                key, value = f"key-{count}", f"{part} {codec} {count} " * 20
                producer.produce(topic, value, key, partition, headers=[("number", b"%d" % number)])
                written.append((topic, partition, key, value))
        assert producer.flush(60) == 0
    return written


def commit(bootstrap: str) -> dict[str, int]:
    """Offsets of a group."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "billing"})
    consumer.commit(offsets=[TopicPartition("orders", 0, 7), TopicPartition("orders", 1, 4)], asynchronous=False)
    consumer.close()
    return {"orders-0": 7, "orders-1": 4}


def fill(command: list[str], data: Path) -> dict[str, Any]:
    """Three lives: two clean ones, so that there are segments, and one that is killed, so that there is a tail."""
    broker = Broker(command, data)
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    topics = [NewTopic("orders", 2, 1), NewTopic("prices", 1, 1, config={"cleanup.policy": "compact"})]
    for made in admin.create_topics([*topics, NewTopic("gone", 1, 1)]).values():
        made.result(60)
    for deleted in admin.delete_topics(["gone"]).values():
        deleted.result(60)
    written = produce(broker.bootstrap, "first")
    broker.end()
    broker = Broker(command, data)
    written += produce(broker.bootstrap, "second")
    offsets = commit(broker.bootstrap)
    broker.end()
    broker = Broker(command, data)
    written += produce(broker.bootstrap, "tail")
    broker.end(kill=True)
    return {"records": written, "offsets": offsets}


def main() -> None:
    folder = Path(__file__).parent / sys.argv[1]
    if folder.exists():
        sys.exit(f"{folder} is there already, and is never written again")
    with tempfile.TemporaryDirectory() as place:
        data = Path(place) / "data"
        expected = fill(sys.argv[2:], data)
        shutil.copytree(data, folder, ignore=shutil.ignore_patterns("LOCK", ".unfinished", "RESERVE"))
    folder.with_suffix(".json").write_text(json.dumps(expected, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
