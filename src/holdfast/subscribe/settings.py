"""The settings of subscriptions."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.io.address import BadAddress, parse_address


@dataclass(frozen=True, slots=True, kw_only=True)
class SubscribeSettings:
    """How the subscription service behaves."""

    listen: str = "auto"  # HOST:PORT or LISTENER://HOST:PORT of the gRPC port; auto: two above the Kafka port; or none.
    advertise: str = ""  # HOST:PORT that subscribers are told with cluster.leaders=many; empty: where it listens.
    max_wait_ms: int = 5  # How long a source without news holds back the others.
    heartbeat_ms: int = 5_000  # How long a stream is silent at most.
    read_ahead_size: int = 32 << 20  # Bytes read ahead for one subscription, over all its partitions.
    memory_size_max: int = 256 << 20  # Bytes that all subscriptions together read ahead and have not sent.
    subscriptions_max: int = 1_000  # Open at the same time.
    connections_max: int = 2_000  # To the gRPC port; more are closed.

    @property
    def sign_ms(self) -> int:
        """How long a stream is silent at most while it is being opened: clients do not know `heartbeat_ms` yet."""
        return min(self.heartbeat_ms, 2_000)

    def __post_init__(self) -> None:
        if self.max_wait_ms < 0 or self.heartbeat_ms < 100:
            raise ValueError("max_wait_ms must not be negative, and heartbeat_ms at least 100")
        if min(self.read_ahead_size, self.memory_size_max, self.subscriptions_max, self.connections_max) < 1:
            raise ValueError("sizes, subscriptions_max and connections_max must be at least 1")
        if self.advertise and not _can_be_told(self.advertise):
            raise ValueError("advertise must be HOST:PORT, such as broker.example:9094, that subscribers can reach")


def _can_be_told(text: str) -> bool:
    try:
        host, port = parse_address(text)
    except BadAddress:
        return False
    return host not in ("0.0.0.0", "::") and port > 0
