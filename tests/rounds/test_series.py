"""A series of rounds, its seal, and what may be deleted: each rule by itself."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

import pytest

from holdfast.errors import Fenced
from holdfast.io.chance import SeededChance
from holdfast.io.clock import ManualClock
from holdfast.io.objects import NotFound, Objects
from holdfast.io.objects.faulty import Call, Delay, FailAfter, FaultyObjects, once
from holdfast.io.objects.memory import MemoryBucket, MemoryObjects
from holdfast.io.store_errors import Damaged
from holdfast.io.versions import VersionRetries
from holdfast.log.entry import BATCHES
from holdfast.log.rounds.errors import SeriesBroken, SeriesEnded
from holdfast.log.rounds.format import ROUND, SEAL, RoundHeader, Row, encode_round
from holdfast.log.rounds.places import RoundPlaces
from holdfast.log.rounds.series import GRACE_S, Series, SeriesId, all_series
from holdfast.log.rounds.takeover import read_series, take_over
from holdfast.log.rounds.under_way import RoundsUnderWay
from holdfast.types import Buffer, PartitionId

HOME = PartitionId(UUID(int=1), 0)
WHY = {"by": "a test"}


class Store:
    """One store, and processes that look at it."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.objects = MemoryObjects(MemoryBucket(), clock=self.clock)
        self._count = 0

    def series(self, life: int = 1, objects: Objects | None = None) -> Series:
        self._count += 1
        patience = VersionRetries(self.clock, SeededChance(self._count), self.clock.advance)
        return Series(objects or self.objects, SeriesId(life, 1), patience)


def a_round(number: int, needed_from: int = 0, nonce: str = "") -> tuple[int, list[Buffer], str]:
    nonce = nonce or f"{number + 1:032x}"
    row = Row(BATCHES, HOME, number, number + 1, [b"%d" % number])
    return number, encode_round(RoundHeader(ROUND, 1, 1, number, needed_from, nonce), [row]), nonce


def put(series: Series, *numbers: int, needed_from: int = 0) -> None:
    for number in numbers:
        series.send(*a_round(number, needed_from), range(number, number + 2).__iter__)


def numbers_of(series: Series) -> list[int]:
    return [each.header.number for each in read_series(series) if not each.is_seal]


def test_a_seal_takes_the_first_number_that_is_absent() -> None:
    """C3: rounds beyond it were under way together; they are never acknowledged, and never read."""
    series = Store().series()
    put(series, 0, 1, 3)
    series.seal(WHY)
    assert series.header(2).kind == SEAL
    assert numbers_of(series) == [0, 1]
    with pytest.raises(SeriesEnded):
        series.send(*a_round(2), lambda: range(2, 5))


def test_the_search_begins_where_the_newest_round_says() -> None:
    """C3: not at the lowest number that is there; below it may be one that is on its way."""
    series = Store().series()
    put(series, 1, 2)
    series.seal(WHY)
    assert series.header(0).kind == SEAL
    assert numbers_of(series) == []


def test_a_second_sealer_is_content_with_the_first_one() -> None:
    """C2: one seal serves both."""
    store = Store()
    put(store.series(), 0)
    store.series().seal(WHY)
    before = store.series().numbers()
    store.series().seal(WHY)
    assert store.series().numbers() == before == [0, 1]


def test_a_life_without_a_round_is_sealed() -> None:
    """C3: its first round meets the seal."""
    series = Store().series()
    series.seal(WHY)
    with pytest.raises(SeriesEnded, match="another process has taken over"):
        put(series, 0)


def test_a_lost_answer_is_asked_for() -> None:
    """C4: a round that is there with our nonce is ours; one with another is damage."""
    store = Store()
    faulty = FaultyObjects(store.objects, once("put_if_absent", "wal/", FailAfter()))
    put(store.series(objects=faulty), 0)
    with pytest.raises(Damaged, match="not our round"):
        store.series().send(*a_round(0, nonce="f" * 32), lambda: range(2))


def test_a_sealer_that_was_stopped_believes_only_what_it_finds() -> None:
    """C3: its number was used and deleted meanwhile, so that its put succeeds, and means nothing."""
    for sleeps_s in (0.0, 10 * GRACE_S):
        store = Store()
        writer = store.series()
        put(writer, 0, 1)

        def meanwhile(store: Store = store, writer: Series = writer, sleeps_s: float = sleeps_s) -> None:
            put(writer, 2, 3)
            put(writer, 4, needed_from=3)
            writer.delete([0, 1, 2])
            store.clock.suspend(sleeps_s)

        sealer = store.series(objects=FaultyObjects(store.objects, _first_put(meanwhile)))
        sealer.seal(WHY)
        assert store.series().header(5).kind == SEAL
        assert numbers_of(store.series()) == [3, 4]


def _first_put(meanwhile: Callable[[], object]) -> Callable[[Call], Delay | None]:
    left = [meanwhile]
    return lambda call: Delay(left.pop()) if left and call.kind == "put_if_absent" else None


