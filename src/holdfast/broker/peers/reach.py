"""Whether other brokers of the cluster can be reached, on the port that they are asked on: looked at all the time.

It decides nothing. Who lives is said by leases in the store; transactions over two brokers that cannot reach each other
wait, and an operator should know.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable

from holdfast.broker.peers.link import PeerSilent
from holdfast.broker.peers.peers import Peers
from holdfast.cluster.lives import BrokerLife

log = logging.getLogger(__name__)


class Reach:
    """Belongs to one event loop."""

    def __init__(self, peers: Peers) -> None:
        self._peers = peers
        self.unreachable: frozenset[int] = frozenset()  # Brokers that did not answer when they were last asked.

    async def look(self, others: Iterable[BrokerLife]) -> None:
        """Ask all of them once."""
        asked = list(others)
        failures = await asyncio.gather(*(self._ask(each) for each in asked))
        found = {each.broker: why for each, why in zip(asked, failures, strict=True) if why is not None}
        for broker in found.keys() - self.unreachable:
            facts = {"event": "peer_unreachable", "broker": broker}
            log.warning("broker %d cannot be reached from here: %s", broker, found[broker], extra={"facts": facts})
        for broker in self.unreachable & {each.broker for each in asked} - found.keys():
            log.info("broker %d can be reached again", broker, extra={"facts": {"event": "peer_reached"}})
        self.unreachable = frozenset(found)

    async def _ask(self, life: BrokerLife) -> PeerSilent | None:
        try:
            await self._peers.reach(life)
        except PeerSilent as failure:
            return failure
        return None
