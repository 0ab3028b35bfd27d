"""Compile a loop with numba: on first use, kept on disk, without the interpreter lock.

Without numba, which is 210 MB, the same loops are run by Python: the same answers, some hundred times slower. A broker
looks at records in another way then (`validate`), and needs them only where it compacts.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Final, TypeVar

try:
    import numba
except ModuleNotFoundError:
    numba = None  # type: ignore[assignment]
    # Numbers of 64 bits go round in hashes, as they should; machine code says nothing of it.
    warnings.filterwarnings("ignore", "overflow encountered", RuntimeWarning, r"holdfast\..*_loops")

Loop = TypeVar("Loop", bound=Callable[..., Any])

IS_NATIVE: Final = numba is not None


def compiled_with_lock(loop: Loop) -> Loop:
    """The same, but other threads wait meanwhile: for what is so short that getting the lock back takes longer."""
    if not IS_NATIVE:
        return loop
    try:
        quick: Loop = numba.njit(loop, cache=True)
    except RuntimeError:
        quick = numba.njit(loop)
    return quick


def compiled(loop: Loop) -> Loop:
    """The loop as machine code.

    numba looks for a folder to keep it in: NUMBA_CACHE_DIR, then beside the source, then the user's cache folder.
    Where none of them can be written every process compiles anew: that takes seconds, and changes nothing else.
    """
    if not IS_NATIVE:
        return loop
    try:
        quick: Loop = numba.njit(loop, nogil=True, cache=True)
    except RuntimeError:  # No folder.
        quick = numba.njit(loop, nogil=True)
    return quick
