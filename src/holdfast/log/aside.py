"""Partitions that are set aside: their tails go to quarantine, so that they pin the write-ahead log no longer."""

from __future__ import annotations

import logging

from holdfast.errors import HoldfastError
from holdfast.log.errors import SetAside
from holdfast.log.ground import Ground
from holdfast.log.kept import Aside
from holdfast.log.mend import gather_sound
from holdfast.log.quarantine import Quarantine
from holdfast.log.tail import Tail, TailBatch
from holdfast.segment.names import PartitionId

log = logging.getLogger(__name__)


class Asides:
    """Moves tails from the write-ahead log into quarantine. Without a quarantine they stay where they are."""

    def __init__(self, ground: Ground, quarantine: Quarantine | None) -> None:
        self._ground = ground
        self._quarantine = quarantine
        self._busy: set[PartitionId] = set()

    def check(self, home: PartitionId) -> None:
        """Raise if records of the partition are in quarantine: only a repair puts it together again."""
        aside = self._ground.journal.kept.aside.get(home)
        if aside is not None:
            raise SetAside(home.path, *aside)

    def forget_saved(self, *replayed: dict[PartitionId, Tail]) -> None:
        """What the write-ahead log still has of partitions whose records are in quarantine is needed no more."""
        for home in self._ground.journal.kept.aside:
            for tails in replayed:
                if home in tails:
                    tails.pop(home).clear()

    async def save(self, home: PartitionId, tails: list[Tail], why: Exception) -> SetAside | None:
        """Save the batches of some tails and empty these; None where there is nothing to save, or no place for it."""
        batches = [batch for tail in tails for batch in tail]
        if self._quarantine is None or not batches or home in self._busy:
            return None
        self._busy.add(home)
        try:
            aside = await self._write(home, batches, why)
        except (HoldfastError, OSError) as failure:
            # They stay in the write-ahead log: that costs room, and loses nothing.
            log.error("%s: its records stay in the write-ahead log: %s", home.path, failure)
            return None  # And `home` stays busy: it is not tried again before the next start.
        self._busy.discard(home)
        for tail in tails:
            tail.clear()
        self._ground.on_change()
        return SetAside(home.path, *aside, why=why)

    async def _write(self, home: PartitionId, batches: list[TailBatch], why: Exception) -> Aside:
        assert self._quarantine is not None
        ground, journal = self._ground, self._ground.journal
        data, lost = await ground.calls.local(gather_sound, journal, batches)
        for each in lost:
            log.error("%s: offsets [%d, %d) cannot be saved: no copy is sound", home.path, each.base, each.end)
        span = min(each.base for each in batches), max(each.end for each in batches)
        file = await ground.calls.local(self._quarantine.save, home, span, str(why), data, journal.identity)
        aside = Aside(*span, file)
        await ground.calls.local(journal.set_aside, home, aside)
        return aside
