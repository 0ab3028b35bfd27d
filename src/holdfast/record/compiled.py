"""Loops as machine code: from C, which comes with Holdfast (`native`); where that was not built, by numba.

In C is what a loop's own file offers to others; what it calls in itself is left to Python then, and nobody calls it.
numba compiles on first use, keeps what it made on disk, and takes 100 MiB and half a second to load: where C is there
it is never loaded. Without both the same loops are run by Python: the same answers, some hundred times slower. A broker
looks at records in another way then (`validate`), and needs them only where it compacts.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable
from typing import Any, Final, TypeVar

from holdfast.native import ADVICE, has_numba, kernels

log = logging.getLogger(__name__)

Loop = TypeVar("Loop", bound=Callable[..., Any])

BY_NUMBA: Final = has_numba()
IN_PYTHON: Final[dict[Any, Callable[..., Any]]] = {}  # Of each loop in C: tests hold both to the same answers.

if BY_NUMBA:
    import numba
else:  # Numbers of 64 bits go round in hashes, as they should; machine code says nothing of it.
    warnings.filterwarnings("ignore", "overflow encountered", RuntimeWarning, r"holdfast\..*_loops")
if kernels is None and not BY_NUMBA:
    log.warning("Python decodes records, at a hundredth of the speed: %s", ADVICE)


def compiled_with_lock(loop: Loop) -> Loop:
    """The same, but other threads wait meanwhile: for what is so short that getting the lock back takes longer."""
    return _in_c(loop) if kernels is not None else _by_numba(loop)


def compiled(loop: Loop) -> Loop:
    """The loop as machine code, without the interpreter's lock."""
    return _in_c(loop) if kernels is not None else _by_numba(loop, nogil=True)


def _in_c(loop: Loop) -> Loop:
    """What is called FILE_NAME in C; the loop itself if that is not there."""
    file = loop.__module__.rpartition(".")[2].removesuffix("_loops")
    quick: Loop = getattr(kernels, f"{file}_{loop.__name__}", loop)
    IN_PYTHON[quick] = loop
    return quick


def _by_numba(loop: Loop, **options: bool) -> Loop:
    """Made when it is first called, and kept in a folder: NUMBA_CACHE_DIR, else beside the source, else the user's.

    Where none of them can be written every process compiles anew: that takes seconds, and changes nothing else.
    """
    if not BY_NUMBA:
        return loop
    njit: Any = numba.njit
    try:
        quick: Loop = njit(loop, cache=True, **options)
    except RuntimeError:  # No folder.
        quick = njit(loop, **options)
    return quick
