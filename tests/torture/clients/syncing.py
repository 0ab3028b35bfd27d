"""`holdfast sync` to a second broker, which both are killed again and again; at the end the copy must be exact."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from tests.sync.process import SyncProcess
from tests.sync.sides import read_partition
from tests.torture.clients.seeing import short
from tests.torture.ground import KEPT, PARTITIONS, Ground
from tests.torture.history import History
from tests.torture.starting import start_patiently

from holdfast.client import Client
from holdfast.testing import RunningBroker

_LIVES_S = (2.0, 12.0)
_ENDS = ("kill", "kill", "stop", "mirror")  # What happens to it then: a stop is a clean one, a mirror's is a kill.


@dataclass
class Syncer:
    """Keeps a second broker equal until writers are told to stop; `finish` brings it to the end, and reads it."""

    folder: Path
    name: str = "syncer"

    def __post_init__(self) -> None:
        self._mirror = RunningBroker(self.folder, environment={"HOLDFAST_SUBSCRIBE_LISTEN": "none"})

    def run(self, ground: Ground) -> None:
        history = ground.history(self.name)
        chance = ground.chance(self.name)
        start_patiently(self._mirror)
        while not ground.writing.is_set():
            sync = self._sync(ground)
            self._watch(ground, history, sync, chance.uniform(*_LIVES_S))
            end = chance.choice(_ENDS)
            history.info("client", end=end)
            if end == "mirror":
                self._mirror.kill()
                start_patiently(self._mirror)
                self._watch(ground, history, sync, chance.uniform(*_LIVES_S))
            if end == "stop" and sync.is_running:
                sync.stop()
            elif sync.is_running:
                sync.kill()
        history.close()

    def _sync(self, ground: Ground, *more: str) -> SyncProcess:
        topics = [word for topic in KEPT for word in ("--topics", topic.name)]
        return SyncProcess(ground.bootstrap, self._mirror.bootstrap, *topics, "--save-interval", "1", *more)

    def _watch(self, ground: Ground, history: History, sync: SyncProcess, seconds: float) -> None:
        """Once it copies it waits for brokers that are away, and does not end by itself; a start needs both of them."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and not ground.writing.wait(0.2):
            if not sync.is_running:
                sync.wait()
                op = "unfinished" if sync.looks else "client"
                history.info(op, what=f"sync has ended: {sync.said[-5:]}")
                return

    def finish(self, ground: Ground) -> None:
        history = ground.history(self.name)
        once = self._sync(ground, "--once")
        if once.wait():
            history.info("unfinished", what=f"sync did not come to the end: {once.said[-5:]}")
        with Client(self._mirror.bootstrap) as client:
            for topic in KEPT:
                for partition in range(PARTITIONS):
                    held = read_partition(client, topic.name, partition)
                    values = [short(each.seen.value or b"") for each in held]
                    place = {"topic": topic.name, "partition": partition}
                    history.info("mirror", by="sync", offsets=None, values=values, **place)
        history.close()

    def close(self) -> None:
        self._mirror.close()
