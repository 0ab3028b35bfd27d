"""One classic group and everybody who speaks to it, on a clock of the test's own; no request is answered twice."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any

from holdfast.coordinator.group.answers import Joined, Synced
from holdfast.coordinator.group.classic.group import ClassicGroup
from holdfast.coordinator.group.classic.image import GroupImage
from holdfast.coordinator.group.classic.member import Answer
from holdfast.coordinator.group.requests import Caller, JoinRequest, Leaving, Protocol, SyncRequest
from holdfast.coordinator.group.settings import GroupSettings
from holdfast.errors import HoldfastError
from holdfast.io.chance import SeededChance

SESSION_MS = 10_000
REBALANCE_MS = 60_000


def subscription(*topics: str, version: int = 0, rest: bytes = b"\xff\xff\xff\xff") -> bytes:
    """A consumer's metadata that asks for topics."""
    names = b"".join(struct.pack(">h", len(topic)) + topic.encode() for topic in topics)
    return struct.pack(">hi", version, len(topics)) + names + rest


def protocols(*names: str, metadata: bytes | None = None) -> tuple[Protocol, ...]:
    return tuple(Protocol(name, subscription("t") if metadata is None else metadata) for name in names)


def request(member_id: str = "", instance: str | None = None, **values: Any) -> JoinRequest:
    """A consumer's request to join; one that needs no id first, unless told otherwise."""
    plain = {
        "protocol_type": "consumer",
        "protocols": protocols("range"),
        "session_timeout_ms": SESSION_MS,
        "rebalance_timeout_ms": REBALANCE_MS,
        "needs_known_id": False,
        "client_id": "c",
        "client_host": "/127.0.0.1",
    }
    return JoinRequest(member_id=member_id, instance_id=instance, **{**plain, **values})


class GroupDriver:
    """Asks a group, and remembers what it answered to whom."""

    def __init__(self, *, seed: int = 1, record_size_max: int = 100_000, **settings: Any) -> None:
        self.settings = GroupSettings(**{"initial_rebalance_delay_ms": 0, **settings})
        self.chance = SeededChance(seed)
        self.record_size_max = record_size_max
        self.group = self.new_group()
        self.now = 1_000
        self.answers: dict[int, Any] = {}
        self.image: GroupImage | None = None  # What a restart would find.
        self._revision = 0
        self.parked: set[int] = set()
        self._tickets = 0

    def new_group(self) -> ClassicGroup:
        return ClassicGroup("g", self.settings, self.chance, self.record_size_max)

    def restart(self) -> None:
        """All that is left of the group is its image; whoever waits is cut off."""
        self.group = self.new_group()
        if self.image is not None:
            self.group.restore(self.image, self.now)
        self._revision = self.group.revision
        self.parked.clear()

    # Asking. Each returns a ticket.

    def join(self, member_id: str = "", instance: str | None = None, **values: Any) -> int:
        ticket = self._ticket()
        self._note(self.group.join(request(member_id, instance, **values), ticket, self.now))
        return ticket

    def sync(self, caller: Caller, assignments: Mapping[str, bytes] | None = None, **values: Any) -> int:
        ticket = self._ticket()
        asked = SyncRequest(caller=caller, assignments=assignments or {}, **values)
        self._note(self.group.sync(asked, ticket, self.now))
        return ticket

    def beat(self, caller: Caller) -> Any:
        ticket = self._ticket()
        self._note(self.group.heartbeat(caller, ticket, self.now))
        return self.answers[ticket]

    def leave(self, *members: Leaving) -> Sequence[Any]:
        ticket = self._ticket()
        self._note(self.group.leave(members, ticket, self.now))
        return self.answers[ticket]

    def commit(self, caller: Caller) -> HoldfastError | None:
        try:
            self.group.check_commit(caller, self.now)
        except HoldfastError as refusal:
            return refusal
        return None

    def wait(self, milliseconds: int) -> None:
        """Let time pass, and everything happen in its time."""
        end = self.now + milliseconds
        while self.group.deadline is not None and self.group.deadline <= end:
            self.now = max(self.now, self.group.deadline)
            self._note(self.group.tick(self.now))
        self.now = end

    def _ticket(self) -> int:
        self._tickets += 1
        self.parked.add(self._tickets)
        return self._tickets

    def _note(self, answers: list[Answer]) -> None:
        if self.group.revision != self._revision:
            self._revision = self.group.revision
            self.image = self.group.image(0)
        for ticket, result in answers:
            assert ticket in self.parked, "A request was answered twice."
            self.parked.remove(ticket)
            self.answers[ticket] = result

    # Short ways

    def joined(self, ticket: int) -> Joined:
        answer = self.answers[ticket]
        assert isinstance(answer, Joined), answer
        return answer

    def assigned(self, ticket: int) -> bytes:
        answer = self.answers[ticket]
        assert isinstance(answer, Synced), answer
        return answer.assignment

    def stable(self, count: int = 1, *instances: str, **values: Any) -> list[Caller]:
        """A stable group of so many members; the first leads. Each is assigned its own id."""
        names = [None] * count + list(instances)
        tickets = [self.join(instance=name, **values) for name in names]
        if len(tickets) > 1:  # Who came first was alone, and joins again.
            tickets[0] = self.join(self.joined(tickets[0]).member_id, names[0], **values)
        found = [self.joined(ticket) for ticket in tickets]
        callers = [Caller(each.member_id, each.generation, name) for each, name in zip(found, names, strict=True)]
        everything = {each.member_id: each.member_id.encode() for each in callers}
        syncs = [
            self.sync(caller, everything if each.member_id == each.leader_id else {})
            for caller, each in zip(callers, found, strict=True)
        ]
        assert [self.assigned(ticket) for ticket in syncs] == [each.member_id.encode() for each in callers]
        return callers
