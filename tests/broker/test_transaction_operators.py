"""What operators see of transactions, what they can do about them, and what a restart leaves of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.broker.test_transaction_offsets import fetched
from tests.broker.transactor import Transactor, committed, uncommitted
from tests.broker.wire import Wire, create_topic, fetch, wait_for
from tests.support.broker_process import BrokerProcess
from tests.support.guarded import Guarded

from holdfast.coordinator.runtime.internal_topic import partition_of
from holdfast.protocol.api import Key


def described(wire: Wire, transactional_id: str) -> Any:
    [found] = wire.ask(Key.DESCRIBE_TRANSACTIONS, 0, transactional_ids=[transactional_id]).transaction_states
    return found


def listed(wire: Wire, version: int = 2, **filters: Any) -> Any:
    return wire.ask(Key.LIST_TRANSACTIONS, version, **{"state_filters": [], "producer_id_filters": [], **filters})


def names(answer: Any, topic: str) -> list[str]:
    return sorted(
        each.transactional_id for each in answer.transaction_states if each.transactional_id.startswith(topic)
    )


def test_what_a_transaction_is_doing(wire: Wire, topic: str) -> None:
    """K4: its state, its producer, since when, and where."""
    create_topic(wire, topic, 2)
    producer = Transactor(wire, topic, implicit=True, timeout_ms=54_321)
    assert described(wire, topic).error_code == 105
    assert producer.init() == 0
    found = described(wire, topic)
    assert (found.transaction_state, found.transaction_timeout_ms, found.topics) == ("Empty", 54_321, [])
    assert found.transaction_start_time_ms == -1
    producer.write(topic, b"a", partition=1)
    producer.write(topic, b"a", partition=0)
    found = described(wire, topic)
    assert (found.error_code, found.transaction_state) == (0, "Ongoing")
    assert (found.producer_id, found.producer_epoch) == (producer.producer_id, producer.epoch)
    assert [(each.topic, each.partitions) for each in found.topics] == [(topic, [0, 1])]
    assert found.transaction_start_time_ms > 0
    assert producer.end(commit=True) == 0
    assert described(wire, topic).transaction_state == "CompleteCommit"


def test_the_list_of_transactions(wire: Wire, topic: str) -> None:
    """K4: by state, producer id, duration and pattern; states that do not exist are told."""
    create_topic(wire, topic)
    producers = [Transactor(wire, f"{topic}-{number}", implicit=True) for number in range(3)]
    for each in producers:
        assert each.init() == 0
    for each in producers[:2]:
        each.write(topic, b"x")
    assert producers[0].end(commit=False) == 0
    assert names(listed(wire), topic) == [each.id for each in producers]
    assert names(listed(wire, state_filters=["Ongoing"]), topic) == [producers[1].id]
    assert names(listed(wire, state_filters=["Empty", "CompleteAbort"]), topic) == [producers[0].id, producers[2].id]
    odd = listed(wire, state_filters=["Odd"])
    assert (odd.error_code, odd.unknown_state_filters, odd.transaction_states) == (0, ["Odd"], [])
    assert names(listed(wire, producer_id_filters=[producers[2].producer_id]), topic) == [producers[2].id]
    assert names(listed(wire, duration_filter=3_600_000), topic) == []
    wait_for(lambda: names(listed(wire, duration_filter=1, state_filters=["Ongoing"]), topic) == [producers[1].id])
    assert names(listed(wire, transactional_id_pattern=f"{topic}-[01]"), topic) == [each.id for each in producers[:2]]
    assert names(listed(wire, transactional_id_pattern="-1"), topic) == [], "a pattern is for the whole id"
    assert listed(wire, transactional_id_pattern="(").error_code == 128
    assert names(listed(wire, 0), topic) == [each.id for each in producers]
    assert producers[1].end(commit=False) == 0


def markers(wire: Wire, topic: str, producer: Transactor, *, coordinator: int, partition: int = 0, lag: int = 0) -> int:
    marker = {
        "producer_id": producer.producer_id,
        "producer_epoch": producer.epoch - lag,
        "transaction_result": False,
        "topics": [{"name": topic, "partition_indexes": [partition]}],
        "coordinator_epoch": coordinator,
    }
    [found] = wire.ask(Key.WRITE_TXN_MARKERS, 1, markers=[marker]).markers
    code: int = found.topics[0].partitions[0].error_code
    return code


def test_an_operator_ends_a_transaction(wire: Wire, topic: str) -> None:
    """K4: where nobody else would; what is too old ends nothing."""
    create_topic(wire, topic)
    producer = Transactor(wire, topic, implicit=True)
    assert producer.init() == 0
    producer.write(topic, b"x")
    assert producer.end(commit=False) == 0
    producer.write(topic, b"y")
    assert markers(wire, topic, producer, coordinator=-1) == 48, "from an older coordinator"
    assert markers(wire, topic, producer, coordinator=1, lag=1) == 47, "for an older epoch"
    assert fetch(wire, topic, isolation_level=1).last_stable_offset == 2
    assert markers(wire, topic, producer, coordinator=1) == 0
    assert fetch(wire, topic, isolation_level=1).last_stable_offset == 4
    assert markers(wire, topic, producer, coordinator=1) == 0, "a repeated marker is harmless"
    assert markers(wire, "absent", producer, coordinator=1) == 3
    assert committed(wire, topic) == []


@pytest.mark.parametrize("implicit", [False, True], ids=["explicit", "implicit"])
def test_a_coordinator_that_somebody_made_up_shuts_nobody_out(wire: Wire, topic: str, implicit: bool) -> None:
    """K4, A2: a marker by hand never outranks the real coordinator: what that commits afterwards can be read."""
    create_topic(wire, topic)
    producer = Transactor(wire, topic, implicit=implicit)
    assert producer.init() == 0
    highest = 2**31 - 1
    assert markers(wire, topic, producer, coordinator=highest) == 0, "the partition has not heard of it before"
    for value in (b"first", b"second"):
        producer.write(topic, value)
        assert producer.end(commit=True) == 0
        assert markers(wire, topic, producer, coordinator=highest) == 0, "nothing is open"
    producer.write(topic, b"ended by hand")
    assert markers(wire, topic, producer, coordinator=highest) == 0
    assert producer.end(commit=False) == 0
    producer.write(topic, b"third")
    assert producer.end(commit=True) == 0
    assert committed(wire, topic) == [b"first", b"second", b"third"]
    found = fetch(wire, topic, isolation_level=1)
    assert found.last_stable_offset == found.high_watermark


def test_markers_of_nobody_are_refused(wire: Wire, topic: str) -> None:
    """K4: without an epoch, without a producer, and in internal topics where anybody could write them."""
    create_topic(wire, topic)
    producer = Transactor(wire, topic, implicit=True)
    assert producer.init() == 0
    assert markers(wire, topic, producer, coordinator=1, lag=producer.epoch + 1) == 47
    assert markers(wire, topic, Transactor(wire, topic, implicit=True), coordinator=1, lag=-1) == 47
    for internal in ("__consumer_offsets", "__transaction_state"):
        assert markers(wire, internal, producer, coordinator=1) == 17
    assert fetch(wire, topic).high_watermark == 0


def test_an_operator_ends_a_groups_offsets(tmp_path: Path) -> None:
    """K4: offsets that a hanging transaction has left undecided, by whoever the authorizer lets do it; and only
    offsets, of all that is internal."""
    place = Guarded(tmp_path)
    with place.process, Wire(place.plain) as wire:
        create_topic(wire, "t")
        producer = Transactor(wire, "t", implicit=True)
        assert producer.init() == 0
        assert producer.commit_offset("g", "t", 5) == 0
        assert fetched(wire, "g", "t") == (-1, 88)
        offsets = partition_of("g", 4)
        assert markers(wire, "__consumer_offsets", producer, coordinator=1, partition=offsets) == 0
        assert fetched(wire, "g", "t") == (-1, 0)
        assert markers(wire, "__transaction_state", producer, coordinator=1) == 17


def test_the_coordinator_is_found(wire: Wire, broker: BrokerProcess) -> None:
    """K4: FindCoordinator for a transactional id."""
    answer = wire.ask(Key.FIND_COORDINATOR, 4, key_type=1, coordinator_keys=["x"])
    assert [(each.error_code, each.port) for each in answer.coordinators] == [(0, broker.port)]


@pytest.mark.parametrize("implicit", [False, True], ids=["explicit", "implicit"])
def test_a_kill_leaves_an_open_transaction_open(own_broker: Callable[..., BrokerProcess], implicit: bool) -> None:
    """K4, A8: its producer can end it, with all that was acknowledged; what nobody ends is aborted in its time, also if
    that has passed while the broker was away."""
    process = own_broker()
    with Wire(process.port) as wire:
        create_topic(wire, "t", 2)
        alive = Transactor(wire, "alive", implicit=implicit)
        dead = Transactor(wire, "dead", implicit=implicit, timeout_ms=300)
        assert (alive.init(), dead.init()) == (0, 0)
        alive.write("t", b"a")
        dead.write("t", b"dead", partition=1)
        if not implicit:
            assert alive.add_offsets("g") == 0
        assert alive.commit_offset("g", "t", 5) == 0
    process.kill()
    process.start()
    with Wire(process.port) as wire:
        alive.wire = dead.wire = wire
        wait_for(lambda: described(wire, "dead").transaction_state == "CompleteAbort")
        assert (committed(wire, "t", 1), uncommitted(wire, "t", 1)) == ([], [b"dead"])
        assert dead.end(commit=True) == 90  # The newer way may still abort, and go on.
        assert fetched(wire, "g", "t") == (-1, 88)
        assert alive.send("t", b"b").error_code == 0
        assert alive.end(commit=True) == 0
        assert committed(wire, "t") == [b"a", b"b"]
        assert fetched(wire, "g", "t") == (5, 0)
    process.kill()
    process.start()
    with Wire(process.port) as wire:
        alive.wire = wire
        assert (committed(wire, "t"), fetched(wire, "g", "t")) == ([b"a", b"b"], (5, 0))
        assert alive.end(commit=True, epoch=alive.epoch - implicit) == 0, "a repeat, from before the kill"
        assert described(wire, "dead").transaction_state == "CompleteAbort"
