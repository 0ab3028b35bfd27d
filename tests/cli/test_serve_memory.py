"""The server's memory: what large buffers held goes back to the system. In a process of its own."""

from __future__ import annotations

import subprocess
import sys

import pytest

_PROGRAM = """
import ctypes, os, sys
from holdfast.cli.serve.memory import give_large_buffers_back

if not hasattr(ctypes.CDLL(None), "mallopt"):
    sys.exit("this C library has another allocator")
if sys.argv[1] == "given":
    assert give_large_buffers_back({})
else:
    assert not give_large_buffers_back({"MALLOC_MMAP_THRESHOLD_": "1"})

def held_mib():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") >> 20

before = held_mib()
small, large = [], []
for _ in range(2):  # The first time the allocator learns.
    for _ in range(200):
        large.append(bytearray(b"x") * (1 << 20))
        small.append(bytearray(2000))
    large.clear()
print(held_mib() - before)
"""


@pytest.mark.parametrize("way", ["given", "left"])
def test_large_buffers_leave_no_holes_between_small_ones(way: str) -> None:
    """O6: two hundred of a mebibyte come and go among small ones that stay; somebody else's settings are left alone."""
    done = subprocess.run([sys.executable, "-c", _PROGRAM, way], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    held_mib = int(done.stdout)
    assert held_mib < 20 if way == "given" else held_mib > 100
