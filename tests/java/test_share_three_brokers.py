"""Share consumers of Java at three brokers, of which one is killed and one is drained."""

from __future__ import annotations

import itertools
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from tests.broker.wire import Wire
from tests.java.jvm import Jvm
from tests.support.reading import Place
from tests.support.three_brokers import PARTITIONS, Feed, Three, three_brokers, until

from holdfast.protocol.api import Key

pytestmark = [pytest.mark.slow, pytest.mark.s3, pytest.mark.timeout(600)]

TASKS, GROUP, GROUP_RESOURCE = "tasks", "workers", 32
SETTINGS = (
    "group.share.min.heartbeat.interval.ms=300",
    "group.share.heartbeat.interval.ms=300",
    "group.share.min.session.timeout.ms=6000",
    "group.share.session.timeout.ms=6000",
    "group.share.min.record.lock.duration.ms=3000",
    "group.share.record.lock.duration.ms=3000",
    "group.share.max.delivery.count.limit=25",
    "group.share.delivery.count.limit=25",  # Nothing is given up: what is done with was accepted.
)
CONFIG = {
    "group.id": GROUP,
    "share.acknowledgement.mode": "explicit",
    "fetch.max.wait.ms": "100",
    "request.timeout.ms": "3000",
}


class Workers:
    """Two share consumers in turn: each accepts what it is given, and waits for the answer."""

    def __init__(self, java: Jvm) -> None:
        self._java = java
        self._next = itertools.cycle(("a", "b"))
        self.tried: set[Place] = set()
        self.accepted: set[Place] = set()  # And it was answered.
        self.refused: list[str] = []
        for member in ("a", "b"):
            java.do("share.join", member=member, topics=[TASKS], config=CONFIG)

    def turn(self) -> None:
        member = next(self._next)
        read = self._java.do("share.read", member=member, count=1, ms=1000, verdict="ACCEPT")
        given = {(partition, offset) for partition, offset, _, _ in read}
        self.tried |= given
        answers: dict[str, Any] = self._java.do("share.commit", member=member)["committed"]
        done = {place for place in given if answers.get(str(place[0])) == ""}
        self.refused += [each for each in answers.values() if each]
        twice = done & self.accepted
        assert not twice, f"{sorted(twice)} were accepted twice, and both were told so"
        self.accepted |= done

    def until_more(self) -> None:
        """Until something was accepted in each partition that was not before."""
        before = set(self.accepted)

        def lacks() -> set[int]:
            self.turn()
            return set(range(PARTITIONS)) - {partition for partition, _ in self.accepted - before}

        until(lambda: not lacks(), lambda: f"nothing of {lacks()} is accepted any more: {self.refused[-5:]}")

    def until_all(self, places: set[Place]) -> None:
        def left() -> set[Place]:
            self.turn()
            return places - self.tried

        until(lambda: not left(), lambda: f"never delivered: {sorted(left())[:10]}")


def let_begin_at_the_earliest(java: Jvm, three: Three) -> None:
    """And wait until all brokers know it."""
    java.do("configs.alter", type="GROUP", name=GROUP, changes={"share.auto.offset.reset": ["SET", "earliest"]})
    asked = [{"resource_type": GROUP_RESOURCE, "resource_name": GROUP, "configuration_keys": None}]

    def knows(number: int) -> bool:
        with Wire(three.brokers[number].port) as wire:
            [found] = wire.ask(Key.DESCRIBE_CONFIGS, 4, resources=asked).results
            return ("share.auto.offset.reset", "earliest") in {(each.name, each.value) for each in found.configs}

    for number in three.brokers:
        until(lambda number=number: knows(number), lambda number=number: f"broker {number} does not know the config")


def test_records_are_accepted_once_while_brokers_come_and_go(needs_java: None, tmp_path: Path) -> None:
    """K8, C7: kill -9 and a drain in the middle: every record is accepted, and none a second time after an answer."""
    with ExitStack() as stack:
        three = three_brokers(tmp_path, stack, SETTINGS)
        three.make_topics(TASKS)
        java = stack.enter_context(Jvm(three.bootstrap))
        let_begin_at_the_earliest(java, three)
        feed = Feed(three.bootstrap, {TASKS: str})
        workers = Workers(java)
        workers.until_more()
        for how in (three._killed, three._drained):
            three.until_led((1, 2, 3), 1)
            with ExitStack() as afterwards:
                how(afterwards)
                workers.until_more()
        feed.stop()
        assert not feed.refused
        workers.until_all(set(feed.acked[TASKS]))
        ends = {f"{TASKS}-{each}": 0 for each in range(PARTITIONS)}
        for partition, offset in feed.acked[TASKS]:
            ends[f"{TASKS}-{partition}"] = max(ends[f"{TASKS}-{partition}"], offset + 1)

        def starts() -> dict[str, int]:
            workers.turn()
            return {name: start for name, (start, _) in java.do("share.offsets", group=GROUP).items()}

        until(lambda: starts() == ends, lambda: f"the group is at {starts()}, not at {ends}")
        for member in ("a", "b"):
            java.do("share.leave", member=member)
