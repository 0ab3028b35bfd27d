"""`--once` while topics are deleted and made again: nothing is left out silently."""

from __future__ import annotations

import threading

import pytest
from tests.sync.conftest import Pair
from tests.sync.sides import assert_equal, numbered, read_topic, write

from holdfast.client import Client
from holdfast.io.clock import ManualClock
from holdfast.sync.run import Sync
from holdfast.sync.settings import SyncSettings
from holdfast.sync.state.checkpoint import SyncPoint


def test_a_topic_that_is_made_again_under_once(pair: Pair, topic: str, caplog: pytest.LogCaptureFixture) -> None:
    """S8: --once copies what came in the place of a topic at the source, and says so; deleted for good is said, too."""
    pair.at_a.create_topics({topic: 1})
    write(pair.at_a, topic, 0, numbered("old", 100))
    sync = Sync(*pair.addresses, SyncSettings(patterns=(topic,), once=True, give_up_s=60))
    [direction] = sync._directions
    direction._begin(pair.at_a, pair.at_b)  # An attempt that was cut short before it could copy.
    pair.at_a.delete_topic(topic)
    pair.at_a.create_topics({topic: 1})
    write(pair.at_a, topic, 0, numbered("new", 30))
    sync.run()
    assert_equal(read_topic(pair.at_a, topic), read_topic(pair.at_b, topic))
    assert f"topic {topic} at the source was made again" in caplog.text
    pair.at_a.delete_topic(topic)
    sync.run()
    assert f"topic {topic} at the source was deleted" in caplog.text


def test_once_is_not_done_when_the_target_was_made_again(pair: Pair, topic: str) -> None:
    """S8: a topic that is made again at the target in the last moment of --once is filled, and not left empty."""
    pair.at_a.create_topics({topic: 1})
    write(pair.at_a, topic, 0, numbered("x", 40))
    sync = Sync(*pair.addresses, SyncSettings(patterns=(topic,), once=True, give_up_s=60))
    [direction] = sync._directions
    attempt = direction._begin(pair.at_a, pair.at_b)
    [lane] = attempt.lanes
    lane.resume(pair.at_a, pair.at_b)
    lane.point = SyncPoint(position=40)
    pair.at_b.delete_topic(topic)
    pair.at_b.create_topics({topic: 1})
    assert not direction._watch(attempt, pair.at_a, pair.at_b)
    sync.run()
    assert_equal(read_topic(pair.at_a, topic), read_topic(pair.at_b, topic))


def test_records_that_the_target_does_not_take_are_no_progress(pair: Pair, topic: str) -> None:
    """S8: --give-up counts while a target answers everything but the records that are sent to it."""
    pair.at_a.create_topics({topic: 1})
    write(pair.at_a, topic, 0, numbered("x", 40))
    clock = ManualClock()
    settings = SyncSettings(patterns=(topic,), once=True, give_up_s=60, save_interval_s=1)
    Sync(*pair.addresses, settings).run()
    write(pair.at_a, topic, 0, numbered("y", 40))
    [direction] = Sync(*pair.addresses, settings, clock=clock)._directions
    direction._well_at = clock.monotonic()
    attempt = direction._begin(pair.at_a, pair.at_b)
    watching = threading.Thread(target=direction._watch, args=(attempt, pair.at_a, pair.at_b), daemon=True)
    clock.advance(100)
    watching.start()

    def let_save(count: int) -> None:
        while direction.look().saves < count and watching.is_alive():
            clock.advance(1)
            watching.join(0.05)

    try:
        let_save(2)
        with Client(pair.a.bootstrap) as source, Client(pair.b.bootstrap) as target:
            attempt.lanes[0].resume(source, target)  # And its worker hangs.
        let_save(4)
    finally:
        direction._stop.set()
        watching.join(60)
    assert clock.monotonic() - direction._well_at > 100
