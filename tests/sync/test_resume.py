"""Checkpoints: when they are saved, and what a sync does that finds an old one, or none."""

from __future__ import annotations

import struct

import pytest
from crc32c import crc32c
from tests.sync.conftest import Pair
from tests.sync.process import Live, SyncProcess
from tests.sync.sides import assert_equal, numbered, read_topic, write

from holdfast.client import LATEST, Client, ClientSettings
from holdfast.client.errors import ProducerFenced, TopicNotFound
from holdfast.coordinator.transaction.transaction import EPOCH_MAX
from holdfast.io.chance import SystemChance
from holdfast.io.clock import ManualClock, SystemClock
from holdfast.record.build import build
from holdfast.record.layout import HEADER_SIZE, LENGTH_END
from holdfast.record.records import Record
from holdfast.sync.carry.lane import CopyLane
from holdfast.sync.errors import TakenOver
from holdfast.sync.run import Sync
from holdfast.sync.settings import SyncSettings
from holdfast.sync.sides import meet_both
from holdfast.sync.state.checkpoint import SyncPoint, make_topic, read_all
from holdfast.sync.state.fence import UNUSED_EPOCHS, begin_writing, writer_id
from holdfast.sync.state.saving import Saver
from holdfast.sync.takeover import make_lanes
from holdfast.sync.topics import plan
from holdfast.types import ClusterPartition


def checkpoints(pair: Pair, topic: str) -> dict[int, SyncPoint]:
    """What is saved of a topic at B, by partition."""
    cluster_id, topic_id = pair.at_a.metadata([]).cluster_id, pair.at_a.topic(topic).id
    assert cluster_id is not None
    try:
        saved = read_all(pair.at_b, cluster_id)
    except TopicNotFound:
        return {}
    return {home.partition: each.point for home, each in saved.items() if home.topic_id == topic_id}


def end(pair: Pair, topic: str) -> int:
    return pair.at_b.list_offsets({(topic, 0): LATEST})[topic, 0].offset


def test_the_first_save_is_after_a_whole_interval() -> None:
    """S8: a checkpoint is due one interval after the start, and one interval after each save."""
    clock = ManualClock()
    saver = Saver(5.0, clock)
    clock.advance(4.999)
    assert not saver.is_due()
    clock.advance(0.001)
    assert saver.is_due()
    saver.save([], None)  # type: ignore[arg-type]  # There is nothing to save, and nobody to send it to.
    assert not saver.is_due()
    clock.advance(5)
    assert saver.is_due()


def test_saved_after_an_interval_and_at_a_clean_stop(pair: Pair, topic: str) -> None:
    """S8: nothing is saved before the first interval is over; a clean stop saves at once, exactly."""
    pair.at_a.create_topics({topic: 1})
    write(pair.at_a, topic, 0, numbered("first", 300))
    sync = SyncProcess(*pair.addresses, "--topics", topic, "--save-interval", "600")
    sync.wait_for("records", 300)
    assert checkpoints(pair, topic) == {}
    assert sync.stop() == 0, sync.said
    assert checkpoints(pair, topic)[0].position == 300
    assert checkpoints(pair, topic)[0].target_offset == end(pair, topic)


def test_killed_before_anything_was_saved(pair: Pair, topic: str) -> None:
    """S8: without a checkpoint, what is applied is found in the target, and nothing doubles; nor is it lost unnoticed
    later, by a sync that has written nothing itself."""
    pair.at_a.create_topics({topic: 1})
    write(pair.at_a, topic, 0, numbered("first", 3000))
    sync = SyncProcess(*pair.addresses, "--topics", topic, "--save-interval", "600")
    sync.wait_for("records", 3000)
    sync.kill()
    assert run_once(pair, topic).look()[0].counts.records == 0
    last = read_topic(pair.at_b, topic)[0][-1]
    assert checkpoints(pair, topic)[0].copy == (last.offset, last.hops[0].offset) == (last.offset, 2999)
    write(pair.at_a, topic, 0, numbered("second", 500))
    again = SyncProcess(*pair.addresses, "--topics", topic, "--once")
    assert again.wait() == 0, again.said
    assert again.looks[-1]["records"] == 500
    assert_equal(read_topic(pair.at_a, topic), read_topic(pair.at_b, topic))


