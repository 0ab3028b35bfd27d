"""The other brokers of a cluster, as clients are told of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TypeAlias

from holdfast.io.address import Address
from holdfast.protocol.hot.leaders import LeaderAddress

Others: TypeAlias = Callable[[str], Sequence[tuple[int, Address]]]  # Of a listener: numbers, and where they are.


def nobody_else(_listener: str) -> Sequence[tuple[int, Address]]:
    return ()


def endpoints_of(wanted: Collection[int], others: Others, listener: str) -> list[LeaderAddress]:
    """Where clients of a listener find some of them."""
    return [LeaderAddress(broker, at.host, at.port) for broker, at in others(listener) if broker in wanted]