def test_a_life_that_wakes_when_all_is_deleted_but_the_seal_is_over() -> None:
    """C3: its round was there, was sealed, read and deleted; put again it proves nothing. The test of C3."""
    store = Store()
    other = store.series()

    def meanwhile() -> None:
        put(store.series(), 1)
        other.seal(WHY)
        other.forget()
        other.sweep()
        store.clock.suspend(10 * GRACE_S)

    put(store.series(), 0)
    writer = store.series(objects=FaultyObjects(store.objects, _first_put(meanwhile)))
    with pytest.raises(SeriesEnded):
        writer.send(*a_round(1), lambda: range(1, 3))


def test_a_round_that_was_late_while_nobody_came_is_put() -> None:
    """C3: who finds no seal goes on."""
    store = Store()
    sleeper = FaultyObjects(store.objects, _first_put(lambda: store.clock.suspend(10 * GRACE_S)))
    put(store.series(objects=sleeper), 0)
    assert store.series().numbers() == [0]


def test_a_missing_round_is_damage_unless_the_series_is_forgotten() -> None:
    """C4: below a seal every round that is needed is there."""
    store = Store()
    series = store.series()
    put(series, 0, 1, 2)
    series.seal(WHY)
    series.delete([1])
    with pytest.raises(SeriesBroken, match="is missing"):
        read_series(series)
    series.forget()
    assert read_series(series) == []


def test_a_sweep_leaves_the_seal() -> None:
    """C3: whoever wakes up later must find it."""
    store = Store()
    series = store.series()
    put(series, 0, 1)
    series.seal(WHY)
    series.forget()
    series.sweep()
    assert series.numbers() == [2]
    assert all_series(store.objects, series.patience) == []


def test_rounds_are_acknowledged_in_order() -> None:
    """C4: behind one without an answer nothing is."""
    under_way = RoundsUnderWay(GRACE_S)
    assert [under_way.begin()[0] for _ in range(3)] == [0, 1, 2]
    assert under_way.exists(1, 0) == 0
    assert under_way.exists(2, 0) == 0
    assert under_way.exists(0, 0) == 3


def test_rounds_go_long_after_a_round_that_says_so_is_acknowledged() -> None:
    """C4: readers without a clock, such as backups, have twice the grace for what they have listed."""
    under_way = RoundsUnderWay(GRACE_S)
    for number in range(3):
        under_way.begin()
        under_way.exists(number, 0)
    under_way.need_from(2)
    assert under_way.begin() == (3, 2)
    assert under_way.to_delete(1e9) == range(0)
    under_way.exists(3, 100)
    assert under_way.to_delete(100 + 2 * GRACE_S - 1) == range(0)
    assert under_way.to_delete(100 + 2 * GRACE_S) == range(2)
    under_way.deleted(2)
    assert under_way.to_delete(1e9) == range(2, 2)


def test_no_round_says_that_one_under_way_is_not_needed() -> None:
    """C3: a sealer looks from there on, so that every number below must have existed."""
    under_way = RoundsUnderWay(GRACE_S)
    under_way.begin()
    under_way.need_from(1)
    assert under_way.begin() == (1, 0)


def test_a_series_is_forgotten_when_all_of_it_is_flushed() -> None:
    """C4: as long as one entry of it is only there, it is read by whoever comes next."""
    store = Store()
    first, second = store.series(1), store.series(2)
    places = RoundPlaces()
    places.inherit(first, 10)
    places.inherit(second, 12)
    places.add(15)
    places.add(17)
    assert places.release(9) == []
    assert (places.round_of(9), places.round_of(14), places.round_of(15), places.round_of(17)) == (0, 0, 1, 2)
    assert places.release(11) == [first]
    assert places.release(16) == [second]
    assert (places.round_of(16), places.round_of(17)) == (1, 2)


def test_all_series_are_ended_before_one_is_read_and_manifests_are_read_last() -> None:
    """C2, C4: what was flushed and forgotten while rounds were read is only in the manifests."""
    store = Store()
    for life in (1, 2):
        series = store.series(life)
        series.send(0, encode_round(RoundHeader(ROUND, 1, life, 0, 0, "a" * 32), []), "a" * 32, lambda: range(2))
    happened: list[object] = []
    series = all_series(store.objects, store.series().patience)

    def take(each: Series, rounds: list[object]) -> None:
        with pytest.raises(Fenced):
            store.series(2).send(*a_round(1), lambda: range(1, 3))
        happened.append((each.id.life, len(rounds)))

    assert take_over(series, WHY, take, lambda: happened.append("manifests") or 7) == 7  # type: ignore[func-returns-value]
    assert happened == [(1, 2), (2, 2), "manifests"]


def test_a_number_that_is_no_number_is_no_round() -> None:
    """C4: other objects beside rounds are none of ours."""
    store = Store()
    put(store.series(), 0)
    store.objects.put("wal/1-00000000000000000001/notes", [b""])
    store.objects.put("wal/notes/x", [b""])
    assert store.series().numbers() == [0]
    assert [each.id for each in all_series(store.objects, store.series().patience)] == [(1, 1)]
    with pytest.raises(NotFound):
        store.series().get(1)
