"""The server's collector: what it looks at, and that it still finds every cycle. Each in a process of its own."""

from __future__ import annotations

import subprocess
import sys

_BEGIN = """
import gc
from holdfast.cli.serve.garbage import Freezer, freeze_survivors

class Node:
    alive = 0
    def __init__(self):
        self.me = self
        Node.alive += 1
    def __del__(self):
        Node.alive -= 1
"""


def _run(program: str) -> str:
    done = subprocess.run([sys.executable, "-c", _BEGIN + program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_what_survived_is_not_walked_again() -> None:
    """S4: a long tail is walked once, not by every full collection."""
    _run("""
freeze_survivors()
tail = [[number] for number in range(200_000)]
gc.collect()
assert gc.get_freeze_count() > 200_000, gc.get_freeze_count()
assert len(gc.get_objects(generation=2)) < 1_000
""")


def test_young_cycles_are_found() -> None:
    """O6: nobody has to ask for a collection."""
    _run("""
freeze_survivors()
for _ in range(100_000):
    Node()
assert Node.alive <= 5_100, Node.alive
""")


def test_frozen_cycles_are_found_in_the_end() -> None:
    """O6: memory stays bounded: the collection that is due walks everything."""
    _run("""
freeze_survivors(Freezer(whole_every_s=0.0))
nodes = [Node() for _ in range(10)]
gc.collect()
del nodes
assert Node.alive == 10, "frozen"
gc.collect()
assert Node.alive == 0, Node.alive
""")
