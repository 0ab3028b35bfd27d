"""Topics deleted while the store is away, or by a broker that may delete nothing there: carried on, pinning nothing."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from tests.broker.inside import InsideBroker
from tests.broker.wire import Wire, batch, create_topic, delete_topic, produce, wait_for

from holdfast.io.objects.faulty import Call, FailBefore, Fault, FaultyObjects
from holdfast.io.objects.memory import MemoryObjects
from holdfast.log.settings import LogSettings
from holdfast.protocol.api import Key
from holdfast.wal import WalSettings

MIB = 1 << 20
SMALL = LogSettings(wal_size_max=2 * MIB, segment_size_max=MIB // 4, flush_retry_ms=10, flush_retry_ms_max=100)
CHUNKS = WalSettings(chunk_size_max=MIB // 4, zero_ahead_size=0)
PIECE = bytes(64 << 10)


class Store:
    """Memory, of which a test says what fails."""

    def __init__(self) -> None:
        self.inner = MemoryObjects()
        self.fails = lambda call: False
        self.objects = FaultyObjects(self.inner, self._plan)

    def _plan(self, call: Call) -> Fault | None:
        return FailBefore() if self.fails(call) else None

    def of(self, topic_id: str) -> list[str]:
        return [each.name for each in self.inner.list("") if topic_id in each.name]


def topic_id(inside: InsideBroker, name: str) -> str:
    return inside.context.topics.get(name).topic.topic_id.hex


def produce_many(wire: Wire, topic: str, size: int) -> None:
    """More than the write-ahead log may hold."""
    for _ in range(size // len(PIECE)):
        assert produce(wire, topic, batch(PIECE)).error_code == 0


def listed(inside: InsideBroker) -> set[str]:
    return {each.name for each in inside.context.topics.metadata.topics.values()}


def test_a_topic_deleted_while_the_store_is_away_pins_nothing(tmp_path: Path) -> None:
    """D4: the metadata cannot be changed at that moment. The topic is deleted all the same; producers of others go
    far beyond the size of the write-ahead log; and when the store is back it is struck off the list and its objects
    go, without anybody asking for anything."""
    store = Store()
    with InsideBroker(tmp_path, store.objects, SMALL, wal=CHUNKS) as inside, Wire(inside.port) as wire:
        create_topic(wire, "gone")
        create_topic(wire, "stays")
        gone = topic_id(inside, "gone")
        produce_many(wire, "gone", MIB)
        wait_for(lambda: any("segments/" in each for each in store.of(gone)))
        store.fails = lambda call: call.name.startswith("meta/")
        delete_topic(wire, "gone")
        produce_many(wire, "stays", 6 * MIB)
        assert listed(inside) >= {"gone"}
        store.fails = lambda call: False
        wait_for(lambda: not store.of(gone))
        assert "gone" not in listed(inside)
        wait_for(lambda: inside.context.logs.stat().deletions.count == 0)


def test_many_topics_deleted_while_the_store_is_away_wait_for_it_together(tmp_path: Path) -> None:
    """D4: the request takes as long as one of them, and all are deleted durably."""
    store = Store()
    names = [f"gone-{number}" for number in range(20)]
    with InsideBroker(tmp_path, store.objects, SMALL, wal=CHUNKS) as inside, Wire(inside.port) as wire:
        for name in names:
            create_topic(wire, name)
        store.fails = lambda call: call.name.startswith("meta/")
        wire.socket.settimeout(25)  # One alone waits ten seconds for the list to be changed.
        topics = [{"name": name, "topic_id": None} for name in names]
        answer = wire.ask(Key.DELETE_TOPICS, 6, topics=topics, timeout_ms=5000)
        assert [(each.name, each.error_code) for each in answer.responses] == [(name, 0) for name in names]
        assert len(inside.context.logs.deleted) == len(names)


def test_a_store_that_denies_deletes_stops_nobody(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """D4, D5: nothing can be deleted for as long as the broker runs, and still not after a restart: producers go on,
    the deletion is remembered, said with its reason and counted; when it may be, it is done."""
    caplog.set_level(logging.WARNING)
    store = Store()
    with InsideBroker(tmp_path, store.objects, SMALL, wal=CHUNKS) as inside, Wire(inside.port) as wire:
        create_topic(wire, "gone")
        create_topic(wire, "stays")
        gone = topic_id(inside, "gone")
        produce_many(wire, "gone", MIB)
        wait_for(lambda: any("segments/" in each for each in store.of(gone)))
        store.fails = lambda call: call.kind == "delete"
        delete_topic(wire, "gone")
        produce_many(wire, "stays", 6 * MIB)
        found = inside.context.logs.stat().deletions
        assert (found.count, found.age_s > 0) == (1, True)
    assert [each for each in caplog.messages if "deleted" in each and "the store failed to delete" in each]
    with InsideBroker(tmp_path, store.objects, SMALL, wal=CHUNKS) as inside, Wire(inside.port) as wire:
        produce_many(wire, "stays", 6 * MIB)
        assert inside.context.logs.stat().deletions.count == 1
        assert store.of(gone)
        store.fails = lambda call: False
        wait_for(lambda: not store.of(gone))


def test_a_start_while_the_list_cannot_be_changed(tmp_path: Path) -> None:
    """D4, K6: the broker ends before the topic is struck off the list, and starts while that still fails: it serves,
    the topic stays deleted, and its name is free as soon as the store is back."""
    store = Store()
    with InsideBroker(tmp_path, store.objects, SMALL, wal=CHUNKS) as inside, Wire(inside.port) as wire:
        create_topic(wire, "gone")
        create_topic(wire, "stays")
        gone = topic_id(inside, "gone")
        store.fails = lambda call: call.name.startswith("meta/") and call.kind != "list"
        delete_topic(wire, "gone")
        produce_many(wire, "stays", 4 * MIB)
    store.fails = lambda call: call.name.startswith("meta/") and call.kind == "put_if_absent"
    with InsideBroker(tmp_path, store.objects, SMALL, wal=CHUNKS) as inside, Wire(inside.port) as wire:
        assert inside.context.topics.find("gone") is None
        produce_many(wire, "stays", 4 * MIB)
        store.fails = lambda call: False
        create_topic(wire, "gone")
        wait_for(lambda: not store.of(gone))
        assert topic_id(inside, "gone") != gone