def test_killed_after_a_checkpoint(pair: Pair, topic: str) -> None:
    """S8: a checkpoint is saved on a timer; what was applied after it is found behind it, and is skipped."""
    pair.at_a.create_topics({topic: 1})
    write(pair.at_a, topic, 0, numbered("first", 1000))
    sync = SyncProcess(*pair.addresses, "--topics", topic, "--save-interval", "0.2")
    sync.wait_for("records", 1000)
    sync.wait_for("checkpoints", sync.looks[-1]["checkpoints"] + 2)
    sync.kill()
    saved = checkpoints(pair, topic)[0]
    assert saved.position == 1000
    write(pair.at_a, topic, 0, numbered("second", 1000))
    sync = SyncProcess(*pair.addresses, "--topics", topic, "--save-interval", "600")
    sync.wait_for("records", 1000)
    sync.kill()
    assert checkpoints(pair, topic)[0] == saved
    write(pair.at_a, topic, 0, numbered("third", 10))
    assert run_once(pair, topic).look()[0].counts.records == 10
    assert_equal(read_topic(pair.at_a, topic), read_topic(pair.at_b, topic))


def run_once(pair: Pair, topic: str) -> Sync:
    sync = Sync(*pair.addresses, SyncSettings(patterns=(topic,), once=True, give_up_s=60))
    sync.run()
    return sync


def test_a_second_sync_shuts_out_the_first(pair: Pair, topic: str) -> None:
    """S8: two syncs of one direction never both write; the older one says why it stops."""
    pair.at_a.create_topics({topic: 1})
    write(pair.at_a, topic, 0, numbered("first", 100))
    first = Sync(*pair.addresses, SyncSettings(patterns=(topic,)))
    thread = Live(first)
    while first.look()[0].counts.records < 100:
        thread.join(0.02)
    run_once(pair, topic)
    write(pair.at_a, topic, 0, numbered("second", 100))
    thread.join(60)
    assert isinstance(thread.failure, TakenOver)
    run_once(pair, topic)
    assert_equal(read_topic(pair.at_a, topic), read_topic(pair.at_b, topic))


def test_what_a_dead_sync_had_on_its_way_is_refused(pair: Pair, topic: str) -> None:
    """S8: a batch of an earlier writer that arrives after a new one has looked is refused, in every partition."""
    made = pair.at_a.create_topics({topic: 2})
    pair.at_b.create_topics({topic: 2})
    topic_id, cluster_id = made[topic].id, pair.at_a.metadata([]).cluster_id
    assert topic_id is not None
    assert cluster_id is not None
    run_once(pair, topic)
    dead = begin_writing(pair.at_b, writer_id(cluster_id, topic_id), topic, range(2))
    run_once(pair, topic)
    for where in ((topic, 0), (topic, 1), ("__holdfast_sync", 0)):
        numbers = {"producer_id": dead.producer.id, "producer_epoch": dead.producer.epoch, "base_sequence": 0}
        with pytest.raises(ProducerFenced):
            pair.at_b.produce({where: build([Record(b"late", b"late", 1)], **numbers)})  # type: ignore[arg-type]


def test_the_last_epochs_only_shut_out(pair: Pair, topic: str) -> None:
    """S8: before a producer id runs out of epochs its writers are shut out: the markers of the next id would not."""
    pair.at_b.create_topics({topic: 1})
    make_topic(pair.at_b)
    old = begin_writing(pair.at_b, topic, topic, [0])
    last = range(old.producer.epoch + 1, old.producer.epoch + 4)
    new = begin_writing(pair.at_b, topic, topic, [0], last)
    assert new.producer == (old.producer.id, last.stop), "where the ids go on, the next one"
    assert pair.at_b.producers([(topic, 0)])[topic, 0][old.producer.id] == last.stop
    numbers = {"producer_id": old.producer.id, "producer_epoch": old.producer.epoch, "base_sequence": 0}
    with pytest.raises(ProducerFenced):
        pair.at_b.produce({(topic, 0): build([Record(b"late", b"late", 1)], **numbers)})  # type: ignore[arg-type]
    assert UNUSED_EPOCHS.stop == EPOCH_MAX + 1


