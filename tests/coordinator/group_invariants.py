"""What must hold whatever happens to a group, noted from its answers alone.

1. A generation is one set of members, one leader and one protocol; a new one is higher than every one told before,
   also across restarts. (An instance that comes back counts as the same member.)
2. In one generation, every partition is handed out to one member only, by one assignment.
3. An id that was told to be unknown or fenced, or that has left, is never served again.
4. What a fetch shows never goes back in the order of the commits: it shows the same commit as the fetch before it, or
   one that was sent later; never one that was refused; and never less than what was acknowledged when it was sent.
   (An offset goes back only where a lower one was committed, or where it was deleted.)
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from holdfast.coordinator.group.answers import Joined


class Told(NamedTuple):
    """What members were told of a generation."""

    leader: str
    protocol: str
    members: frozenset[str] | None  # None as long as the leader was not told.


@dataclass
class GroupInvariants:
    """One group's history, as its members know it."""

    generations: dict[int, Told] = field(default_factory=dict)
    owners: dict[tuple[int, int], str] = field(default_factory=dict)  # (generation, partition) → member id.
    nonces: dict[int, str] = field(default_factory=dict)  # Which of the leader's assignments a generation has.
    gone: set[str] = field(default_factory=set)
    names: dict[str, str] = field(default_factory=dict)  # Member id → instance id, or itself, as far as it is known.

    def known(self, member_id: str, instance: str | None) -> None:
        self.names[member_id] = instance or member_id

    def name(self, member_id: str) -> str:
        return self.names.get(member_id, member_id)

    def served(self, member_id: str) -> None:
        assert member_id not in self.gone, "A member came back from the dead."

    def joined(self, answer: Joined, instance: str | None) -> None:
        self.served(answer.member_id)
        self.known(answer.member_id, instance)
        for each in answer.members:
            self.served(each.member_id)
            self.known(each.member_id, each.instance_id)
        members = frozenset(each.member_id for each in answer.members) or None
        told = Told(answer.leader_id, answer.protocol_name, members)
        before = self.generations.get(answer.generation)
        if before is None:
            assert answer.generation > max(self.generations, default=0), "A generation went back."
            self.generations[answer.generation] = told
            return
        assert self._named(before)[:2] == self._named(told)[:2], "One generation was told in two ways."
        if members is not None:
            assert before.members is None or self._named(before) == self._named(told), "A generation's members changed."
            self.generations[answer.generation] = told

    def _named(self, told: Told) -> Told:
        members = None if told.members is None else frozenset(self.name(each) for each in told.members)
        return Told(self.name(told.leader), told.protocol, members)

    def synced(self, member_id: str, generation: int, assignment: bytes) -> None:
        self.served(member_id)
        if not assignment:
            return
        nonce, _, partitions = assignment.decode().partition(":")
        assert self.nonces.setdefault(generation, nonce) == nonce, "A generation has two assignments."
        for partition in partitions.split(",") if partitions else ():
            owner = self.owners.setdefault((generation, int(partition)), member_id)
            assert self.name(owner) == self.name(member_id), "A partition has two owners."

    def assign(self, answer: Joined, nonce: int) -> dict[str, bytes]:
        """What a leader may send: every partition to one member."""
        shares: dict[str, list[str]] = {each.member_id: [] for each in answer.members}
        for partition in range(6):
            member = answer.members[(partition + nonce) % len(answer.members)]
            shares[member.member_id].append(str(partition))
        return {member_id: f"{nonce}:{','.join(parts)}".encode() for member_id, parts in shares.items()}


@dataclass
class OffsetInvariants:
    """The commits of one partition, by number, in the order they were sent."""

    sent: int = 0
    acked: int = 0
    shown: int = 0
    refused: set[int] = field(default_factory=set)

    def fetched(self, number: int, acked: int) -> None:
        """A fetch shows commit `number`, 0 for none; `acked` was acknowledged when it was sent."""
        assert number not in self.refused, "A refused commit was stored."
        assert number <= self.sent
        assert number >= acked, "An acknowledged commit was lost."
        assert number >= self.shown, "A commit that was shown was taken back."
        self.shown = number
