"""A world with a quarantine: one broker's disk, its store, and the place for tails that no partition can hold."""

from __future__ import annotations

from typing import Any

from tests.log.log_world import LogWorld

from holdfast.io.calls import BlockingCalls, InlineCalls
from holdfast.io.chance import SeededChance
from holdfast.io.disk.simulated import SimulatedDisk
from holdfast.log.logs import Logs
from holdfast.log.settings import LogSettings


class QuarantineWorld(LogWorld):
    """Opens the logs as a broker does."""

    def __init__(self, seed: int = 1, *, reserve_size: int = 0, **settings: Any) -> None:
        super().__init__(seed, **settings)
        self.quarantine = SimulatedDisk(SeededChance(seed + 1), path="/quarantine")
        self.reserve_size = reserve_size

    async def open(self, *, calls: BlockingCalls | None = None, background: bool = False, **settings: Any) -> Logs:
        return await Logs.open(
            self.disk,
            self.store,
            LogSettings(**{**self.settings, **settings}),
            wal_settings=self.wal,
            clock=self.clock,
            chance=SeededChance(self.seed * 1_000_003 + self.disk.calls),
            calls=calls or InlineCalls(),
            threaded=False,
            background=background,
            quarantine=lambda: self.quarantine,
            reserve_size=self.reserve_size,
        )

    def set_back(self) -> tuple[dict[str, Any], list[str]]:
        """The store as it is now, to be put back later."""
        return dict(self.bucket.stored), list(self.bucket.names)

    def put_back(self, kept: tuple[dict[str, Any], list[str]]) -> None:
        self.bucket.stored, self.bucket.names = kept

    def saved(self) -> list[str]:
        """The files in quarantine."""
        return self.quarantine.names()
