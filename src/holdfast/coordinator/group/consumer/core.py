"""The machinery of a consumer group: epochs, the target assignment, and members on their way to it.

topics or members change ─▶ the group's epoch grows ─▶ a target is found for it ─▶ each member, by its own
heartbeats, first lets go of what is not in its target, and then gets what is, as it becomes free.
"""

from __future__ import annotations

import hashlib
from uuid import UUID

from holdfast.coordinator.group.assignor import Wish, assign, most_wanted
from holdfast.coordinator.group.consumer.deadlines import Deadlines, Wait
from holdfast.coordinator.group.consumer.member import ConsumerMember, MemberState, Partitions
from holdfast.coordinator.group.consumer.patterns import Matched, matches
from holdfast.coordinator.group.consumer.reconcile import reconcile
from holdfast.coordinator.group.consumer.records import Epoch, encode_member, encode_target
from holdfast.coordinator.group.consumer.roster import ConsumerRoster
from holdfast.coordinator.group.errors import AssignmentTooLarge, GroupFull
from holdfast.coordinator.group.moves import Moves, named
from holdfast.coordinator.group.settings import GroupSettings
from holdfast.coordinator.group.topic_view import KnownTopic, Sight, TopicView

_KEY_ROOM = 1 << 16  # Bytes of a record that are left for its key.


