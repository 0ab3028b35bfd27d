"""Word to other brokers that there is a newer version of the metadata: a hint, which saves them a second.

Who does not hear it sees the version with the next look.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable

from holdfast.broker.peers.link import PeerSilent
from holdfast.broker.peers.peers import Peers
from holdfast.cluster.lives import BrokerLife


class Pokes:
    """At most one is on its way to each life. Belongs to one event loop."""

    def __init__(self, peers: Peers) -> None:
        self._peers = peers
        self._under_way: dict[int, asyncio.Future[None]] = {}
        self._again: set[int] = set()

    def send(self, others: Iterable[BrokerLife]) -> None:
        """Ask them for nothing: every request says which version its sender knows."""
        for life in others:
            if life.life in self._under_way:
                self._again.add(life.life)  # What is on its way may say an older one.
            else:
                self._under_way[life.life] = asyncio.ensure_future(self._send(life))

    async def _send(self, life: BrokerLife) -> None:
        try:
            while True:
                self._again.discard(life.life)
                with contextlib.suppress(PeerSilent):
                    await self._peers.reach(life)
                if life.life not in self._again:
                    return
        finally:
            self._again.discard(life.life)
            del self._under_way[life.life]

    def close(self) -> None:
        for each in list(self._under_way.values()):
            each.cancel()
