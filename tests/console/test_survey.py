"""The survey: a look at all topics that costs little where nothing moves, and misses nothing that does."""

from __future__ import annotations

import asyncio
import math
from uuid import UUID

from holdfast.console.history import KEPT, History
from holdfast.console.lag import NOTED_MAX, PAIRS_MAX, Lags
from holdfast.console.survey import ShownTopic, TopicSurvey
from holdfast.io.calls import InlineCalls
from holdfast.io.chance import SeededChance
from holdfast.io.clock import ManualClock
from holdfast.io.disk.simulated import SimulatedDisk
from holdfast.io.objects.memory import MemoryBucket, MemoryObjects
from holdfast.log.logs import Logs
from holdfast.record.build import build
from holdfast.record.records import Record
from holdfast.types import PartitionId


def test_a_row_is_made_again_when_its_marks_have_moved() -> None:
    """V4, V5: and only then, or after a while."""

    async def test() -> None:
        clock = ManualClock()
        logs = await Logs.open(
            SimulatedDisk(SeededChance(1)), MemoryObjects(MemoryBucket(), clock=clock), clock=clock, background=False
        )
        topic_id = UUID(int=7)
        partitions = [await logs.partition(PartitionId(topic_id, number)) for number in range(2)]
        topic = ShownTopic("t", topic_id, {}, tuple(partitions))
        survey = TopicSurvey(lambda: [topic], clock)
        first = (await survey.look())["t"]
        assert (first.records, first.rate) == (0, None)
        clock.advance(1.0)
        assert (await survey.look())["t"] is first
        await partitions[1].append(memoryview(build([Record(b"k", b"v", 1)])))
        assert (await survey.look())["t"] is first, "within a second the look before is good enough"
        clock.advance(2.0)
        second = (await survey.look())["t"]
        assert (second.records, second.unflushed, second.rate) == (1, 1, 0.5)
        assert second.oldest_unflushed_s == 2.0
        clock.advance(60.0)
        assert (await survey.look())["t"] is not second
        await logs.close()

    asyncio.run(test())


def test_history_keeps_an_hour_and_knows_what_it_does_not_know() -> None:
    """V5: counters become rates; a list never grows past its size; what was not known then is null."""
    clock = ManualClock()
    history = History(clock.now_ms)
    for number in range(KEPT + 10):
        history.add({"c": number * 10.0}, {"f": 1.0 if number else math.nan})
        clock.advance(5.0)
    shown = history.shown("c", "f", "never")
    assert len(shown["at_ms"]) == len(shown["c"]) == KEPT
    assert (shown["c"][-1], shown["f"][-1], shown["never"]) == (2.0, 1.0, [])
    fresh = History(clock.now_ms)
    fresh.add({"c": 1.0}, {})
    assert fresh.shown("c")["c"] == [None]


def test_lags_are_remembered_for_an_hour_whether_somebody_looks_or_not() -> None:
    """V5, V6: those that are largest, every ten seconds; of topics that may be seen."""
    clock, lags = ManualClock(), Lags(InlineCalls())
    many = {f"t{number}": {"other": number} for number in range(PAIRS_MAX)}
    for number in range(NOTED_MAX + 5):
        lags.note(many | {"a": {"g": 1000 + number}, "b": {"g": 500}}, clock.now_ms())
        lags.note({}, clock.now_ms())
        clock.advance(10.0)
    both, one = (lags.last_hour("g", topics, 7, clock.now_ms()) for topics in ({"a", "b"}, {"b"}))
    assert (len(both["lag"]), both["lag"][-2:], one["lag"][-2:]) == (NOTED_MAX + 1, [1864, 7], [500, 7])
    assert lags.last_hour("other", {"t0", "t99"}, 0, clock.now_ms())["lag"][0] == 99
