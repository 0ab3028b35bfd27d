"""The cycle of a classic group: members join, the leader assigns, all is well until somebody comes or goes.

    EMPTY ──join──▶ PREPARING ──all joined, or time is up──▶ COMPLETING ──leader's assignment──▶ STABLE
      ▲                │  ▲                                      │                                 │
      └──nobody left───┘  └──────────somebody joins anew, leaves, is not heard of──────────────────┘

`generation` grows with every step from PREPARING. `revision` grows with every change that has to survive: a generation
begins, its assignment comes, a member that was told a generation is removed or renamed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from holdfast.coordinator.group.answers import GroupState, Joined, JoinedMember, Synced
from holdfast.coordinator.group.classic.image import GroupImage
from holdfast.coordinator.group.classic.member import Answer, Member, Result, Ticket
from holdfast.coordinator.group.classic.roster import Roster
from holdfast.coordinator.group.errors import InstanceFenced, RebalanceInProgress, UnknownMember
from holdfast.coordinator.group.moves import Moves, named
from holdfast.coordinator.group.settings import GroupSettings
from holdfast.errors import HoldfastError


def _said(reason: str) -> str:
    return f": {reason}" if reason else ""


class RebalanceState:
    """State, generation and deadlines of one group. Times are milliseconds of a clock that never goes back."""

    def __init__(self, group_id: str, settings: GroupSettings) -> None:
        self.group_id = group_id
        self.settings = settings
        self.roster = Roster(group_id)
        self.state = GroupState.EMPTY
        self.generation = 0
        self.protocol_name: str | None = None
        self.revision = 0
        self.answers: list[Answer] = []
        self.deadline: int | None = None  # Nothing happens by itself before this.
        self._join_end: int | None = None
        self._sync_end: int | None = None
        self._delay_left_ms: int | None = None  # Set while an empty group waits for more than its first member.
        self._grew = False  # Somebody came during that wait.
        self.moves = Moves()

    def restore(self, image: GroupImage, now: int) -> None:
        """Go on where an image was taken."""
        self.generation = image.generation
        self.roster.protocol_type = image.protocol_type or None
        self.protocol_name = image.protocol_name
        for each in image.members:
            member = Member.restore(each, image.protocol_name or "")
            self.roster.add(member, image.protocol_type)
            self.touch(member, now)
        if image.members and image.is_settled:
            self.state = GroupState.STABLE
            self.roster.leader_id = image.leader_id
        elif image.members:
            self.state = GroupState.PREPARING
            self._wait_for_joins(now + self.roster.rebalance_timeout_ms)

    # Answers

    def answer(self, ticket: Ticket | None, result: Result) -> None:
        if ticket is not None:
            self.answers.append(Answer(ticket, result))

    def joined(self, member: Member) -> Joined:
        """The current generation, as one member is told it."""
        leads = member.id == self.roster.leader_id
        members = tuple(
            JoinedMember(each.id, each.instance_id, each.metadata(self.protocol_name))
            for each in (self.roster if leads else ())
        )
        return Joined(
            self.generation,
            self.roster.protocol_type or "",
            self.protocol_name or "",
            self.roster.leader_id or "",
            member.id,
            members,
        )

    def synced(self, member: Member) -> Synced:
        return Synced(self.roster.protocol_type or "", self.protocol_name or "", member.assignment)

    def touch(self, member: Member, now: int) -> None:
        """Something was heard of a member."""
        timeout_ms = self.settings.new_member_timeout_ms if member.is_new else member.session_timeout_ms
        member.deadline = now + timeout_ms
        self.expect(member.deadline)

    def expect(self, at: int) -> None:
        """Something may happen by itself at this time."""
        self.deadline = at if self.deadline is None else min(self.deadline, at)

    # Coming and going

    def park_join(self, member: Member, ticket: Ticket, now: int, reason: str = "") -> None:
        """A member waits for the next generation; the group moves on if that is all it takes."""
        self.answer(self.roster.park_join(member, ticket), RebalanceInProgress(self.group_id))
        self.touch(member, now)
        if self.state is GroupState.PREPARING:
            self._grew = self._grew or member.is_new
            self.complete_if_all_joined(now)
        else:
            self.prepare(now, f"{member.id} has {'joined' if member.is_new else 'joined again'}{_said(reason)}")

    def park_sync(self, member: Member, ticket: Ticket) -> None:
        self.answer(member.sync, RebalanceInProgress(self.group_id))
        member.sync = ticket

    def remove(self, members: Iterable[Member], now: int, why: str) -> None:
        """Members are gone; the others have to find a new assignment."""
        members = list(members)
        for member in members:
            self._dismiss(member, UnknownMember(self.group_id, member.id))
            self.roster.remove(member)
            self.revision += not member.is_new
        if not members:
            return
        if self.state is GroupState.PREPARING:
            self.complete_if_all_joined(now)
        elif self.state in (GroupState.COMPLETING, GroupState.STABLE):
            self.prepare(now, f"{named([each.id for each in members])} {why}")

    def rename(self, member: Member, member_id: str) -> None:
        """An instance has come back under a new id; whoever uses the old one is fenced."""
        assert member.instance_id is not None
        self._dismiss(member, InstanceFenced(self.group_id, member.instance_id, member.id))
        self.roster.rename(member, member_id)
        self.revision += 1

    def end(self, failure: HoldfastError) -> None:
        """The group is no more: whoever waits is told."""
        for member in self.roster:
            self._dismiss(member, failure)
        self.state = GroupState.DEAD
        self.deadline = None

    def _dismiss(self, member: Member, failure: HoldfastError) -> None:
        self.answer(self.roster.take_join(member), failure)
        self.answer(member.sync, failure)
        member.sync = None

    # PREPARING

    def prepare(self, now: int, why: str) -> None:
        """Begin a rebalance: all are to join again."""
        self.moves.add(now, why)
        for member in self.roster:
            member.must_sync = False
            if member.sync is not None:
                self.answer(member.sync, RebalanceInProgress(self.group_id))
                member.sync = None
                self.touch(member, now)  # While it waited, nothing could be heard of it.
        self._sync_end = None
        was_empty = self.state is GroupState.EMPTY
        self.state = GroupState.PREPARING
        if was_empty:
            delay_ms = self.settings.initial_rebalance_delay_ms
            self._delay_left_ms = max(self.roster.rebalance_timeout_ms - delay_ms, 0)
            self._grew = False
            self._wait_for_joins(now + delay_ms)
        else:
            self._wait_for_joins(now + self.roster.rebalance_timeout_ms)
            self.complete_if_all_joined(now)

    def _wait_for_joins(self, until: int) -> None:
        self._join_end = until
        self.expect(until)

    def complete_if_all_joined(self, now: int) -> None:
        """Go on if there is nobody to wait for."""
        if self.state is GroupState.PREPARING and (
            not len(self.roster) or (self.roster.all_joined and self._delay_left_ms is None)
        ):
            self._complete(now)

    def _end_of_joins(self, now: int) -> None:
        """Time is up, unless an empty group may wait on because it still grows."""
        if self._delay_left_ms and self._grew:
            delay_ms = min(self.settings.initial_rebalance_delay_ms, self._delay_left_ms)
            self._delay_left_ms -= delay_ms
            self._grew = False
            self._wait_for_joins(now + delay_ms)
        else:
            self._complete(now)

    def _complete(self, now: int) -> None:
        """Begin a generation with those who joined. An instance that is away keeps its place until its session ends."""
        for member in [each for each in self.roster if each.join is None and each.instance_id is None]:
            self.roster.remove(member)
            self.revision += 1
        if len(self.roster) and not self.roster.elect():
            self._wait_for_joins(now + self.roster.rebalance_timeout_ms)
            return
        self._join_end = self._delay_left_ms = None
        self.generation += 1
        self.revision += 1
        if len(self.roster):
            self._begin_generation(now)
        else:
            self.state = GroupState.EMPTY
            self.protocol_name = None

    # COMPLETING and STABLE

    def _begin_generation(self, now: int) -> None:
        self.state = GroupState.COMPLETING
        self.protocol_name = self.roster.choose_protocol()
        self._sync_end = now + self.roster.rebalance_timeout_ms
        self.expect(self._sync_end)
        for member in self.roster:
            ticket = self.roster.take_join(member)
            if ticket is not None:
                member.is_new = False
                member.told_epoch = None
                member.must_sync = True
                self.touch(member, now)
                self.answer(ticket, self.joined(member))

    def settle(self, assignments: Mapping[str, bytes], now: int) -> None:
        """The leader has assigned: hand out what it sent, as it is."""
        self.state = GroupState.STABLE
        self.revision += 1
        for member in self.roster:
            member.assignment = assignments.get(member.id, b"")
            if member.sync is not None:
                self.touch(member, now)
                self.answer(member.sync, self.synced(member))
                member.sync = None

    # Time

    def tick(self, now: int) -> None:
        """Do what is due."""
        while self.deadline is not None and self.deadline <= now:
            self._expire_pending(now)
            late = [each for each in self.roster if each.deadline <= now and (each.is_new or not each.waits)]
            self.remove(late, now, "was not heard of in the time of its session")
            if self._join_end is not None and self._join_end <= now:
                self._end_of_joins(now)
            if self._sync_end is not None and self._sync_end <= now:
                self._sync_end = None
                self.remove([each for each in self.roster if each.must_sync], now, "did not ask for its assignment")
            self._find_deadline()

    def _expire_pending(self, now: int) -> None:
        pending = self.roster.pending
        due = [member_id for member_id, until in pending.items() if until <= now]
        for member_id in due:
            del pending[member_id]
        if due:
            self.complete_if_all_joined(now)

    def _find_deadline(self) -> None:
        ends = [end for end in (self._join_end, self._sync_end) if end is not None]
        ends += self.roster.pending.values()
        ends += [each.deadline for each in self.roster if each.is_new or not each.waits]
        self.deadline = min(ends, default=None)
