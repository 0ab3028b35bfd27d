"""`holdfast status`: a real broker whose segment is damaged under it, and what it says of itself."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from tests.metrics.test_metrics import scrape, url

from holdfast.errors import Rejected
from holdfast.operate.status import examine
from holdfast.testing import RunningBroker, running_broker


def ask(broker: RunningBroker, *options: str) -> subprocess.CompletedProcess[str]:
    address = url(broker).removeprefix("http://").partition("/")[0]
    command = [sys.executable, "-m", "holdfast.cli", "status", address, *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_a_damaged_segment_is_seen_by_who_asks(tmp_path: Path) -> None:
    """D8, D5: the log has object and byte, the metrics count, `status` names the partition; what is sound is served."""
    settings = {"serve_metrics_listen": "127.0.0.1:0"}
    with running_broker(tmp_path, **settings) as broker:
        producer = Producer({"bootstrap.servers": broker.bootstrap})
        for number in range(10):
            producer.produce("orders", b"%d" % number, partition=0)
            producer.flush()
        producer.produce("sound", b"sound", partition=0)
        assert producer.flush(60) == 0
        well = ask(broker, "--json")
        assert (well.returncode, json.loads(well.stdout)["unwell"]) == (0, [])
        broker.stop()
    segments = [each for each in tmp_path.rglob("*.seg") if b"sound" not in each.read_bytes()]
    assert len(segments) == 1
    with running_broker(tmp_path, **settings) as broker:
        data = bytearray(segments[0].read_bytes())
        data[100] ^= 1
        segments[0].write_bytes(data)
        consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "g", "enable.auto.commit": False})
        consumer.assign([TopicPartition("orders", 0, 0)])
        consumer.poll(2)
        consumer.assign([TopicPartition("sound", 0, 0)])
        served = consumer.poll(60)
        assert (served.error(), served.value()) == (None, b"sound")
        consumer.close()
        now = scrape(broker)
        assert now.get("holdfast_partition_damaged", topic="orders", partition="0") == 1
        assert now.get("holdfast_partition_damaged", topic="sound", partition="0") == 0
        found = ask(broker, "--json")
        assert found.returncode == 1
        (row,) = json.loads(found.stdout)["unwell"]
        assert row == {"topic": "orders", "partition": 0, "state": "served", "damaged": 1}
        assert "orders" in ask(broker).stdout
        lines = [line for line in broker.said if segments[0].name in line and "the crc of bytes" in line]
        assert len(lines) == 1


def test_a_store_that_is_gone_is_not_well(tmp_path: Path) -> None:
    """D5: what is acknowledged stays in the log; who asks hears of it, and that it is over when the store is back."""
    objects, away = tmp_path / "data" / "objects", tmp_path / "away"
    with running_broker(tmp_path / "data", serve_metrics_listen="127.0.0.1:0") as broker:
        broker.topic("orders")
        assert ask(broker).returncode == 0
        objects.rename(away)
        found = until(broker, well=False)
        assert "the store has not answered for" in ask(broker).stderr
        assert found["store_away_seconds"] >= 3
        away.rename(objects)
        assert until(broker, well=True)["store_away_seconds"] == 0


def until(broker: RunningBroker, *, well: bool) -> dict[str, Any]:
    for _ in range(60):
        found: dict[str, Any] = json.loads(ask(broker, "--json").stdout)
        if found["well"] == well:
            return found
        time.sleep(0.5)
    raise AssertionError(found)


def test_nobody_there_is_one_sentence() -> None:
    """D5: and not a broker that is well."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
        command = [sys.executable, "-m", "holdfast.cli", "status", address]
        answer = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert answer.returncode == 1
    assert answer.stderr.count("\n") == 1
    assert "no metrics at" in answer.stderr


def test_what_is_not_well() -> None:
    """D5: failed, damaged and held back; anything else is well."""
    info = ("holdfast_info", {"version": "1", "cluster": "c"}, 1.0)

    def of(topic: str, partition: int, what: str, value: float) -> tuple[str, dict[str, str], float]:
        return f"holdfast_partition_{what}", {"topic": topic, "partition": str(partition)}, value

    healthy = [info, of("a", 0, "failed", 0), of("a", 0, "damaged", 0), ("holdfast_producers_held_back", {}, 0.0)]
    assert examine(healthy)["well"]
    assert not examine([*healthy, of("a", 1, "failed", 1)])["well"]
    assert not examine([*healthy, of("a", 1, "damaged", 2)])["well"]
    assert not examine([*healthy, ("holdfast_producers_held_back", {}, 1.0)])["well"]
    assert not examine([*healthy, ("holdfast_owner", {}, 0.0)])["well"]
    with pytest.raises(Rejected):
        examine([])


def test_who_owns_the_store_is_shown(tmp_path: Path) -> None:
    """D3: whether this broker does, with which claim, as which writer, and where: for people and for scripts."""
    settings = {"serve_metrics_listen": "127.0.0.1:0"}
    seen = []
    for _ in range(2):
        with running_broker(tmp_path, **settings) as broker:
            owner = json.loads(ask(broker, "--json").stdout)["owner"]
            said = ask(broker).stderr
            assert f"owns the store, claim {owner['claim']}: broker {owner['broker']}, process" in said
            assert owner["place"] in said
            broker.stop()
        seen.append(owner)
    first, second = seen
    claims = [json.loads(each.read_bytes()) for each in sorted((tmp_path / "objects" / "owner").glob("*.json"))]
    assert first["is_owner"]
    assert second["claim"] > first["claim"]
    assert second["broker"] == first["broker"]
    assert second["incarnation"] != first["incarnation"]
    assert str(tmp_path) in second["place"]
    assert any(second["incarnation"] in json.dumps(each) for each in claims), "It is the claim that is in the store."


def test_a_broker_is_well_in_one_line() -> None:
    """Health first, then what waits to be flushed and for how long, the log and the disk."""
    with running_broker(serve_metrics_listen="127.0.0.1:0", serve_disk_reserve_size=1) as broker:
        broker.topic("orders", "one" * 1000)
        done = ask(broker)
        assert done.returncode == 0
        [line] = done.stdout.splitlines()
        assert line.startswith("well; 9 of 9 partitions served; ")
        for word in ("KiB in no segment yet, the oldest for ", "write-ahead log ", "disk ", " free; ", " connection"):
            assert word in line
        told = json.loads(ask(broker, "--json").stdout)
        assert told["unflushed_bytes"] > 3000
        assert told["disk_free_bytes"] > 0
        assert (told["throttled"], told["held_back_by"]) == ({}, [])
        later = json.loads(ask(broker, "--json").stdout)
        assert later["unflushed_seconds"] >= told["unflushed_seconds"] > 0


def test_what_is_throttled_and_held_back_is_told() -> None:
    said = [
        ("holdfast_info", {}, 1.0),
        ("holdfast_producers_held_back", {}, 1.0),
        ("holdfast_producers_held_back_by", {"reason": "wal"}, 1.0),
        ("holdfast_producers_held_back_by", {"reason": "queue"}, 0.0),
        ("holdfast_throttled_total", {"quota": "producer_byte_rate"}, 3.0),
        ("holdfast_disk_free_bytes", {}, float("nan")),
    ]
    found = examine(said)
    assert (found["well"], found["held_back_by"]) == (False, ["wal"])
    assert found["throttled"] == {"producer_byte_rate": 3}
    assert found["disk_free_bytes"] is None
