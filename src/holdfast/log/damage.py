"""What was found damaged, by partition: said at error level, not too often, counted, and forgotten when it is sound
again."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import NamedTuple

log = logging.getLogger(__name__)

_SAID_AGAIN_S = 600.0  # The same damage is told again after so long; clients may meet it many times a second.
_KNOWN_MAX = 10_000  # Objects; above that they are counted, and no more told apart.


class _Met(NamedTuple):
    told_at: float
    offset: int | None  # Where it was met last, if that is known.


class Damage:
    """Belongs to one event loop."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._known: dict[str, dict[str, _Met]] = {}  # By partition, then by object or file.
        self._known_count = 0
        self.met = 0  # Reads that met damage.
        self.mended = 0  # Batches that had changed in memory, and were taken from the write-ahead log instead.

    def note(self, path: str, failure: Exception, offset: int | None = None) -> None:
        """Something of a partition is not what was written, or is gone. The failure says which byte of what."""
        self.met += 1
        name = str(getattr(failure, "name", None) or getattr(failure, "file", None) or failure)
        known = self._known.setdefault(path, {})
        before = known.get(name)
        if before is not None and self._now() - before.told_at < _SAID_AGAIN_S:
            known[name] = _Met(before.told_at, offset)
            return
        if before is None:
            if self._known_count >= _KNOWN_MAX:
                return
            self._known_count += 1
        known[name] = _Met(self._now(), offset)
        said = str(failure).encode(errors="backslashreplace").decode()  # A path may have bytes that are no text.
        log.error("partition %s: %s", path, said)

    def note_mended(self, path: str, base: int) -> None:
        self.mended += 1
        log.error(
            "partition %s: the batch at offset %d has changed in memory since it was acknowledged; the copy of the "
            "write-ahead log is sound, and is stored in its place: check this machine's memory",
            path,
            base,
        )

    def note_sound(self, path: str, name: str, start: int, end: int) -> None:
        """These offsets of an object were read, and are right."""
        met = self._known.get(path, {}).get(name)
        if met is not None and met.offset is not None and start <= met.offset < end:
            self._forget(path, name)
            log.warning("partition %s: %s is sound again", path, name)

    def keep_only(self, path: str, names: Iterable[str]) -> None:
        """What is not among these any more was replaced or let go."""
        for name in set(self._known.get(path, ())).difference(names):
            self._forget(path, name)

    def _forget(self, path: str, name: str) -> None:
        known = self._known[path]
        del known[name]
        self._known_count -= 1
        if not known:
            del self._known[path]

    def count_of(self, path: str) -> int:
        """How many things of a partition are damaged or gone, as far as anybody has met them."""
        return len(self._known.get(path, ()))
