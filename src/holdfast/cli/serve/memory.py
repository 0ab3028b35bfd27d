"""How the server's process gives memory back.

A batch of some size lies in a buffer of its own until it is flushed. When such buffers are freed, the C library's
allocator learns to put the next ones between the small ones, where they leave holes that nobody else can have: after
600 MB were produced, twice as much memory was held as was in use. With a fixed limit each large buffer has pages of its
own, which go back to the system with it; the processor time stayed the same.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from holdfast.io.allocator import set_limits

OWN_PAGES_SIZE = 128 * 1024  # From here on a buffer has pages of its own. It is what the allocator begins with.
TOP_SIZE = 1024 * 1024  # So much may be left over at the end of the small ones.


def give_large_buffers_back(environment: Mapping[str, str] = os.environ) -> bool:
    """From now on. False where the allocator is another one, or where somebody has told it what to do."""
    return set_limits(OWN_PAGES_SIZE, TOP_SIZE, environment)
