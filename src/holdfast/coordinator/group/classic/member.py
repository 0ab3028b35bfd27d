"""One member of a classic group."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from holdfast.coordinator.group.answers import Joined, Synced
from holdfast.coordinator.group.classic.image import MemberImage
from holdfast.coordinator.group.classic.subscription import topics_of
from holdfast.coordinator.group.requests import JoinRequest, Protocol
from holdfast.errors import HoldfastError, Rejected

if TYPE_CHECKING:
    from holdfast.coordinator.group.consumer.requests import HeartbeatResult

Ticket = Hashable  # Stands for a request that waits; the group only gives it back.
Result: TypeAlias = "Joined | Synced | HeartbeatResult | HoldfastError | list[Rejected | None] | None"


class Answer(NamedTuple):
    """A request's one and only answer."""

    ticket: Ticket
    result: Result


@dataclass(slots=True)
class Member:
    """A member, and which of its requests wait. Times are milliseconds of a clock that never goes back."""

    id: str
    instance_id: str | None
    client_id: str
    client_host: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocols: tuple[Protocol, ...]
    assignment: bytes = b""
    is_new: bool = True  # It has not been told a generation yet.
    told_epoch: int | None = None  # What it was told before the group came from the new protocol; until it joins again.
    must_sync: bool = False  # It was told a generation, and has not asked for its assignment yet.
    deadline: int = 0  # It is gone if nothing is heard of it until then.
    join: Ticket | None = None
    sync: Ticket | None = None

    @staticmethod
    def of(member_id: str, request: JoinRequest) -> Member:
        member = Member(member_id, request.instance_id, "", "", 0, 0, ())
        member.update(request)
        return member

    def update(self, request: JoinRequest) -> None:
        """What a join says anew."""
        self.client_id = request.client_id
        self.client_host = request.client_host
        self.session_timeout_ms = request.session_timeout_ms
        # The oldest clients know only one timeout.
        self.rebalance_timeout_ms = (
            request.rebalance_timeout_ms if request.rebalance_timeout_ms > 0 else request.session_timeout_ms
        )
        self.protocols = request.protocols

    @property
    def waits(self) -> bool:
        """One of its requests is parked, so that it cannot be expected to send another."""
        return self.join is not None or self.sync is not None

    def metadata(self, protocol_name: str | None) -> bytes:
        """What it says for a protocol; nothing if it does not know it."""
        return next((each.metadata for each in self.protocols if each.name == protocol_name), b"")

    def topics(self) -> frozenset[str] | None:
        """All topics it speaks of, or None where its metadata cannot be read."""
        topics: set[str] = set()
        for protocol in self.protocols:
            found = topics_of(protocol.metadata)
            if found is None:
                return None
            topics |= found
        return frozenset(topics)

    def reads_the_same(self, protocols: tuple[Protocol, ...]) -> bool:
        """Whether other protocols of it ask for the same topics; all else in them may differ from join to join."""
        topics = self.topics()
        if topics is None:
            return self.protocols == protocols
        return topics == Member(self.id, None, "", "", 0, 0, protocols).topics()

    def image(self, protocol_name: str | None, *, assigned: bool) -> MemberImage:
        return MemberImage(
            self.id,
            self.instance_id,
            self.client_id,
            self.client_host,
            self.rebalance_timeout_ms,
            self.session_timeout_ms,
            self.metadata(protocol_name),
            self.assignment if assigned else b"",
        )

    @staticmethod
    def restore(image: MemberImage, protocol_name: str) -> Member:
        return Member(
            image.member_id,
            image.instance_id,
            image.client_id,
            image.client_host,
            max(image.session_timeout_ms, 1),
            max(image.rebalance_timeout_ms, 1),
            (Protocol(protocol_name, image.subscription),),
            image.assignment,
            is_new=False,
        )

    @property
    def size(self) -> int:
        """Bytes it needs in the group's record at most, its assignment left out."""
        names = (
            self.id,
            self.id,
            self.instance_id or "",
            self.client_id,
            self.client_host,
        )  # The leader's stands twice.
        metadata = max((len(each.metadata) + len(each.name.encode()) for each in self.protocols), default=0)
        return sum(len(name.encode()) for name in names) + metadata + _FIXED_SIZE


_FIXED_SIZE = 4 * 2 + 2 * 4 + 2 * 4  # Sizes of four texts and of two pieces of bytes, two timeouts.
