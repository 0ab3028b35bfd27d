"""The tail against a plain list: what it holds, what it finds, and how much memory it says it takes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.log.world import batch

from holdfast.log.tail import MemoryUse, Tail, TailBatch
from holdfast.record.batch import read_header

steps = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.integers(1, 4), st.booleans()),
        st.tuples(st.just("release"), st.integers(0, 20), st.none()),
        st.tuples(st.just("spill"), st.integers(0, 600), st.integers(0, 40)),
        st.tuples(st.just("clear"), st.none(), st.none()),
    ),
    max_size=40,
)


def tail_batch(base: int, count: int, *, in_memory: bool = True) -> TailBatch:
    data = memoryview(batch(*[b"x"] * count, base_offset=base))
    return TailBatch(read_header(data), data if in_memory else None, base, 0, 0)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(steps=steps)
def test_against_a_plain_list(steps: list[tuple[str, Any, Any]]) -> None:
    """L2: whatever is added, released and spilled: no batch is missing, none is left, and the sizes are right."""
    use = MemoryUse()
    other = Tail(use)
    other.add(tail_batch(0, 3))
    tail, plain, end = Tail(use), [], 0
    for action, number, more in steps:
        if action == "add":
            plain.append(tail_batch(end, number, in_memory=more))
            tail.add(plain[-1])
            end += number
        elif action == "release" and number <= len(plain):
            tail.release(plain[number - 1].end if number else 0)
            del plain[:number]
        elif action == "spill":
            before = tail.memory_size
            freed = tail.spill(number, durable=more)
            assert before - tail.memory_size == freed
            held = [each for each in plain if each.data is not None]
            assert freed >= number or not held or any(each.end > more for each in plain)
            assert all(each.data is not None for each in plain if each.end > more and each in held)
        elif action == "clear":
            tail.clear()
            plain.clear()
        check(tail, plain)
        assert use.size == tail.memory_size + other.memory_size


def check(tail: Tail, plain: list[TailBatch]) -> None:
    assert list(tail) == plain
    assert len(tail) == len(plain)
    assert tail.first is (plain[0] if plain else None)
    assert tail.size == sum(each.size for each in plain)
    assert tail.memory_size == sum(each.size for each in plain if each.data is not None)
    for offset in range(plain[0].base, plain[-1].end) if plain else ():
        expected = [each for each in plain if each.end > offset]
        assert list(tail.from_offset(offset)) == expected
    assert list(tail.from_offset(plain[-1].end if plain else 5))[1:] == []


@settings(max_examples=100, deadline=None, derandomize=True)
@given(counts=st.lists(st.integers(1, 4), min_size=1, max_size=10), wanted=st.integers(1, 1000))
def test_the_oldest_durable_bytes_leave_first(counts: list[int], wanted: int) -> None:
    """A3: a spill frees what it was asked for if it can, from the oldest on, and never what is not durable."""
    tail, end = Tail(MemoryUse()), 0
    for count in counts:
        tail.add(tail_batch(end, count))
        end += count
    durable = end - counts[-1]
    freed = tail.spill(wanted, durable)
    spilled = [each.data is None for each in tail]
    assert spilled == sorted(spilled, reverse=True)
    assert not spilled[-1]
    assert freed >= wanted or all(spilled[:-1])
    again = tail.spill(1 << 30, durable)
    assert [each.data is None for each in tail] == [True] * (len(counts) - 1) + [False]
    assert freed + again == sum(each.size for each in list(tail)[:-1])


def test_a_gap_is_refused() -> None:
    """L2: a tail has no gaps and no overlaps; a segment ends where a batch ends."""
    tail = Tail(MemoryUse())
    tail.add(tail_batch(0, 3))
    for base in (2, 4):
        with pytest.raises(AssertionError):
            tail.add(tail_batch(base, 1))
    with pytest.raises(AssertionError):
        tail.release(2)
