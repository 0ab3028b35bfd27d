"""Every loop has its like in C, which looks at what it is handed before it uses it."""

from __future__ import annotations

import contextlib
import importlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import holdfast
from holdfast.native import kernels
from holdfast.record.compiled import IN_PYTHON
from holdfast.record.loops import hash_loops, read_loops, write_loops
from holdfast.segment import time_loops
from holdfast.segment.compaction import key_loops
from holdfast.subscribe import filter_loops
from holdfast.subscribe.merge import order_loops
from holdfast.sync.carry import winner_loops
from holdfast.sync.origin import mark_loops

pytestmark = pytest.mark.skipif(kernels is None, reason="no machine code was built: cc or Python.h is missing")

SOURCE = Path(holdfast.__file__).parent


def numbers(*each: int) -> Any:
    return np.array(each, np.int64)


def octets(*each: int) -> Any:
    return np.array(each, np.uint8)


ONE = octets(16, 0, 0, 0, 2, 7, 2, 9, 0)  # A record: offset 0, a key and a value of one byte.
HEADER = octets(2, 2, 7, 1)  # One: a key of one byte, null.
BITS = octets(255)
TABLE = np.full((4, 6), -1, np.int64)
ONES = (np.ones(4, np.uint64), np.ones(4, np.uint64), np.full(4, -1, np.int64))
HEADERS = (numbers(0, 1), numbers(0, 2), octets(1, 1), numbers(0, 3))  # One record with one header.

# A call of each loop that takes arrays, in which everything is as it should be.
CALLS: dict[Callable[..., Any], tuple[Any, ...]] = {
    read_loops.walk: (
        numbers(ONE.ctypes.data, len(ONE), 1, 5, 0, 100, 1).reshape(1, 7),
        3,
        *(numbers(0), numbers(0)),
        *(numbers(0, 0), numbers(0), BITS),
        *(numbers(0, 0), numbers(0), BITS),
        *(numbers(0, 0), numbers(0)),
    ),
    read_loops.walk_headers: (
        *(numbers(0, 1), numbers(HEADER.ctypes.data)),
        *(numbers(0, 0), numbers(0)),
        *(numbers(0, 0), numbers(0), BITS),
    ),
    read_loops.gather: (numbers(ONE.ctypes.data), numbers(0, 0), ONE.ctypes.data),
    read_loops.keep: (ONE.ctypes.data, len(ONE), octets(0), 0),
    write_loops.measure: (*(numbers(0) for _ in range(6)), numbers(), numbers(), numbers(0)),
    write_loops.write: (
        *(numbers(0) for _ in range(8)),
        *(numbers() for _ in range(4)),
        numbers(),
        0,
    ),
    hash_loops.hash_keys: (numbers(0), numbers(0), np.zeros(1, np.uint32)),
    time_loops.delta_bounds: (numbers(ONE.ctypes.data), numbers(len(ONE)), numbers(1), numbers(9), numbers(9)),
    key_loops.hash_keys: (numbers(0, 1), octets(1), *(np.zeros(n, np.uint64) for n in (2, 1, 1))),
    key_loops.learn: (*ONES, 0, 3, numbers(7), numbers(7), numbers(7), octets(1)),
    key_loops.find_last: (*ONES[:2], numbers(9, 9, 9, -1), numbers(1), numbers(1), numbers(7), octets(1)),
    filter_loops.match: (numbers(0, 1), octets(1), BITS, numbers(), numbers(0), octets(), octets(5), octets(0)),
    order_loops.merge_runs: (
        *(numbers(2, 1), numbers(0, 1), numbers(0, 1, 2)),
        *(numbers(7, 7), numbers(7, 7), numbers(7, 7)),
    ),
    mark_loops.find: (*HEADERS[:3], octets(1, 1), numbers(7)),
    mark_loops.read_offsets: (numbers(-1), numbers(0, 3), octets(1, 2, 3), octets(1), numbers(7)),
    mark_loops.walk: (numbers(-1), numbers(0, 3), octets(1, 2, 3), 1, octets(1), octets(7), numbers(7)),
    mark_loops.measure: (*HEADERS, octets(1, 1), numbers(0), 100),
    mark_loops.write: (
        *(*HEADERS, octets(1, 2, 3), octets(1), octets(1, 1), numbers(0), 100, octets(5), numbers(6)),
        *(numbers(0, 0), numbers(0, 0), octets(0, 0), numbers(0, 0), octets(*range(20)), octets(7)),
    ),
    winner_loops.meet: (TABLE, *(numbers(5) for _ in range(7))),
    winner_loops.choose: (TABLE, *(numbers(5) for _ in range(5)), octets(1)),
    winner_loops.move: (np.ones((4, 6), np.int64), np.full((8, 6), -1, np.int64)),
    winner_loops.rank_of: (numbers(0), numbers(-1), octets(1), 5, numbers(0), numbers(0)),
}
BY_NUMBER = {"read_check", "read_check_at_once", "lz4_expand_frame"}  # Those that take no arrays.
ARRAYS = [(loop, n) for loop, call in CALLS.items() for n, each in enumerate(call) if isinstance(each, np.ndarray)]
each_array = pytest.mark.parametrize(("loop", "place"), ARRAYS, ids=lambda each: getattr(each, "__name__", str(each)))


