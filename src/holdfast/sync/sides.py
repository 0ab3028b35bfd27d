"""The two ends of a direction: who they are, and clients of them."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.client import Client, ClientSettings
from holdfast.errors import Rejected
from holdfast.io.chance import Chance
from holdfast.io.clock import Clock
from holdfast.sync.errors import ClusterReplaced, SameCluster
from holdfast.sync.origin.mark import CLUSTER_SIZE_MAX

CLIENT_ID = "holdfast-sync"
PATIENCE_S = 5.0  # For one call; whoever waits for a broker that is away waits outside, where a stop is heard.
_SILENCE_S = 10.0  # A broker that says nothing for so long is left; behind it another one may lead already.
_ANSWER_S = 5.0  # For a cluster to say who it is: an address that swallows everything is one that is away.


@dataclass(frozen=True, slots=True)
class Side:
    """One cluster."""

    where: ClientSettings
    cluster_id: str
    clock: Clock
    chance: Chance

    @property
    def address(self) -> str:
        """Its name for people."""
        return str(self.where)

    def client(self, patience_s: float = PATIENCE_S) -> Client:
        """A client of its own for each thread."""
        return Client(
            self.where,
            CLIENT_ID,
            timeout_s=_SILENCE_S,
            patience_s=patience_s,
            clock=self.clock,
            chance=self.chance,
        )

    def check(self, client: Client) -> None:
        """Raise if another cluster listens at the address by now: the marks of this one would be wrong there."""
        found = client.metadata([]).cluster_id
        if found != self.cluster_id:
            raise ClusterReplaced(self.address, self.cluster_id, found)


def meet(where: ClientSettings, clock: Clock, chance: Chance, patience_s: float = PATIENCE_S) -> Side:
    """Ask a cluster who it is."""
    client = Client(where, CLIENT_ID, timeout_s=_ANSWER_S, patience_s=patience_s, clock=clock, chance=chance)
    with client:
        cluster_id = client.metadata([]).cluster_id
    if not cluster_id or len(cluster_id.encode()) > CLUSTER_SIZE_MAX:
        raise Rejected(f"the cluster at {where} has no id, or one of more than 255 bytes: it cannot be synced")
    return Side(where, cluster_id, clock, chance)


def meet_both(
    first: ClientSettings, second: ClientSettings, clock: Clock, chance: Chance, patience_s: float = PATIENCE_S
) -> tuple[Side, Side]:
    """Two clusters, which must not be one."""
    sides = meet(first, clock, chance, patience_s), meet(second, clock, chance, patience_s)
    if sides[0].cluster_id == sides[1].cluster_id:
        raise SameCluster(sides[0].cluster_id)
    return sides
