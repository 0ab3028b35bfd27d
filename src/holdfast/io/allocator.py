"""The C library's allocator: which buffers have pages of their own, and how much that is free is kept.

Left alone it learns from what is freed, up to 32 MiB, and then puts large buffers between the small ones.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Mapping

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # As in glibc's malloc.h.
_VARIABLES = ("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_", "GLIBC_TUNABLES")


def set_limits(own_pages_size: int, kept_size: int, environment: Mapping[str, str] = os.environ) -> bool:
    """From now on a buffer of `own_pages_size` bytes has pages that go back to the system with it, and at most
    `kept_size` free bytes are kept at the end of the smaller ones.

    False where the allocator is another one, or where somebody has told it what to do.
    """
    if any(name in environment for name in _VARIABLES):
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    return all([mallopt(_MMAP_THRESHOLD, own_pages_size), mallopt(_TRIM_THRESHOLD, kept_size)])  # Each for itself.
