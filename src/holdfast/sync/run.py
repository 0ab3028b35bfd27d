"""A whole sync: one direction or two, each in a thread of its own. When one cannot go on, both end."""

from __future__ import annotations

import threading
from collections.abc import Callable

from holdfast.client import ClientSettings
from holdfast.io.chance import Chance, SystemChance
from holdfast.io.clock import Clock, SystemClock
from holdfast.sync.configs import SeenConfigs
from holdfast.sync.direction import Direction
from holdfast.sync.errors import RecordRefused
from holdfast.sync.progress import SyncLook
from holdfast.sync.settings import SyncSettings
from holdfast.sync.sides import Side, meet_both
from holdfast.sync.topics import check_choice, check_matches, list_topics
from holdfast.sync.waiting import wait_for


class Sync:
    """Keeps the topics of two clusters equal. The constructor asks both, and waits for them; `run` copies."""

    def __init__(
        self,
        first: ClientSettings | str,
        second: ClientSettings | str,
        settings: SyncSettings,
        *,
        clock: Clock | None = None,
        chance: Chance | None = None,
    ) -> None:
        self.settings = settings
        clock, chance = clock or SystemClock(), chance or SystemChance()

        both = ClientSettings.at(first), ClientSettings.at(second)

        def ask(patience_s: float) -> tuple[Side, Side]:
            sides = meet_both(*both, clock, chance, patience_s)
            check_topics(sides, settings, patience_s)
            return sides

        self.sides = wait_for(ask, settings.start_s, clock)
        self._stop = threading.Event()
        ways = [self.sides, self.sides[::-1]] if settings.both else [self.sides]
        seen = SeenConfigs(configs=settings.configs, acls=settings.acls)
        self._directions = [Direction(source, target, settings, self._stop, seen) for source, target in ways]
        self._failures: list[BaseException] = []

    def run(self, watch: Callable[[list[SyncLook]], None] | None = None, watch_s: float = 1.0) -> None:
        """Copy until it is stopped or caught up. `watch` is called now and then, and at the end."""
        threads = [threading.Thread(target=self._carry, args=(each,), daemon=True) for each in self._directions]
        for each in threads:
            each.start()
        for each in threads:
            each.join(watch_s)
            while each.is_alive():
                if watch is not None:
                    watch(self.look())
                each.join(watch_s)
        if watch is not None:
            watch(self.look())  # When nothing changes any more: who looked before has not seen the end.
        for failure in self._failures:
            raise failure

    def _carry(self, direction: Direction) -> None:
        try:
            direction.run()
        except BaseException as failure:  # Raised again by `run`, in the thread where somebody looks.
            self._failures.append(failure)
            if not isinstance(failure, RecordRefused):  # Else it has copied what can be, and the other one goes on.
                self._stop.set()

    def stop(self) -> None:
        """Finish what is under way, save, and end. From any thread, or a signal handler."""
        self._stop.set()

    def look(self) -> list[SyncLook]:
        """All directions at this moment."""
        return [each.look() for each in self._directions]


def check_topics(sides: tuple[Side, Side], settings: SyncSettings, patience_s: float) -> None:
    """Whether there is something to copy, and nothing that needs a choice nobody has made."""
    with sides[0].client(patience_s) as first, sides[1].client(patience_s) as second:
        names = set(list_topics(first))
        address = sides[0].address
        if settings.both:
            names |= set(list_topics(second))
            address = f"{address} and {sides[1].address}"
        check_matches(names, settings.patterns, address)
        if settings.both and not settings.last_writer_wins:
            check_choice([first, second], settings.patterns)