def test_lanes_that_only_meet_echoes_are_saved_behind_the_target(pair: Pair, topic: str) -> None:
    """S8: a direction that writes nothing still knows from where on the target has to be searched."""
    pair.at_a.create_topics({topic: 1})
    settings = SyncSettings(patterns=(topic,), once=True, both=True)
    for round_ in range(2):
        write(pair.at_a, topic, 0, numbered(f"round-{round_}", 400))
        Sync(*pair.addresses, settings).run()
    Sync(*pair.addresses, settings).run()  # The way back may have ended before the way there had written all.
    cluster_id, topic_id = pair.at_b.metadata([]).cluster_id, pair.at_b.topic(topic).id
    assert cluster_id is not None
    assert topic_id is not None
    saved = read_all(pair.at_a, cluster_id)[ClusterPartition(cluster_id, topic_id, 0)]
    assert saved.point.target_offset >= 800
    assert saved.point.echoed >= 799


def make_one_lane(pair: Pair, topic: str) -> CopyLane:
    """The only lane of a topic, as a direction begins with it."""
    settings = SyncSettings(patterns=(topic,))
    first, second = map(ClientSettings.at, pair.addresses)
    sides = meet_both(first, second, SystemClock(), SystemChance())
    [lane] = make_lanes(plan(pair.at_a, pair.at_b, settings.chosen), sides, pair.at_b, settings, (), {}, {})
    lane.resume(pair.at_a, pair.at_b)
    return lane


def abort_one(client: Client, topic: str) -> None:
    """A transaction that leaves nothing to be copied."""
    producer = client.init_producer_id(topic)
    numbers = {"producer_id": producer.id, "producer_epoch": producer.epoch, "base_sequence": 0}
    client.add_partitions(topic, producer, [(topic, 0)])
    batch = build([Record(b"k", b"aborted", 1)], transactional=True, **numbers)  # type: ignore[arg-type]
    client.produce({(topic, 0): batch}, transactional_id=topic)
    client.end_txn(topic, producer, commit=False)


def test_a_save_after_a_lost_answer_does_not_hide_what_was_written(pair: Pair, topic: str) -> None:
    """S8: a batch that was written though its answer never came lies behind the saved point, so nothing doubles."""
    pair.at_a.create_topics({topic: 1})
    lane, saver = make_one_lane(pair, topic), Saver(5.0, SystemClock())
    saver.save([lane], pair.at_b)
    abort_one(pair.at_a, topic)
    assert list(lane.pieces(pair.at_a.fetch({lane.where: 0})[lane.where], pair.at_a)) == []
    write(pair.at_a, topic, 0, numbered("first", 10))
    flow = lane.pieces(pair.at_a.fetch({lane.where: lane.point.position})[lane.where], pair.at_a)
    pair.at_b.produce({lane.where: next(flow).batch})
    flow.close()  # As a worker does whose connection is lost.
    saver.save([lane], pair.at_b)
    assert make_one_lane(pair, topic).applied == pair.at_a.list_offsets({lane.where: LATEST})[lane.where].offset


def test_a_batch_that_compaction_has_emptied(pair: Pair, topic: str) -> None:
    """S8: Apache Kafka keeps the header of a producer's last batch when none of its records is left: it is passed."""
    pair.at_a.create_topics({topic: 1})
    write(pair.at_a, topic, 0, numbered("first", 10))
    lane = make_one_lane(pair, topic)
    fetched = pair.at_a.fetch({lane.where: 0})[lane.where]
    emptied = bytearray(fetched.records[:HEADER_SIZE])
    struct.pack_into(">i", emptied, 8, HEADER_SIZE - LENGTH_END)
    struct.pack_into(">i", emptied, HEADER_SIZE - 4, 0)
    struct.pack_into(">I", emptied, 17, crc32c(emptied[21:]))
    assert list(lane.pieces(fetched._replace(records=memoryview(emptied)), pair.at_a)) == []
    assert lane.point.position == 10
