"""One side is not what it was: set back to an older copy, replaced, topics deleted and made again, records expired."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.sync.conftest import Pair
from tests.sync.process import Live
from tests.sync.sides import assert_equal, delete_records, numbered, read_topic, write

from holdfast.client import Client
from holdfast.cluster.sync_points import CHECKPOINTS
from holdfast.io.clock import SystemClock
from holdfast.record.records import Record
from holdfast.sync.errors import ClusterReplaced, SourceChanged, SourceWentBack
from holdfast.sync.run import Sync
from holdfast.sync.settings import SyncSettings
from holdfast.testing import RunningBroker

SETTINGS = {"HOLDFAST_SUBSCRIBE_LISTEN": "none", "HOLDFAST_LOG_RETENTION_MS": "-1"}


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Pair]:
    """Two brokers of the test's own."""
    with (
        RunningBroker(tmp_path / "a", environment=SETTINGS) as a,
        RunningBroker(tmp_path / "b", environment=SETTINGS) as b,
        Client(a.bootstrap, "test") as at_a,
        Client(b.bootstrap, "test") as at_b,
    ):
        yield Pair(a, b, at_a, at_b)


def set_back(broker: RunningBroker, change: Callable[[], object]) -> None:
    """Change something, then put the data directory back to what it was before."""
    broker.stop()
    older = broker.data.with_name(f"{broker.data.name}-older")
    shutil.copytree(broker.data, older)
    broker.start()
    change()
    broker.stop()
    shutil.rmtree(broker.data)
    older.rename(broker.data)
    broker.start()


def once(pair: Pair, topic: str, **settings: object) -> Sync:
    sync = Sync(*pair.addresses, SyncSettings(patterns=(topic,), once=True, give_up_s=60, **settings))  # type: ignore[arg-type]
    sync.run()
    return sync


def live(pair: Pair, topic: str, **settings: object) -> tuple[Sync, Live]:
    sync = Sync(*pair.addresses, SyncSettings(patterns=(topic,), **settings))  # type: ignore[arg-type]
    return sync, Live(sync)


def until(running: Live, is_so: Callable[[], object], timeout_s: float = 90) -> None:
    """Wait for something that a running sync brings about."""
    for _ in range(int(timeout_s / 0.05)):
        if is_so() or not running.is_alive():
            break
        running.join(0.05)
    if running.failure is not None:
        raise running.failure
    assert is_so(), "it did not come about"


def test_a_source_that_was_set_back(own: Pair, topic: str) -> None:
    """S8: a source restored from an older copy is noticed when it ends too early, and also when it was written anew."""
    own.at_a.create_topics({topic: 1})
    write(own.at_a, topic, 0, numbered("kept", 300))

    def copy_more() -> None:
        write(own.at_a, topic, 0, numbered("gone", 300))
        once(own, topic)

    set_back(own.a, copy_more)
    with pytest.raises(SourceWentBack, match=r"ends at offset 300, but was copied up to 600"):
        once(own, topic)
    write(own.at_a, topic, 0, numbered("anew", 500))
    with pytest.raises(SourceChanged, match=r"another record at offset 599"):
        once(own, topic)
    own.at_b.delete_topic(CHECKPOINTS)
    with pytest.raises(SourceChanged, match=r"another record at offset 599"):
        once(own, topic)
    assert len(read_topic(own.at_b, topic)[0]) == 600


def test_a_passive_side_that_was_set_back(own: Pair, topic: str) -> None:
    """S8: both ways, a side that only had copies, was restored and then written to, does not hide what is new there."""
    own.at_a.create_topics({topic: 1})
    write(own.at_a, topic, 0, numbered("first", 100))
    once(own, topic, both=True)

    def copy_more() -> None:
        write(own.at_a, topic, 0, numbered("second", 100))
        for _ in range(2):  # The second one reads the copies that the first one has made.
            once(own, topic, both=True)

    set_back(own.b, copy_more)
    write(own.at_b, topic, 0, numbered("own", 400))
    with pytest.raises(SourceChanged):
        once(own, topic, both=True)


