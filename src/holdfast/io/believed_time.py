"""The time of day as far as it can be believed: nothing is let go because a clock has jumped.

Time passes as boot time does, from what was known at the start. Where the clock disagrees, by however much and in
either direction, it is believed only when it has stood like that for long (`trust_s`), and only as far as it did all
the while. What is let go by age goes by the earliest of three: this, the clock, and the store's own time. What is
stamped gets the later of this and the clock, so that nothing is old when it is new.

Across a restart of the process boot time goes on; across one of the machine nothing counts the time. So what was
believed last is kept in the store (`Known`), with the boot time of that moment, and a clock that is ahead of it at a
start is treated as one that has jumped. It is there before the first process of a store writes anything else
(`keep_first`), so that nothing a wrong clock has stamped is ever taken for what was known.
"""

from __future__ import annotations

import contextlib
import json
import logging
from typing import NamedTuple

from holdfast.io.clock import Clock
from holdfast.io.objects import Exists, NotFound, ObjectInfo, Objects
from holdfast.io.objects.names import CLUSTER
from holdfast.io.proven_time import proven_ms

log = logging.getLogger(__name__)

KNOWN = "garbage/believed.json"

_SLACK_MS = 1000  # Clocks are read one after the other, and are set right by small steps.
_WORTH_A_LINE_MS = 60_000


class KnownTime(NamedTuple):
    """What an earlier process believed, and for how long a clock that was ahead of it had stood by then."""

    believed_ms: int
    stood_s: float = 0.0
    boot: str = ""  # That start of the machine, …
    boottime_s: float = 0.0  # … and how long after it that was.

    def encode(self) -> bytes:
        body = {"believed_ms": self.believed_ms, "stood_s": round(self.stood_s, 3)}
        return json.dumps({**body, "boot": self.boot, "boottime_s": round(self.boottime_s, 3)}).encode()

    def later(self, boot: str, boottime_s: float) -> int:
        """What it is by then: time that has passed for sure is added."""
        passed_s = boottime_s - self.boottime_s if boot and boot == self.boot else 0.0
        return self.believed_ms + int(max(0.0, passed_s) * 1000)


class BelievedTime:
    """Any thread may ask; only the event loop tells."""

    def __init__(self, clock: Clock, trust_s: float) -> None:
        self._clock = clock
        self._trust_s = trust_s
        self._base_ms = clock.now_ms()  # What is believed of …
        self._base_at = clock.boottime()  # … this moment.
        self._store_ahead_ms = 0  # Of us; below 0, behind.
        self._apart_ms = 0  # How far the clock is away, at least, since …
        self._since: float | None = None  # … this moment; None while it is where we are.

    def _steady_ms(self) -> int:
        return self._base_ms + int((self._clock.boottime() - self._base_at) * 1000)

    def now_ms(self) -> int:
        """No later than it is, whatever clocks say: for what is let go by age."""
        steady = self._steady_ms()
        return min(steady, self._clock.now_ms(), steady + self._store_ahead_ms)

    def stamp_ms(self) -> int:
        """No earlier than it is, unless the clock has been wrong for long: for what will be let go by its age."""
        return max(self._steady_ms(), self._clock.now_ms())

    @property
    def apart_ms(self) -> int:
        """How far the clock is ahead of what is believed; below 0, behind."""
        return self._clock.now_ms() - self._steady_ms()

    def known(self) -> KnownTime:
        """What the next process should know."""
        return KnownTime(self.now_ms(), self._stood_s(), self._clock.boot(), self._clock.boottime())

    def _stood_s(self) -> float:
        return 0.0 if self._since is None else self._clock.boottime() - self._since

    def learn(self, known: KnownTime) -> None:
        """At a start: an earlier process has got no further than this."""
        believed_ms = known.later(self._clock.boot(), self._base_at)
        if believed_ms < self._base_ms:
            self._base_ms = believed_ms
            self.look()
            if self._since is not None:
                self._since -= known.stood_s

    def note_store(self, store_ms: int) -> None:
        """The store's own time is this, now."""
        self._store_ahead_ms = store_ms - self._steady_ms()

    def look(self) -> None:
        """See whether the clock has jumped, or has stood for long enough. To be called every minute or so."""
        apart = self.apart_ms
        if abs(apart) <= _SLACK_MS:
            self._end("is where it is expected again")
        elif self._since is None or (apart > 0) != (self._apart_ms > 0):
            self._since, self._apart_ms = self._clock.boottime(), apart
            if abs(apart) > _WORTH_A_LINE_MS:
                self._say(f"is believed by retention only when it has stood like that for {self._trust_s:.0f} s")
        else:
            self._apart_ms = min(self._apart_ms, apart, key=abs)
            if self._stood_s() >= self._trust_s:
                self._base_ms += self._apart_ms
                self._end("has stood for long enough, and is believed")

    def _end(self, how: str) -> None:
        if self._since is not None and abs(self._apart_ms) > _WORTH_A_LINE_MS:
            self._say(how)
        self._since, self._apart_ms = None, 0

    def _say(self, how: str) -> None:
        apart_s = self._apart_ms / 1000
        facts = {"event": "clock_jump", "seconds": apart_s}
        log.warning("clock: %+.0f s apart from the time that has passed, it %s", apart_s, how, extra={"facts": facts})


def read_known(objects: Objects) -> KnownTime | None:
    """What an earlier process left in the store; without that, when the cluster was made. None: it is new. Blocks."""
    for name in (KNOWN, CLUSTER):
        found = _find(objects, name)
        if found is None:
            continue
        known = KnownTime(found.modified_ms)
        with contextlib.suppress(NotFound, ValueError, TypeError, KeyError):
            said = json.loads(objects.get(KNOWN))
            known = KnownTime(
                min(found.modified_ms, int(said["believed_ms"])),
                float(said["stood_s"]),
                str(said.get("boot", "")),
                float(said.get("boottime_s", 0.0)),
            )
        return known
    return None


def save_known(objects: Objects, known: KnownTime) -> int | None:
    """Keep it in the store; the store's own time, if it says so. Blocks."""
    objects.put(KNOWN, [known.encode()])
    found = _find(objects, KNOWN)
    return None if found is None else found.modified_ms


def keep_first(objects: Objects, trust_s: float, clock: Clock) -> None:
    """Where nobody has kept the time yet, what the store proves itself is kept, before we write anything else there.

    To be called at a start; blocks. What is there already stays. It is believed of this moment, which is no earlier: so
    the next process knows what has passed since, however short this one lives.
    """
    if _find(objects, KNOWN) is not None:
        return
    first = read_known(objects)
    if first is None:
        return
    with contextlib.suppress(Exists):
        believed_ms = max(first.believed_ms, proven_ms(objects, trust_s))
        objects.put_if_absent(KNOWN, [KnownTime(believed_ms, 0.0, clock.boot(), clock.boottime()).encode()])


def _find(objects: Objects, name: str) -> ObjectInfo | None:
    return next((each for each in objects.list(name) if each.name == name), None)
