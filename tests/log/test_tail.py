"""The tail against a plain list: what it holds, what it finds, and how much memory it says it takes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.log.log_world import batch

from holdfast.log.partition.tail import MemoryUse, Tail
from holdfast.log.partition.tail_batch import TailBatch
from holdfast.record.batch import read_header

DATA = {count: memoryview(batch(*[b"x"] * count)) for count in range(1, 5)}

steps = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.integers(1, 4), st.sampled_from((1, 1, 1, 1, 300))),
        st.tuples(st.just("release"), st.integers(0, 20), st.none()),
        st.tuples(st.just("spill"), st.integers(0, 600), st.integers(0, 40)),
        st.tuples(st.just("clear"), st.none(), st.none()),
    ),
    max_size=40,
)


def tail_batch(base: int, count: int) -> TailBatch:
    data = DATA[count]
    return TailBatch(read_header(data)._replace(base_offset=base), data, base * 7, base % 3, 0)


def facts(batches: Iterable[TailBatch]) -> list[tuple[Any, ...]]:
    """What is known of batches; those that were spilled are other objects than those that were added."""
    slots = TailBatch.__slots__
    return [tuple(getattr(each, name) for name in slots if name != "data") for each in batches]


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
            for _ in range(more):
                plain.append(tail_batch(end, number))
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
            assert freed + listed(tail) >= number or not held or any(each.end > more for each in plain)
            assert all(each.data is not None for each in plain if each.end > more and each in held)
        elif action == "clear":
            tail.clear()
            plain.clear()
        check(tail, plain)
        assert use.size == tail.memory_size + other.memory_size
        assert use.listed_size == listed(tail) + listed(other)


def listed(tail: Tail) -> int:
    return sum(run.memory_size for run in tail.runs)


def check(tail: Tail, plain: list[TailBatch]) -> None:
    assert facts(tail) == facts(plain)
    assert [each.data is None for each in tail] == [each.data is None for each in plain]
    assert len(tail) == len(plain)
    assert facts([tail.first] if tail.first else []) == facts(plain[:1])
    assert tail.end == (plain[-1].end if plain else None)
    assert tail.size == sum(each.size for each in plain)
    assert tail.memory_size == listed(tail) + sum(each.memory_size for each in plain if each.data is not None)
    for offset in [*range(plain[0].base, plain[-1].end)][:: len(plain) // 4 + 1] if plain else ():
        expected = [each for each in plain if each.end > offset]
        assert facts(tail.from_offset(offset)) == facts(expected)
    assert len(list(tail.from_offset(plain[-1].end if plain else 5))) == bool(plain)


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
    assert freed + listed(tail) >= wanted or all(spilled[:-1])
    again = tail.spill(1 << 30, durable)
    assert [each.data is None for each in tail] == [True] * (len(counts) - 1) + [False]
    assert freed + again == sum(each.memory_size for each in list(tail)[:-1]) - listed(tail)


def test_a_gap_is_refused() -> None:
    """L2: a tail has no gaps and no overlaps; a segment ends where a batch ends."""
    tail = Tail(MemoryUse())
    tail.add(tail_batch(0, 3))
    for base in (2, 4):
        with pytest.raises(AssertionError):
            tail.add(tail_batch(base, 1))
    with pytest.raises(AssertionError):
        tail.release(2)
