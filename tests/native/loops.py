"""Call a loop in C and the same in Python, and hold both to the same answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from holdfast.record.compiled import IN_PYTHON

Array: TypeAlias = NDArray[Any]
Loop: TypeAlias = Callable[..., Any]

WIDTHS = (np.int32, np.int64)  # Of ends.


class Target:
    """Memory that is handed over by its address, with something in it that no loop may touch unasked."""

    def __init__(self, size: int) -> None:
        self.memory = np.full(size + 64, 0xA5, np.uint8)


def both(loop: Loop, *arguments: Any) -> tuple[Any, list[Array]]:
    """The answer and the arrays after the call: the same from C and from Python. Addresses count from their target."""
    in_c, in_python = (_called(each, arguments) for each in (loop, IN_PYTHON[loop]))
    assert in_c[0] == in_python[0]
    for number, (one, other) in enumerate(zip(in_c[1], in_python[1], strict=True)):
        assert one.tobytes() == other.tobytes(), f"array {number} differs"
    return in_c


def _called(loop: Loop, arguments: tuple[Any, ...]) -> tuple[Any, list[Array]]:
    arrays: list[Array] = []
    handed: list[Any] = []
    target = 0
    for each in arguments:
        if isinstance(each, Target):
            arrays.append(each.memory.copy())
            handed.append(target := arrays[-1].ctypes.data)
        elif isinstance(each, np.ndarray):
            arrays.append(each.copy())
            handed.append(arrays[-1])
        else:
            handed.append(each)
    with np.errstate(over="ignore"):
        answer = loop(*handed)
    if isinstance(answer, int | np.integer) and 0 < target <= answer:
        answer = int(answer) - target
    return answer, arrays


def strings(texts: list[bytes | None], width: Any) -> tuple[Array, Array, Array]:
    """Ends, bytes and validity bits of a column."""
    ends = np.cumsum([0, *(len(each or b"") for each in texts)], dtype=width)
    valid = np.packbits([each is not None for each in texts], bitorder="little") if texts else np.empty(0, np.uint8)
    return ends, np.frombuffer(b"".join(each or b"" for each in texts), np.uint8), valid
