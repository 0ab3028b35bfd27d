"""What is timed for metrics: each thing once, failures among them, and what passes through is what comes out."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.io.objects_contract import ObjectsContract, OpenStore

from holdfast.io.clock import ManualClock, SystemClock
from holdfast.io.disk.timed import TimedDirectory
from holdfast.io.objects import NotFound, StoreFailed
from holdfast.io.objects.faulty import FailBefore, FaultyObjects
from holdfast.io.objects.memory import MemoryBucket, MemoryObjects
from holdfast.io.objects.timed import StoreTimes, TimedObjects
from holdfast.measure import BOUNDS, Histogram


def test_a_time_is_counted_up_to_the_first_bound_that_holds_it() -> None:
    histogram = Histogram()
    for seconds in (0.0, BOUNDS[0], BOUNDS[0] * 1.01, 1.0, 1e9):
        histogram.add(seconds)
    assert histogram.counts[0] == 2
    assert histogram.counts[1] == 1
    assert histogram.counts[BOUNDS.index(1.0)] == 1
    assert histogram.counts[-1] == 1
    assert histogram.count == 5
    assert histogram.seconds == pytest.approx(1e9 + 1 + BOUNDS[0] * 2.01)


def test_bounds_only_grow() -> None:
    assert list(BOUNDS) == sorted(set(BOUNDS))


def test_every_sync_of_a_file_is_timed_and_nothing_else(tmp_path: Path) -> None:
    syncs = Histogram()
    directory = TimedDirectory(tmp_path / "wal", SystemClock(), syncs)
    file = directory.open("a", create=True)
    file.write_at(0, [b"one", b"two"])
    assert syncs.count == 0
    file.sync()
    file.sync()
    file.close()
    directory.sync_names()
    assert syncs.count == 2
    again = directory.open("a", write=False)
    assert again.read_at(0, 10) == b"onetwo"
    again.close()


class TestTimedObjects(ObjectsContract):
    """A timed store is a store like every other."""

    @pytest.fixture
    def open_store(self) -> OpenStore:
        bucket = MemoryBucket()
        return lambda: TimedObjects(MemoryObjects(bucket), SystemClock(), StoreTimes())


def test_calls_are_told_apart_by_operation_and_kind() -> None:
    seen = StoreTimes()
    objects = TimedObjects(MemoryObjects(), ManualClock(), seen)
    objects.put_if_absent("segments/a", [b"12", b"345"])
    objects.put("brokers/1.json", [b"{}"])
    assert objects.get("segments/a", 1, 3) == b"23"
    assert [info.name for info in objects.list("segments/")] == ["segments/a"]
    objects.delete("segments/a")
    with pytest.raises(NotFound):
        objects.size("segments/a")
    assert {asked: time.count for asked, time in seen.times.items()} == {
        ("put", "segments"): 1,
        ("put", "brokers"): 1,
        ("get", "segments"): 1,
        ("list", "segments"): 1,
        ("delete", "segments"): 1,
        ("size", "segments"): 1,
    }
    assert seen.sizes == {"put": 7, "get": 2}
    assert not seen.failures, "what is not there is an answer"


def test_failures_are_counted_and_passed_on() -> None:
    seen = StoreTimes()
    objects = TimedObjects(FaultyObjects(MemoryObjects(), lambda call: FailBefore()), ManualClock(), seen)
    with pytest.raises(StoreFailed):
        objects.put_if_absent("segments/a", [b"1"])
    assert seen.failures == {("put", "segments"): 1}
    assert seen.times["put", "segments"].count == 1
    assert not seen.sizes


def test_a_store_is_away_from_the_first_failure_to_the_next_answer() -> None:
    """V6: by the start of the call that failed first; what is not there is an answer, too."""
    seen, clock, fails = StoreTimes(), ManualClock(), list[FailBefore]()
    faulty = FaultyObjects(MemoryObjects(), lambda call: fails[0] if fails else None)
    objects = TimedObjects(faulty, clock, seen)
    clock.advance(5.0)
    fails.append(FailBefore())
    for _ in range(2):
        with pytest.raises(StoreFailed):
            objects.get("segments/a")
        clock.advance(3.0)
    assert seen.away_since is not None
    assert clock.monotonic() - seen.away_since == 6.0
    fails.clear()
    with pytest.raises(NotFound):
        objects.get("segments/a")
    assert seen.away_since is None
