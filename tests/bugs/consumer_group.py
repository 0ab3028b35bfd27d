"""Known ways to get consumer groups wrong."""

from __future__ import annotations

from tests.bugs.bug import Bug, Edit

RULES = "tests/coordinator/test_consumer_group.py"
MOVING = "tests/coordinator/test_consumer_group_moving.py"
MODEL = "tests/coordinator/test_consumer_group_model.py"


def bug(name: str, file: str, old: str, new: str, *tests: str) -> Bug:
    return Bug(name, (Edit(file, old, new),), tests)


BUGS = [
    bug(
        "a consumer group gives away what another member holds",
        "coordinator/group/consumer/core.py",
        "lambda partition: roster.holder(partition) in (None, member.id),",
        "lambda partition: True,",
        f"{RULES}::test_a_partition_moves_when_it_is_let_go",
    ),
    bug(
        "a member that does not say what it owns has let go",
        "coordinator/group/consumer/reconcile.py",
        "return owned is None or not owned.isdisjoint(partitions)",
        "return owned is not None and not owned.isdisjoint(partitions)",
        f"{RULES}::test_a_partition_moves_when_it_is_let_go",
    ),
    bug(
        "what is being revoked is free",
        "coordinator/group/consumer/member.py",
        "return self.assigned | self.revoking if self.revoking else self.assigned",
        "return self.assigned",
        f"{RULES}::test_a_partition_moves_when_it_is_let_go",
    ),
    bug(
        "a slow member is waited for until the next restart",
        "coordinator/group/consumer/group.py",
        "            if member.state is MemberState.UNREVOKED:\n",
        "            if False:\n",
        f"{RULES}::test_a_member_that_does_not_let_go_is_given_up",
    ),
    bug(
        "an old request lets go for its sender",
        "coordinator/group/consumer/protocol.py",
        "member.is_away or has_used or not lost:",
        "member.is_away or not lost:",
        f"{RULES}::test_an_old_request_cannot_let_go_for_its_sender",
    ),
    bug(
        "any epoch commits",
        "coordinator/group/consumer/group.py",
        "        if epoch == member.epoch:\n            return\n        if member.classic",
        "        if epoch <= member.epoch:\n            return\n        if member.classic",
        f"{RULES}::test_members_commit_at_their_epoch",
    ),
    bug(
        "a member that left does so only until the next restart",
        "coordinator/group/consumer/roster.py",
        "            self._change(kind, member.id)\n\n    def rename",
        "            self.revision += 1\n\n    def rename",
        f"{RULES}::test_a_member_that_leaves_frees_what_it_had",
        MODEL,
    ),
    bug(
        "what a member holds does not survive",
        "coordinator/group/consumer/roster.py",
        "            self._change(RecordKind.CURRENT, member.id)\n",
        "",
        f"{MOVING}::test_a_new_member_takes_a_classic_group_along",
        MODEL,
    ),
    bug(
        "a moved group is stored twice",
        "coordinator/group/durable_group.py",
        "        self._leftover |= self._keys\n",
        "",
        f"{MOVING}::test_the_last_new_member_leaves",
    ),
    bug(
        "epochs begin anew when a group moves",
        "coordinator/group/shard.py",
        "moved = self._new_consumer_group(group.id, group.generation)",
        "moved = self._new_consumer_group(group.id)",
        f"{MOVING}::test_an_empty_group_is_of_whoever_comes",
    ),
    bug(
        "a cooperative member's former partitions are free when the group moves",
        "coordinator/group/consumer/migration.py",
        "(), topics) - assigned\n",
        "(), topics) & frozenset()\n",
        f"{MOVING}::test_what_a_member_owned_before_its_assignment_is_not_free",
    ),
    bug(
        "a classic member that is told to join has all the time of the world",
        "coordinator/group/consumer/classic_members.py",
        "        self._core.deadlines.set_once(member.id, Wait.JOIN, now + member.rebalance_timeout_ms)\n",
        "",
        f"{MOVING}::test_a_classic_member_that_does_not_come_again_is_given_up",
    ),
]
