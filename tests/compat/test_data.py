"""Data directories of earlier releases open: the log, metadata, manifests, segments, the internal topic of groups."""

from __future__ import annotations

import json
import shutil
from collections import defaultdict
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition

from holdfast.testing.process import RunningBroker

KEPT = sorted(path.with_suffix("") for path in Path(__file__).parent.glob("data-*.json"))


def read(bootstrap: str, partitions: set[tuple[str, int]]) -> dict[tuple[str, int], list[tuple[str, str]]]:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "check", "enable.partition.eof": True})
    consumer.assign([TopicPartition(topic, number, 0) for topic, number in partitions])
    found: dict[tuple[str, int], list[tuple[str, str]]] = defaultdict(list)
    ended = 0
    while ended < len(partitions):
        message = consumer.poll(60)
        assert message is not None, "the broker does not answer"
        if message.error() is None:
            assert message.headers()[0][0] == "number"
            found[message.topic(), message.partition()].append((message.key().decode(), message.value().decode()))
        else:
            ended += 1
    consumer.close()
    return found


@pytest.mark.parametrize("kept", KEPT, ids=lambda path: path.name)
def test_a_kept_directory_opens_and_has_everything(kept: Path, tmp_path: Path) -> None:
    """O5: every record of every codec, from segments and from the tail, in order; the group's offsets; the topics.
    The test of O5."""
    shutil.copytree(kept, tmp_path / "data")
    expected = json.loads(kept.with_suffix(".json").read_text(encoding="utf-8"))
    wanted: dict[tuple[str, int], list[tuple[str, str]]] = defaultdict(list)
    for topic, partition, key, value in expected["records"]:
        wanted[topic, partition].append((key, value))
    with RunningBroker(tmp_path / "data") as broker:
        assert read(broker.bootstrap, set(wanted)) == wanted
        consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "billing"})
        places = [TopicPartition(*each) for each in sorted(wanted)]
        committed = {f"{each.topic}-{each.partition}": each.offset for each in consumer.committed(places, 60)}
        topics = set(consumer.list_topics(timeout=60).topics)
        consumer.close()
        assert broker.stop() == 0
    assert {name: offset for name, offset in committed.items() if offset >= 0} == expected["offsets"]
    assert {"orders", "prices"} <= topics
    assert "gone" not in topics


def test_directories_are_kept() -> None:
    """O5: with segments, manifests, metadata, a log with a tail, and the topic of groups' offsets."""
    assert KEPT
    for kept in KEPT:
        assert list((kept / "wal").glob("*.wal"))
        for kind in ("segments/*/*/*.seg", "manifests/*/*/*.json", "meta/*.json", "cluster.json"):
            assert list((kept / "objects").glob(kind)), kind
