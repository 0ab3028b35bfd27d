"""A record that the target does not take: its partition waits, all others go on; or it is set aside."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable

import pytest
from tests.sync.conftest import Pair
from tests.sync.process import Live
from tests.sync.sides import numbered, read_partition, read_topic, write
from tests.sync.test_resume import abort_one, make_one_lane

from holdfast.client import Client
from holdfast.io.clock import SystemClock
from holdfast.record.batch import split
from holdfast.record.records import Record, read_records
from holdfast.sync.carry.aside import WHY_KEY
from holdfast.sync.carry.lane import CopyLane
from holdfast.sync.errors import RecordTooLarge
from holdfast.sync.origin.mark import MARK_KEY
from holdfast.sync.run import Sync
from holdfast.sync.settings import SyncSettings
from holdfast.sync.state.saving import Saver

SMALL = {"max.message.bytes": "2000"}
LARGE = Record(b"large", bytes(3000), 1_700_000_000_000)


def wait_until(what: Callable[[], object], timeout_s: float = 30) -> None:
    deadline = threading.Event()
    for _ in range(int(timeout_s / 0.05)):
        if what():
            return
        deadline.wait(0.05)
    raise AssertionError("it did not come to pass")


def values(client: Client, topic: str, partition: int = 0) -> list[bytes | None]:
    return [each.seen.value for each in read_partition(client, topic, partition)]


def refusing(pair: Pair, topic: str, partitions: int = 2) -> None:
    """A topic whose copy takes less: partition 0 has a record in its middle that does not fit."""
    pair.at_a.create_topics({topic: partitions})
    pair.at_b.create_topics({topic: partitions}, SMALL)
    write(pair.at_a, topic, 0, [*numbered("before", 20), LARGE, *numbered("behind", 20)])


def test_only_its_partition_waits(pair: Pair, topic: str) -> None:
    """S8: what comes before the record is copied, other partitions and topics go on; the sentence names record and
    limit, and when the limit is raised the partition goes on by itself, with nothing lost and nothing twice."""
    refusing(pair, topic)
    pair.at_a.create_topics({f"{topic}-other": 1})
    sync = Sync(*pair.addresses, SyncSettings(patterns=(f"{topic}*",), refresh_s=0.2, save_interval_s=0.2))
    live = Live(sync)
    try:
        wait_until(lambda: sync.look()[0].held)
        [(where, why)] = sync.look()[0].held.items()
        assert where == f"{topic}-0"
        assert f"{topic}-0: the record at offset 20 takes up to" in why
        assert "the target takes 2000: raise the topic's max.message.bytes there" in why
        for name, partition in ((topic, 1), (f"{topic}-other", 0)):
            write(pair.at_a, name, partition, numbered("later", 10))
            wait_until(lambda at=(name, partition): len(values(pair.at_b, *at)) == 10)
        assert values(pair.at_b, topic) == [each.value for each in numbered("before", 20)]
        pair.at_b.alter_configs(topic, [("max.message.bytes", "100000")])
        wait_until(lambda: not sync.look()[0].held and len(values(pair.at_b, topic)) == 41)
    finally:
        live.stop()
    assert values(pair.at_b, topic) == values(pair.at_a, topic)


def test_a_restart_while_a_partition_waits(pair: Pair, topic: str) -> None:
    """S8: what was copied before the record is found again, and written once."""
    refusing(pair, topic)
    for _ in range(2):
        with pytest.raises(RecordTooLarge, match=r"at offset 20 .* max.message.bytes"):
            Sync(*pair.addresses, SyncSettings(patterns=(topic,), once=True)).run()
    assert values(pair.at_b, topic) == [each.value for each in numbered("before", 20)]
    pair.at_b.alter_configs(topic, [("max.message.bytes", "100000")])
    Sync(*pair.addresses, SyncSettings(patterns=(topic,), once=True)).run()
    assert values(pair.at_b, topic) == values(pair.at_a, topic)


def carry(lane: CopyLane, pair: Pair) -> None:
    """What a worker does with what there is now, batch by batch."""
    fetched = pair.at_a.fetch({lane.where: lane.point.position}, max_wait_ms=0)[lane.where]
    for piece in lane.pieces(fetched, pair.at_a):
        written = pair.at_b.produce({lane.where: piece.batch})
        lane.wrote(piece, written[lane.where])


def test_a_checkpoint_while_a_partition_waits(pair: Pair, topic: str) -> None:
    """S8: a checkpoint that is saved meanwhile does not lie behind what was written before the record, also where the
    position had moved without writing before: nothing is written twice."""
    pair.at_a.create_topics({topic: 1})
    pair.at_b.create_topics({topic: 1}, SMALL)
    write(pair.at_a, topic, 0, numbered("first", 5))
    lane, saver = make_one_lane(pair, topic), Saver(5.0, SystemClock())
    carry(lane, pair)
    saver.save([lane], pair.at_b)
    abort_one(pair.at_a, topic)
    carry(lane, pair)
    write(pair.at_a, topic, 0, [*numbered("before", 20), LARGE])
    with pytest.raises(RecordTooLarge):
        carry(lane, pair)
    saver.save([lane], pair.at_b)
    pair.at_b.alter_configs(topic, [("max.message.bytes", "100000")])
    Sync(*pair.addresses, SyncSettings(patterns=(topic,), once=True)).run()
    expected = [each.value for each in (*numbered("first", 5), *numbered("before", 20), LARGE)]
    assert values(pair.at_b, topic) == expected


def test_a_limit_that_is_lowered_meanwhile(pair: Pair, topic: str) -> None:
    """S8: batches that the broker refuses are halved until the record is found that it does not take."""
    pair.at_a.create_topics({topic: 1})
    write(pair.at_a, topic, 0, numbered("first", 5))
    sync = Sync(*pair.addresses, SyncSettings(patterns=(topic,), refresh_s=3600))
    live = Live(sync)
    try:
        wait_until(lambda: sync.look()[0].counts.records == 5)
        pair.at_b.alter_configs(topic, [*SMALL.items()])
        write(pair.at_a, topic, 0, [*numbered("before", 60), LARGE])
        wait_until(lambda: sync.look()[0].held)
        assert "the record at offset 65 takes up to" in sync.look()[0].held[f"{topic}-0"]
        assert len(values(pair.at_b, topic)) == 65
    finally:
        live.stop()


def test_records_that_are_set_aside(pair: Pair, topic: str) -> None:
    """S8: with the choice made, such records go to a topic of their own with their mark and why, once, also when
    the sync is started again before anything behind them was copied; it is not copied back."""
    refusing(pair, topic)
    write(pair.at_a, topic, 1, [LARGE])
    aside = f"{topic}-refused"
    settings = SyncSettings(patterns=(f"{topic}*",), once=True, set_aside=aside, both=True, save_interval_s=3600)
    sync = Sync(*pair.addresses, settings)
    sync.run()
    assert sum(each.counts.set_aside for each in sync.look()) == 2
    pair.at_b.delete_topic("__holdfast_sync")  # No checkpoint says that partition 1 was read.
    Sync(*pair.addresses, settings).run()
    expected = [each.value for each in (*numbered("before", 20), *numbered("behind", 20))]
    assert [values(pair.at_b, topic, number) for number in range(2)] == [expected, []]
    fetched = pair.at_b.fetch({(aside, 0): 0}, committed=False)[aside, 0]
    batches = [batch for header, batch in split(fetched.records) if not header.is_control]
    records = [each for batch in batches for each in read_records(batch)]
    assert [(each.key, each.value) for each in records] == [(LARGE.key, LARGE.value)] * 2
    why = sorted(dict(each.headers)[WHY_KEY] or b"" for each in records)
    assert [each.split(b" takes")[0] for each in why] == [
        f"{topic}-0: the record at offset 20".encode(),
        f"{topic}-1: the record at offset 0".encode(),
    ]
    assert all(dict(each.headers)[MARK_KEY] for each in records)
    assert values(pair.at_a, aside) == []


def test_one_of_both_ways_waits(pair: Pair, topic: str) -> None:
    """S8: copied once, both ways: the other direction is copied to its end, and the sentence comes then."""
    refusing(pair, topic)
    write(pair.at_b, topic, 1, numbered("back", 50))
    with pytest.raises(RecordTooLarge):
        Sync(*pair.addresses, SyncSettings(patterns=(topic,), once=True, both=True)).run()
    assert len(read_topic(pair.at_a, topic)[1]) == 50


def test_what_waits_is_shown(pair: Pair, topic: str) -> None:
    """S9: in the facts for machines, in the table, in the metrics and in the last sentence."""
    import urllib.request

    from rich.console import Console

    from holdfast.cli.sync.metrics import scraped
    from holdfast.cli.sync.show import SyncShow, _sentence
    from holdfast.testing import free_port

    refusing(pair, topic, 1)
    sync = Sync(*pair.addresses, SyncSettings(patterns=(topic,), once=True))
    with pytest.raises(RecordTooLarge):
        sync.run()
    show = SyncShow()
    show(sync.look())
    assert list(json.loads(json.dumps(show.facts(sync.look()[0])))["held"]) == [f"{topic}-0"]
    console = Console(width=400)
    with console.capture() as captured:
        console.print(show._table(sync.look()))
    assert f"{topic}-0 waits" in captured.get()
    assert "the target takes 2000" in captured.get()
    assert "1 partition waits" in _sentence(sync.look()[0])
    port = free_port()
    with scraped(show, f"127.0.0.1:{port}"), urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
        text = answer.read().decode()
    assert f'topic="{topic}"}} 1.0' in "".join(each for each in text.splitlines() if "held_partitions{" in each)
