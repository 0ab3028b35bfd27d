"""The stores that wrap another one: what is counted, and what a plan does to a call."""

from __future__ import annotations

import threading

import pytest
from tests.io.objects_contract import ObjectsContract, OpenStore

from holdfast.io.chance import SeededChance
from holdfast.io.objects import Exists, NotFound, StoreFailed
from holdfast.io.objects.counting import CountingObjects, StoreCounts
from holdfast.io.objects.faulty import Call, Delay, FailAfter, FailBefore, FailEarly, FaultyObjects, by_chance, in_order
from holdfast.io.objects.memory import MemoryBucket, MemoryObjects


class TestCountingObjects(ObjectsContract):
    @pytest.fixture
    def open_store(self) -> OpenStore:
        bucket = MemoryBucket()
        return lambda: CountingObjects(MemoryObjects(bucket))


class TestFaultyObjectsWithoutFaults(ObjectsContract):
    @pytest.fixture
    def open_store(self) -> OpenStore:
        bucket = MemoryBucket()
        return lambda: FaultyObjects(MemoryObjects(bucket), lambda call: None)


@pytest.fixture
def inner() -> MemoryObjects:
    return MemoryObjects()


def test_requests_and_bytes_are_counted_by_kind(inner: MemoryObjects) -> None:
    store = CountingObjects(inner)
    store.put_if_absent("a", [b"12", b"345"])
    store.put("b", [b"67"])
    store.get("a", 1, 4)
    store.size("a")
    store.delete("b")
    assert store.counts == StoreCounts(puts=2, gets=1, deletes=1, sizes=1, bytes_put=7, bytes_got=3)
    assert store.counts.requests == 5
    assert store.url == inner.url


def test_requests_that_fail_are_counted_without_bytes(inner: MemoryObjects) -> None:
    store = CountingObjects(inner)
    inner.put("a", [b"x"])
    with pytest.raises(Exists):
        store.put_if_absent("a", [b"xyz"])
    with pytest.raises(NotFound):
        store.get("b")
    assert store.counts == StoreCounts(puts=1, gets=1)


@pytest.mark.parametrize(("names", "requests"), [(0, 1), (1, 1), (999, 1), (1000, 1), (1001, 2), (2001, 3)])
def test_a_listing_counts_a_request_for_each_thousand_names(inner: MemoryObjects, names: int, requests: int) -> None:
    for number in range(names):
        inner.put(f"{number:05}", [])
    store = CountingObjects(inner)
    assert len(list(store.list(""))) == names
    assert store.counts == StoreCounts(lists=requests)


def test_a_listing_counts_as_far_as_it_is_read(inner: MemoryObjects) -> None:
    for number in range(1500):
        inner.put(f"{number:05}", [])
    store = CountingObjects(inner)
    next(store.list(""))
    assert store.counts == StoreCounts(lists=1)


def test_fail_before_has_no_effect(inner: MemoryObjects) -> None:
    store = FaultyObjects(inner, in_order([FailBefore()] * 3))
    for call in (
        lambda: store.put_if_absent("a", [b"x"]),
        lambda: store.put("a", [b"x"]),
        lambda: list(store.list("")),
    ):
        with pytest.raises(StoreFailed):
            call()
    assert list(store.list("")) == []


def test_fail_after_has_its_effect(inner: MemoryObjects) -> None:
    """A3: the store a flush meets in its tests does what a lost answer does: the object is there, and nobody knows."""
    store = FaultyObjects(inner, in_order([FailAfter(), FailAfter(), None, FailAfter()]))
    with pytest.raises(StoreFailed):
        store.put_if_absent("a", [b"x"])
    with pytest.raises(StoreFailed):  # Not Exists: that answer got lost too.
        store.put_if_absent("a", [b"y"])
    assert store.get("a") == b"x"
    listing = store.list("")
    assert next(listing).name == "a"
    with pytest.raises(StoreFailed):
        next(listing)


def test_fail_early_takes_effect_later(inner: MemoryObjects) -> None:
    store = FaultyObjects(inner, in_order([FailEarly(), FailEarly()]))
    for data in (b"first", b"second"):
        with pytest.raises(StoreFailed):
            store.put_if_absent("a", [data])
    assert list(inner.list("")) == []
    store.arrive()
    assert inner.get("a") == b"first"
    inner.delete("a")
    store.arrive()
    assert list(inner.list("")) == []


def test_a_delay_holds_the_call_back(inner: MemoryObjects) -> None:
    reached, go_on = threading.Event(), threading.Event()

    def wait() -> None:
        reached.set()
        assert go_on.wait(timeout=30)

    store = FaultyObjects(inner, in_order([Delay(wait)]))
    writer = threading.Thread(target=store.put, args=("a", [b"x"]))
    writer.start()
    try:
        assert reached.wait(timeout=30)
        assert list(store.list("")) == []
    finally:
        go_on.set()
        writer.join()
    assert inner.get("a") == b"x"


def test_a_plan_sees_every_call(inner: MemoryObjects) -> None:
    seen: list[Call] = []
    store = FaultyObjects(inner, seen.append)
    store.put_if_absent("a", [])
    store.put("b", [])
    store.get("a")
    list(store.list("c"))
    store.delete("a")
    store.size("b")
    kinds = ["put_if_absent", "put", "get", "list", "delete", "size"]
    assert seen == [Call(number, kind, name) for number, (kind, name) in enumerate(zip(kinds, "abacab", strict=True))]


def test_the_same_seed_fails_the_same_way(inner: MemoryObjects) -> None:
    def outcomes(seed: int) -> list[str]:
        plan = by_chance(SeededChance(seed), before=0.3, after=0.3)
        return [type(plan(Call(number, "get", "a"))).__name__ for number in range(200)]

    assert outcomes(1) == outcomes(1) != outcomes(2)
    assert {name: outcomes(1).count(name) > 30 for name in ("FailBefore", "FailAfter", "NoneType")} == {
        "FailBefore": True,
        "FailAfter": True,
        "NoneType": True,
    }
