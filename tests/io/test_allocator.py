"""The allocator's limits: memory that is used again at once may be kept, unless somebody else has set them."""

from __future__ import annotations

import subprocess
import sys

import pytest

_PROGRAM = """
import ctypes, os, sys
from holdfast.io.allocator import set_limits

if not hasattr(ctypes.CDLL(None), "mallopt"):
    sys.exit("this C library has another allocator")
given = sys.argv[1] == "given"
assert set_limits(128 << 20, 256 << 20, {} if given else {"GLIBC_TUNABLES": "glibc.malloc.trim_threshold=1"}) == given

def held_mib():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") >> 20

before = held_mib()
large = [bytearray(b"x") * (1 << 20) for _ in range(100)]
del large  # Left alone, the allocator gives the first ones back, and learns.
print(held_mib() - before)
"""


@pytest.mark.parametrize("way", ["given", "left"])
def test_what_is_kept_need_not_be_asked_for_again(way: str) -> None:
    """P1: Spark's workers hold on to what they have freed; who has set limits has the last word."""
    done = subprocess.run([sys.executable, "-c", _PROGRAM, way], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    held_mib = int(done.stdout)
    assert held_mib > 90 if way == "given" else held_mib < 20
