"""Which failures are tried again, and which last: what looks damaged may have been torn on the way, but not for ever.

Two counts, since either alone can be deceived. The first is of defects in a row at one place, whatever they say; it
begins anew when any lane moves. Others may move for ever while one lane stands before damage, so the second is of the
same words: damage is named with its place, and what a reader has passed it does not meet again. What a server did not
expect has no place, and may be another case of the same: it has to last for a while, too.
"""

from __future__ import annotations

from typing import NamedTuple

from holdfast.errors import Corrupt, HoldfastError
from holdfast.io.clock import Clock
from holdfast.subscribe.errors import ServerFailed

TRIES_MAX = 5  # At one place, or of one damage.
LASTING_S = 600.0  # So long the same unexpected failure may come back between events.
_FORGOTTEN_S = 300.0  # Without it for so long, it is over.
_KNOWN_MAX = 1024


class _Seen(NamedTuple):
    tries: int
    first: float
    last: float


class Defects:
    """What looked damaged, or was not expected by the server itself."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._in_a_row = 0
        self._seen: dict[str, _Seen] = {}

    def moved(self) -> None:
        """Some lane stands elsewhere now."""
        self._in_a_row = 0

    def lasts(self, failure: HoldfastError) -> bool:
        """Count a failure: whether trying again has had its chance. Other failures are none of these."""
        if not isinstance(failure, Corrupt | ServerFailed):
            return False
        self._in_a_row += 1
        seen = self._count(str(failure))
        lasting = isinstance(failure, Corrupt) or seen.last - seen.first >= LASTING_S
        return self._in_a_row >= TRIES_MAX or (seen.tries >= TRIES_MAX and lasting)

    def _count(self, words: str) -> _Seen:
        now = self._clock.monotonic()
        before = self._seen.pop(words, None)  # And in again: the one that was not met for longest goes first.
        if before is None or now - before.last > _FORGOTTEN_S:
            before = _Seen(0, now, now)
        self._seen[words] = found = before._replace(tries=before.tries + 1, last=now)
        if len(self._seen) > _KNOWN_MAX:
            del self._seen[next(iter(self._seen))]
        return found