def test_a_target_that_was_set_back(own: Pair, topic: str) -> None:
    """S8: a sync that runs on finds what its target has lost, though others have written there since."""
    own.at_a.create_topics({topic: 1})
    write(own.at_a, topic, 0, numbered("first", 200))
    once(own, topic)
    write(own.at_b, topic, 0, [Record(b"own", b"own", 1)])
    sync, running = live(own, topic, save_interval_s=0.1)

    def copy_more() -> None:
        write(own.at_a, topic, 0, numbered("second", 100))
        until(running, lambda: sync.look()[0].counts.records == 100)
        own.a.kill()  # So that it cannot go on before B has been written to.

    set_back(own.b, copy_more)
    write(own.at_b, topic, 0, [Record(b"own", b"own", 2)] * 300)
    own.a.start()
    until(running, lambda: sync.look()[0].counts.records == 200)
    running.stop()
    there = [each for each in read_topic(own.at_b, topic)[0] if each.seen.key != b"own"]
    assert_equal(read_topic(own.at_a, topic), [there])


def test_another_cluster_at_the_same_address(own: Pair, topic: str) -> None:
    """S8: a target whose data were replaced is another cluster: the sync says so and stops; a new one fills it."""
    own.at_a.create_topics({topic: 1})
    write(own.at_a, topic, 0, numbered("first", 100))
    sync, running = live(own, topic)
    until(running, lambda: sync.look()[0].counts.records == 100)
    own.b.stop()
    shutil.rmtree(own.b.data)
    own.b.start()
    with pytest.raises(ClusterReplaced, match="start the sync again"):
        until(running, lambda: False)
    once(own, topic)
    assert_equal(read_topic(own.at_a, topic), read_topic(own.at_b, topic))


def test_a_topic_that_is_made_again_at_the_target(pair: Pair, topic: str) -> None:
    """S8: deleted and made again under a sync that runs, it gets everything, and nothing before the first record."""
    pair.at_a.create_topics({topic: 2})
    for partition in (0, 1):
        write(pair.at_a, topic, partition, numbered("first", 200))
    sync, running = live(pair, topic, refresh_s=600)
    until(running, lambda: sync.look()[0].counts.records == 400)
    pair.at_b.delete_topic(topic)
    pair.at_b.create_topics({topic: 2})
    write(pair.at_a, topic, 1, numbered("second", 10))
    until(running, lambda: sync.look()[0].counts.records == 810)
    running.stop()
    assert_equal(read_topic(pair.at_a, topic), read_topic(pair.at_b, topic))


def test_a_topic_that_is_deleted_at_the_target(pair: Pair, topic: str) -> None:
    """S8: a sync that has nothing to copy notices, too, and fills the topic again."""
    pair.at_a.create_topics({topic: 1})
    write(pair.at_a, topic, 0, numbered("first", 100))
    sync, running = live(pair, topic, refresh_s=0.2)
    until(running, lambda: sync.look()[0].counts.records == 100)
    pair.at_b.delete_topic(topic)
    until(running, lambda: sync.look()[0].counts.records == 200)
    running.stop()
    assert_equal(read_topic(pair.at_a, topic), read_topic(pair.at_b, topic))


def test_a_topic_that_is_made_again_at_the_source(pair: Pair, topic: str) -> None:
    """S8: what the new topic holds is copied from its first record on, though its offsets were all read before."""
    pair.at_a.create_topics({topic: 1})
    write(pair.at_a, topic, 0, numbered("old", 100))
    sync, running = live(pair, topic, refresh_s=1)
    until(running, lambda: sync.look()[0].counts.records == 100)
    pair.at_a.delete_topic(topic)
    pair.at_a.create_topics({topic: 1})
    write(pair.at_a, topic, 0, numbered("new", 300))
    until(running, lambda: len(read_topic(pair.at_b, topic)[0]) >= 400)
    running.stop()
    values = [each.seen for each in read_topic(pair.at_b, topic)[0]]
    assert values[100:] == [each.seen for each in read_topic(pair.at_a, topic)[0]]
    assert len(values) == 400


