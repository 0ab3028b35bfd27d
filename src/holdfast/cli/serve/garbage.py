"""How the server's process looks for garbage in cycles.

A full collection walks every living object, and all clients wait for it. Nearly everything that lives is code, and
batches of the tail, which go when nobody holds them. So what has survived one full collection is not looked at again
(`gc.freeze`), and the next one walks only what came since. Cycles may be among the frozen, too: once in a while a full
collection walks everything.
"""

from __future__ import annotations

import gc
from time import monotonic

THRESHOLDS = 5_000, 10, 5  # Of objects more than before: the longest walk is one of 250,000, some 50 ms.
WHOLE_EVERY_S = 3600.0


class Freezer:
    """Called by Python's collector around each collection."""

    def __init__(self, whole_every_s: float = WHOLE_EVERY_S) -> None:
        self._whole_every_s = whole_every_s
        self._whole_at = monotonic()

    def __call__(self, phase: str, info: dict[str, int]) -> None:
        if info["generation"] < 2:
            return
        if phase == "stop":
            gc.freeze()
        elif monotonic() >= self._whole_at + self._whole_every_s:
            self._whole_at = monotonic()
            gc.unfreeze()


def put_off() -> None:
    """Collect nothing while modules are loaded: there is no garbage among them, and looking takes a seventh of it."""
    gc.disable()


def freeze_survivors(freezer: Freezer | None = None) -> None:
    """From now on, and with everything that lives now. Called again, with all that has come since."""
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)
    if not any(isinstance(each, Freezer) for each in gc.callbacks):
        gc.callbacks.append(freezer or Freezer())
    gc.enable()
