"""Which partition a key goes to, as Java's producers choose: murmur2 of the key, for whole columns at a time."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from holdfast.record.columnar.columns import Binary
from holdfast.record.columnar.encode import locate

Numbers: TypeAlias = NDArray[np.int64]

NO_KEY: Final = -1


def partitions_of(keys: Binary, count: int | Numbers) -> Numbers:
    """For each key its partition among `count` (of all, or of each), or NO_KEY where there is none.

    An empty key is a key.
    """
    from holdfast.record.loops.hash_loops import hash_keys  # Here: without C it loads numba.

    at, sizes = locate(keys, np.arange(len(keys)))
    hashed: NDArray[Any] = np.empty(len(keys), np.uint32)
    hash_keys(at, sizes, hashed)
    found = (hashed & np.uint32(0x7FFFFFFF)).astype(np.int64) % count
    found[sizes < 0] = NO_KEY
    return found