def test_records_that_expire_before_they_are_copied(own: Pair, topic: str, caplog: pytest.LogCaptureFixture) -> None:
    """S8: they are counted and warned of, whether the sync runs, was stopped, or has never copied anything."""
    own.at_a.create_topics({topic: 1})
    assert once(own, topic).look()[0].counts.expired == 0
    write(own.at_a, topic, 0, numbered("first", 100))
    delete_records(own.at_a, topic, 0, 60)
    assert once(own, topic).look()[0].counts.expired == 60
    assert "60 offsets had expired at the source" in caplog.text
    sync, running = live(own, topic)
    until(running, lambda: sync.look()[0].topics)
    own.b.kill()
    write(own.at_a, topic, 0, numbered("second", 100))
    delete_records(own.at_a, topic, 0, 170)
    own.b.start()
    until(running, lambda: sync.look()[0].counts.records == 30)
    running.stop()
    assert sync.look()[0].counts.expired == 70
    assert "70 offsets had expired at the source" in caplog.text
    assert len(read_topic(own.at_b, topic)[0]) == 70


def test_what_was_gone_before_the_first_start_is_no_loss(pair: Pair, topic: str) -> None:
    """S8: a topic is copied from where it begins."""
    pair.at_a.create_topics({topic: 1})
    write(pair.at_a, topic, 0, numbered("first", 100))
    delete_records(pair.at_a, topic, 0, 60)
    counts = once(pair, topic).look()[0].counts
    assert (counts.records, counts.expired) == (40, 0)


class Ahead(SystemClock):
    """A clock that can be put forward."""

    ahead_s = 0.0

    def monotonic(self) -> float:
        return super().monotonic() + self.ahead_s


def test_hours_without_records_are_not_held_against_a_broker(own: Pair, topic: str) -> None:
    """S8: --give-up counts from when the sync was last well, and not from the last record."""
    own.at_a.create_topics({topic: 1})
    write(own.at_a, topic, 0, numbered("early", 10))
    clock = Ahead()
    settings = SyncSettings(patterns=(topic,), give_up_s=600, save_interval_s=0.1)
    sync = Sync(*own.addresses, settings, clock=clock)
    running = Live(sync)
    until(running, lambda: sync.look()[0].counts.records == 10)
    clock.ahead_s, before = 3600.0, sync.look()[0].saves
    until(running, lambda: sync.look()[0].saves > before + 1)
    own.b.kill()
    until(running, lambda: sync.look()[0].errors)
    own.b.start()
    write(own.at_a, topic, 0, numbered("late", 10))
    until(running, lambda: sync.look()[0].counts.records == 20)
    running.stop()


def test_a_writer_is_renewed(pair: Pair, topic: str) -> None:
    """S8: brokers forget producers that are silent; a sync shuts out earlier ones again before they do."""
    pair.at_a.create_topics({topic: 1})
    write(pair.at_a, topic, 0, numbered("first", 10))
    sync, running = live(pair, topic, renew_s=0.3)
    until(running, lambda: sync.look()[0].counts.records == 10)

    def epoch() -> int:
        return max(pair.at_b.producers([(topic, 0)])[topic, 0].values())

    before = epoch()
    until(running, lambda: epoch() > before + 1)
    write(pair.at_a, topic, 0, numbered("second", 10))
    until(running, lambda: sync.look()[0].counts.records == 20)
    running.stop()
    assert sync.look()[0].errors == 0
    assert_equal(read_topic(pair.at_a, topic), read_topic(pair.at_b, topic))