class ConsumerCore:
    """State and rules that both protocols share. Times are milliseconds of a clock that never goes back."""

    def __init__(
        self, group_id: str, settings: GroupSettings, topics: TopicView, record_size_max: int, epoch: int = 0
    ) -> None:
        self.group_id = group_id
        self.settings = settings
        self.topics = topics
        self.roster = ConsumerRoster(group_id, epoch)
        self.deadlines = Deadlines()
        self.moves = Moves()
        self.used: dict[str, int] = {}  # The epoch that a member has last spoken of, since this process began.
        self._size_max = max(record_size_max - _KEY_ROOM, record_size_max // 2)
        self._seen: int | None = None  # The version of the topics that was last looked at.
        self._sights: dict[str, Sight] = {}  # Of members that may not know of all topics, since this process began.
        self._has_new_sight = False
        self._by_sight: dict[tuple[str, Sight], frozenset[str]] = {}  # What each of them sees of a pattern's topics.
        self._shown: dict[str, frozenset[str]] = {}  # The same by the member's id.

    # Members

    def check_room(self) -> None:
        """Whether one more member has a place."""
        count_max = self.settings.consumer_members_max
        if len(self.roster) >= count_max:
            raise GroupFull(self.group_id, f"no more than {count_max} members are allowed")

    def check_size(self, member: ConsumerMember) -> None:
        if len(encode_member(member)) > self._size_max:
            raise GroupFull(self.group_id, f"a member has more than {self._size_max} bytes to say")

    def touch(self, member: ConsumerMember, now: int) -> None:
        """Something was heard of a member."""
        classic = member.classic
        own = self.settings.consumer_times(self.group_id)
        timeout_ms = own.session_timeout_ms if classic is None else classic.session_timeout_ms
        self.deadlines.set(member.id, Wait.SIGN_OF_LIFE, now + timeout_ms)

    def fence(self, members: list[ConsumerMember], now: int, why: str) -> None:
        """Members are gone; what they held is free."""
        for member in members:
            self.roster.remove(member)
            self.forget(member.id)
        if members:
            self.refresh(now, f"{named([each.id for each in members])} {why}")

    def came(self, before: ConsumerMember | None, after: ConsumerMember) -> str | None:
        """Why the group has to move on for what a member says; None if it need not."""
        if before is None:
            return f"{after.id} has joined"
        if (before.topics, before.regex) != (after.topics, after.regex):
            return f"{after.id} reads other topics now"
        return None

    def forget(self, member_id: str) -> None:
        """Nobody is known by this id any more."""
        self.deadlines.forget(member_id)
        self.used.pop(member_id, None)
        self._sights.pop(member_id, None)

    def look(self, member: ConsumerMember, sight: Sight | None) -> None:
        """By whose rights the member's pattern is matched from here on."""
        if sight is None or not member.regex:
            self._has_new_sight |= self._sights.pop(member.id, None) is not None
        elif self._sights.get(member.id) != sight:
            self._sights[member.id] = sight
            self._has_new_sight = True

    # Epochs and the target

    def refresh(self, now: int, why: str | None = None) -> None:
        """Begin a new epoch if members have changed, which is `why`, or if the topics they read have."""
        if why is None and self._seen == self.topics.version and not self._has_new_sight:
            return
        self._match_patterns()
        changed = self._hide()
        self._seen = self.topics.version
        roster, topics_hash = self.roster, self._topics_hash()
        if why is not None or changed or topics_hash != roster.epoch.topics_hash:
            self.moves.add(now, why or "the topics that it reads, or their partitions, have changed")
            roster.set_epochs(Epoch(roster.epoch.epoch + 1, topics_hash), roster.target_epoch)

    def _match_patterns(self) -> None:
        known = self.roster.patterns if self._seen == self.topics.version else {}
        wanted = {member.regex for member in self.roster if member.regex}
        names = self.topics.names() if wanted - known.keys() else ()
        found = {each: known.get(each) or Matched(matches(each, names)) for each in sorted(wanted)}
        self.roster.set_patterns(found)

    def _hide(self) -> bool:
        """Look up what members may know of; whether that is not what it was."""
        is_new = self._seen != self.topics.version
        before, self._by_sight = self._by_sight, {} if is_new else self._by_sight
        shown: dict[str, frozenset[str]] = {}
        changed = False
        for member_id, sight in self._sights.items():
            member = self.roster.get(member_id)
            matched = None if member is None else self.roster.patterns.get(member.regex)
            if member is None or matched is None:
                continue
            key = member.regex, sight
            if key not in self._by_sight:
                found = frozenset(name for name in matched.topics if sight.sees(name))
                self._by_sight[key] = before[key] if before.get(key) == found else found
            known, shown[member_id] = self._shown.get(member_id, matched.topics), self._by_sight[key]
            changed |= known is not shown[member_id] and known != shown[member_id]
        changed |= any(each not in shown and self.roster.get(each) is not None for each in self._shown)
        self._shown, self._has_new_sight = shown, False
        return changed

    def topics_of(self, member: ConsumerMember) -> frozenset[str]:
        """All topics that a member reads, by name or by pattern; by that only those that it may know of."""
        matched = self.roster.patterns.get(member.regex)
        return member.topics if matched is None else member.topics | self._shown.get(member.id, matched.topics)

    def topic_names(self) -> frozenset[str]:
        names: set[str] = set()
        for member in self.roster:
            names |= self.topics_of(member)
        return frozenset(names)

    def _known_topics(self) -> dict[str, KnownTopic]:
        found = ((name, self.topics.find(name)) for name in self.topic_names())
        return {name: topic for name, topic in found if topic is not None}

    def _topics_hash(self) -> int:
        """Differs when a topic that is read comes, goes, is made anew or gets more partitions."""
        lines = [f"{topic.name} {topic.topic_id} {topic.partitions}\n" for topic in self._known_topics().values()]
        digest = hashlib.blake2b("".join(sorted(lines)).encode(), digest_size=8).digest()
        return int.from_bytes(digest, "big", signed=True)

    @property
    def assignor(self) -> str:
        return most_wanted(self._asked_for(), self.settings.consumer_assignors[0])

    def _asked_for(self) -> list[str | None]:
        """Members that asked before the broker was started with fewer assignors are served by the default one."""
        allowed = self.settings.consumer_assignors
        return [member.assignor if member.assignor in allowed else None for member in self.roster]

    def retarget(self) -> None:
        """Find the target of the group's epoch, if that is still to do."""
        roster = self.roster
        if roster.target_epoch == roster.epoch.epoch:
            return
        known = self._known_topics()
        wishes = {member.id: self._wish(member, known) for member in roster}
        targets = assign(self.assignor, wishes, {topic.topic_id: topic.partitions for topic in known.values()})
        for target in targets.values():
            self._check_target(target)
        for member_id, target in targets.items():
            roster.set_target(member_id, target)
        roster.set_epochs(roster.epoch, roster.epoch.epoch)

    def _wish(self, member: ConsumerMember, known: dict[str, KnownTopic]) -> Wish:
        topics: frozenset[UUID] = frozenset(known[name].topic_id for name in self.topics_of(member) if name in known)
        return Wish(topics, self.roster.target(member.id), member.instance_id)

    def _check_target(self, target: Partitions) -> None:
        """A member's record holds what it has and what it lets go, each up to one target."""
        size_max = self._size_max // 2
        if 4 * len(target) > size_max // 2 and len(encode_target(target)) > size_max:
            raise AssignmentTooLarge(self.group_id, len(encode_target(target)), size_max)

    # Reconciliation

    def reconcile(self, member: ConsumerMember, owned: Partitions | None, now: int) -> ConsumerMember:
        """Let a member take its next step, if it can."""
        roster = self.roster
        after = reconcile(
            member,
            roster.target(member.id),
            roster.target_epoch,
            owned,
            lambda partition: roster.holder(partition) in (None, member.id),
        )
        if after.state is not MemberState.UNREVOKED:
            self.deadlines.drop(member.id, Wait.REVOCATION)
        elif after is not member:
            self.deadlines.set(member.id, Wait.REVOCATION, now + max(member.rebalance_timeout_ms, 0))
        roster.put(after)
        return after
