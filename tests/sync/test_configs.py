"""Topic configs that change at the source are followed at the target; what was chosen there stays."""

from __future__ import annotations

from tests.sync.conftest import Pair
from tests.sync.process import Live
from tests.sync.test_refused import wait_until

from holdfast.client import ClientSettings
from holdfast.io.chance import SystemChance
from holdfast.io.clock import SystemClock
from holdfast.sync.configs import SeenConfigs
from holdfast.sync.run import Sync
from holdfast.sync.settings import SyncSettings
from holdfast.sync.sides import meet_both
from holdfast.sync.takeover import make_lanes
from holdfast.sync.topics import plan


def settings(topic: str, **more: object) -> SyncSettings:
    return SyncSettings(patterns=(topic,), refresh_s=0.1, **more)  # type: ignore[arg-type]


def test_changes_are_followed_and_choices_stay(pair: Pair, topic: str) -> None:
    """S8: what is set and unset at the source is so at the target, partitions grow; what only the target has stays."""
    pair.at_a.create_topics({topic: 1}, {"retention.ms": "111111", "segment.bytes": "1000000"})
    live = Live(Sync(*pair.addresses, settings(topic)))
    try:
        wait_until(lambda: topic in pair.at_b.metadata().topics)
        pair.at_b.alter_configs(topic, [("max.message.bytes", "123456")])
        pair.at_a.alter_configs(topic, [("retention.ms", "222222")], ["segment.bytes"])
        pair.at_a.create_partitions(topic, 3)
        wait_until(lambda: pair.at_b.own_configs(topic) == {"retention.ms": "222222", "max.message.bytes": "123456"})
        wait_until(lambda: len(pair.at_b.topic(topic).partitions) == 3)
    finally:
        live.stop()


def test_a_change_while_the_topic_is_made(pair: Pair, topic: str) -> None:
    """S8: behind the look at what it is to be made with, and before the first look at changes; it is not lost."""
    pair.at_a.create_topics({topic: 1}, {"retention.ms": "111111"})
    given, seen = settings(topic), SeenConfigs()
    first, second = map(ClientSettings.at, pair.addresses)
    sides = meet_both(first, second, SystemClock(), SystemChance())
    planned = plan(pair.at_a, pair.at_b, given.chosen)
    pair.at_a.alter_configs(topic, [("retention.ms", "222222")])
    make_lanes(planned, sides, pair.at_b, given, (), {}, {}, seen)
    seen.follow([topic], sides, pair.at_a, pair.at_b)
    assert pair.at_b.own_configs(topic) == {"retention.ms": "222222"}


def test_a_change_while_no_sync_ran(pair: Pair, topic: str) -> None:
    """S8: what the source had is saved in the target, so a change is seen by the next sync; with `configs` off it is
    not carried."""
    pair.at_a.create_topics({topic: 1}, {"retention.ms": "111111"})
    Sync(*pair.addresses, settings(topic, once=True)).run()
    pair.at_b.alter_configs(topic, [("max.message.bytes", "123456")])
    pair.at_a.alter_configs(topic, [("retention.ms", "333333")])
    Sync(*pair.addresses, settings(topic, once=True, configs=False)).run()
    assert pair.at_b.own_configs(topic)["retention.ms"] == "111111"
    Sync(*pair.addresses, settings(topic, once=True)).run()
    assert pair.at_b.own_configs(topic) == {"retention.ms": "333333", "max.message.bytes": "123456"}


def test_both_ways_a_change_comes_to_rest(pair: Pair, topic: str) -> None:
    """S8: changed on both sides at once, both come to have the same, and nothing goes back and forth."""
    pair.at_a.create_topics({topic: 1}, {"retention.ms": "111111"})
    sync = Sync(*pair.addresses, settings(topic, both=True))
    live = Live(sync)
    try:
        wait_until(lambda: topic in pair.at_b.metadata().topics)
        wait_until(lambda: all(each.state == "running" for each in sync.look()))
        pair.at_a.alter_configs(topic, [("retention.ms", "222222")])
        pair.at_b.alter_configs(topic, [("retention.ms", "333333")])
        wait_until(lambda: pair.at_a.own_configs(topic) == pair.at_b.own_configs(topic))
        assert pair.at_a.own_configs(topic)["retention.ms"] in ("222222", "333333")
    finally:
        live.stop()
    assert pair.at_a.own_configs(topic) == pair.at_b.own_configs(topic)
