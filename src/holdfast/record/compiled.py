"""Compile a loop with numba: on first use, kept on disk, without the interpreter lock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba

Loop = TypeVar("Loop", bound=Callable[..., Any])


def compiled_with_lock(loop: Loop) -> Loop:
    """The same, but other threads wait meanwhile: for what is so short that getting the lock back takes longer."""
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
    try:
        quick: Loop = numba.njit(loop, nogil=True, cache=True)
    except RuntimeError:  # No folder.
        quick = numba.njit(loop, nogil=True)
    return quick
