"""The loops of the merge, as machine code: by order time, then rank, then place.

What one loop calls stands in the same file: numba's cache on disk notices only changes of a loop's own file.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from numpy.typing import NDArray

from holdfast.record.compiled import compiled

Array: TypeAlias = NDArray[Any]


@compiled
def _is_before(times: Array, ranks: Array, one: int, other: int) -> bool:
    if times[one] != times[other]:
        return bool(times[one] < times[other])
    if ranks[one] != ranks[other]:
        return bool(ranks[one] < ranks[other])
    return one < other  # Of one partition, in two runs: the earlier run has the lower offsets.


@compiled
def _sink(heap: Array, count: int, at: Array, times: Array, ranks: Array, place: int) -> None:
    """Let the run at a place of the heap find its place."""
    while True:
        child = 2 * place + 1
        if child >= count:
            return
        if child + 1 < count and _is_before(times, ranks, at[heap[child + 1]], at[heap[child]]):
            child += 1
        if not _is_before(times, ranks, at[heap[child]], at[heap[place]]):
            return
        heap[place], heap[child] = heap[child], heap[place]
        place = child


@compiled
def merge_runs(times: Array, ranks: Array, starts: Array, at: Array, heap: Array, turns: Array) -> None:
    """Fill `turns` with the rows in merged order. Run r is `[starts[r], starts[r + 1])`, in order in itself.

    `at` and `heap` are room for one number per run. The top run gives rows for as long as they come before the second.
    """
    count = 0
    for run in range(len(starts) - 1):
        at[run] = starts[run]
        if starts[run] < starts[run + 1]:
            heap[count] = run
            count += 1
    for place in range(count // 2 - 1, -1, -1):
        _sink(heap, count, at, times, ranks, place)
    out = 0
    while count > 1:
        run = heap[0]
        end = starts[run + 1]
        second = heap[1]
        if count > 2 and _is_before(times, ranks, at[heap[2]], at[second]):
            second = heap[2]
        limit = at[second]
        row = at[run]
        while row < end and not _is_before(times, ranks, limit, row):
            turns[out] = row
            out += 1
            row += 1
        at[run] = row
        if row == end:
            count -= 1
            heap[0] = heap[count]
        _sink(heap, count, at, times, ranks, 0)
    if count:
        for row in range(at[heap[0]], starts[heap[0] + 1]):
            turns[out] = row
            out += 1