def copies(loop: Any) -> list[Any]:
    return [each.copy() if isinstance(each, np.ndarray) else each for each in CALLS[loop]]


def test_every_loop_that_others_call_is_there_in_c() -> None:
    """P1: otherwise Python would run it, at a hundredth of the speed, and nobody would know."""
    found = set()
    for path in SOURCE.rglob("*_loops.py"):
        module = importlib.import_module("holdfast." + ".".join(path.relative_to(SOURCE).with_suffix("").parts))
        for name, each in vars(module).items():
            in_python = IN_PYTHON.get(each) if callable(each) else None
            if in_python is not None and in_python.__module__ == module.__name__ and not name.startswith("_"):
                assert each is not in_python, f"{module.__name__}.{name} is not in C"
                found.add(each.__name__)
    listed = (SOURCE / "native/source/loops.h").read_text()
    assert found == set(re.findall(r"EACH\((\w+)\)", listed))
    assert found == {loop.__name__ for loop in CALLS} | BY_NUMBER


@pytest.mark.parametrize("loop", CALLS, ids=lambda loop: loop.__name__)
def test_a_call_as_it_should_be_is_answered(loop: Any) -> None:
    loop(*copies(loop))


@each_array
def test_an_array_of_other_items_is_refused(loop: Any, place: int) -> None:
    call = copies(loop)
    call[place] = call[place].astype(np.int16)
    with pytest.raises(TypeError):
        loop(*call)


@each_array
def test_an_array_with_gaps_is_refused(loop: Any, place: int) -> None:
    call = copies(loop)
    flat = call[place].reshape(-1)
    if len(flat) < 2:
        call[place] = flat = np.resize(flat, 2)
    call[place] = np.repeat(flat, 2)[::2]
    with pytest.raises(ValueError, match="contiguous"):
        loop(*call)


@each_array
def test_what_is_not_to_be_written_to_is_not(loop: Any, place: int) -> None:
    """An array that the loop changes must be one that can be changed."""
    call = copies(loop)
    loop(*call)
    before, after = CALLS[loop][place], call[place]
    call = copies(loop)
    call[place].flags.writeable = False
    if before.tobytes() != after.tobytes():
        with pytest.raises(ValueError, match="read-only"):
            loop(*call)


@each_array
def test_arrays_that_do_not_belong_together_are_refused(loop: Any, place: int) -> None:
    """Never a byte outside an array: one item less in any of them is noticed, or does no harm."""
    call = copies(loop)
    if not call[place].size:
        return
    call[place] = call[place].reshape(-1)[:-1].copy()
    with contextlib.suppress(ValueError):
        loop(*call)


@pytest.mark.parametrize("loop", CALLS, ids=lambda loop: loop.__name__)
def test_too_few_and_other_arguments_are_refused(loop: Any) -> None:
    call = copies(loop)
    with pytest.raises(TypeError):
        loop(*call[:-1])
    with pytest.raises(TypeError):
        loop(*call, 1)
    for place, each in enumerate(call):
        other = [*call[:place], "text" if isinstance(each, int) else 5, *call[place + 1 :]]
        with pytest.raises(TypeError):
            loop(*other)


def test_widths_of_ends_that_differ_are_refused() -> None:
    call = copies(read_loops.walk)
    call[4] = call[4].astype(np.int32)
    with pytest.raises(ValueError, match="do not belong together"):
        read_loops.walk(*call)
