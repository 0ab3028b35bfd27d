"""Where each partition has its leader: who the other brokers are. Others know; this package only asks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol


class Leaders(Protocol):
    """All brokers of a cluster, as one of them sees it."""

    @property
    def broker(self) -> int:
        """Our own number."""

    def servers(self) -> Mapping[int, str]:
        """Where each broker that lives serves subscriptions: "" if it does not; left out if it has not said so yet."""

    def has_lease(self) -> bool:
        """Whether what we lead can still be believed to be ours."""
