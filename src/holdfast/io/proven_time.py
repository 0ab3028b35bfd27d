"""How late it is for sure, by the times of what is in a store: for the first start that keeps the time there.

Objects carry the time at which they were put, by a clock that may have jumped: in a local store it is the broker's own.
So the newest time proves nothing. A row of them does, in the way in which a clock that has jumped is believed in the
end: it goes over `trust_s` at least, without a hole in which a jump could hide.

    0 ── x x  x x   x x  x x ──────────── eight days ─────────────── x x   now
                           ^ the row ends here: the two on the right are too few hours to be believed

A jump that is no longer than the holes that are allowed is not seen: that much is taken off. So no single jump, of any
size and in either direction, makes it later than it is.
"""

from __future__ import annotations

from itertools import islice

from holdfast.io.objects import Objects

_OBJECTS_MAX = 100_000  # Looked at, in the order of their names: with fewer of them it is only earlier.
_HOLES = 4  # A hole may be this part of the time over which a row must go.


def proven_ms(objects: Objects, trust_s: float) -> int:
    """It is no earlier than this; 0 where nothing is proven. Blocks: to be called once in a store's life."""
    times = sorted((each.modified_ms for each in islice(objects.list(""), _OBJECTS_MAX)), reverse=True)
    hole_ms = int(trust_s * 1000) // _HOLES
    for start, end in _rows(times, hole_ms):
        if end - start >= trust_s * 1000:
            return end - hole_ms
    return 0


def _rows(times: list[int], hole_ms: int) -> list[tuple[int, int]]:
    """The first and the last time of each row, the newest row first."""
    rows: list[tuple[int, int]] = []
    for each in times:
        if rows and rows[-1][0] - each <= hole_ms:
            rows[-1] = each, rows[-1][1]
        else:
            rows.append((each, each))
    return rows
