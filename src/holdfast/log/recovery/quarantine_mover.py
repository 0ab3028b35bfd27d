"""Partitions in quarantine: their tails are moved to files, so that they pin the write-ahead log no longer."""

from __future__ import annotations

import asyncio
import logging

from holdfast.errors import HoldfastError
from holdfast.log.context import LogContext
from holdfast.log.errors import Lost, Quarantined
from holdfast.log.metadata import QuarantinedTail
from holdfast.log.partition.mend import gather_raw, gather_sound
from holdfast.log.partition.tail import Tail
from holdfast.log.partition.tail_batch import TailBatch
from holdfast.log.recovery.quarantine import Quarantine
from holdfast.types import PartitionId

log = logging.getLogger(__name__)

_RETRY_MS_MAX = 60_000


class QuarantineMover:
    """Moves tails from the write-ahead log into quarantine. Without a quarantine they stay where they are."""

    def __init__(self, ground: LogContext, quarantine: Quarantine | None) -> None:
        self._ground = ground
        self._quarantine = quarantine
        self._busy: set[PartitionId] = set()
        self._moving = asyncio.Lock()  # Held while something is moved that could not be at once.
        self._late: dict[PartitionId, asyncio.Task[None]] = {}  # What could not be saved at once.

    def check(self, home: PartitionId) -> None:
        """Raise if records of the partition are in quarantine: only a repair puts it together again."""
        quarantined = self._ground.journal.kept.quarantined.get(home)
        if quarantined is not None:
            raise Quarantined(home.path, *quarantined)

    def forget_saved(self, *replayed: dict[PartitionId, Tail]) -> None:
        """What the write-ahead log still has of partitions whose records are in quarantine is needed no more."""
        for home in self._ground.journal.kept.quarantined:
            for tails in replayed:
                if home in tails:
                    tails.pop(home).clear()

    async def save(self, home: PartitionId, tails: list[Tail], why: Exception) -> Quarantined | None:
        """Save the batches of some tails and empty these; None where there is nothing to save, or no place for it."""
        if self._quarantine is None or not any(len(tail) for tail in tails) or home in self._busy:
            return None
        self._busy.add(home)
        try:
            return await self._move(home, tails, why)
        except (HoldfastError, OSError) as failure:
            # They stay in the write-ahead log for now: that costs room, and loses nothing.
            log.error("%s: its records stay in the write-ahead log, tried again: %s", home.path, failure)
            self._late[home] = asyncio.ensure_future(self._move_later(home, tails, why))
            return None

    async def _move(self, home: PartitionId, tails: list[Tail], why: Exception) -> Quarantined:
        quarantined, lost = await self._write(home, [batch for tail in tails for batch in tail], why)
        self._busy.discard(home)
        for tail in tails:
            tail.clear()
        self._ground.on_change()
        return Quarantined(home.path, *quarantined, why=why, lost=lost)

    async def _move_later(self, home: PartitionId, tails: list[Tail], why: Exception) -> None:
        """Try it until it works: what stays in the write-ahead log would stop the producers of all partitions."""
        delay_ms = self._ground.settings.flush_retry_ms
        while any(len(tail) for tail in tails):  # Empty when the topic was deleted meanwhile.
            await self._ground.calls.pause(delay_ms / 1000)
            delay_ms = min(delay_ms * 2, _RETRY_MS_MAX)
            try:
                async with self._moving:
                    log.error("%s", await self._move(home, tails, why))
            except (HoldfastError, OSError) as failure:
                log.log(
                    logging.ERROR if delay_ms == _RETRY_MS_MAX else logging.DEBUG,
                    "%s: its records stay in the write-ahead log, tried again: %s",
                    home.path,
                    failure,
                )
        self._busy.discard(home)
        self._late.pop(home, None)

    async def leave(self, home: PartitionId) -> None:
        """The partition is being opened again: its tail is moved by now, or stays where it is."""
        if home in self._late:
            async with self._moving:  # Never in the middle of it.
                task = self._late.pop(home, None)
                if task is not None:
                    task.cancel()
                self._busy.discard(home)

    async def close(self) -> None:
        """Try nothing any more; the next start does."""
        late = list(self._late.values())
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)

    async def _write(
        self, home: PartitionId, batches: list[TailBatch], why: Exception
    ) -> tuple[QuarantinedTail, Lost | None]:
        assert self._quarantine is not None
        ground, journal = self._ground, self._ground.journal
        data, lost = await ground.calls.local(gather_sound, journal, batches)
        span = min(each.base for each in batches), max(each.end for each in batches)
        file = await ground.calls.local(self._quarantine.save, home, span, str(why), data, journal.identity)
        found: Lost | None = None
        if lost:
            pieces = await ground.calls.local(gather_raw, journal, lost)
            raw = await ground.calls.local(self._quarantine.save_lost, file, home, str(why), pieces, journal.identity)
            found = Lost([(each.base, each.end) for each in lost], raw)
        quarantined = QuarantinedTail(*span, file)
        await ground.calls.local(journal.quarantine, home, quarantined)
        return quarantined, found
