"""Known ways to get the group coordinator wrong."""

from __future__ import annotations

from tests.bugs.bug import Bug, Edit

COORDINATOR = "tests/coordinator/test_coordinator.py"
LOAD = "tests/coordinator/test_load.py"
MEMBERSHIP = "tests/coordinator/test_membership.py"
OFFSETS = "tests/coordinator/test_offsets.py"
SYNC = "tests/coordinator/test_sync.py"


def bug(name: str, file: str, old: str, new: str, *tests: str) -> Bug:
    return Bug(name, (Edit(file, old, new),), tests)


BUGS = [
    bug(
        "an internal partition of groups that could not be read once is not tried again",
        "coordinator/group/coordinator.py",
        "and not self._shards.is_ready(number):",
        "and served.get(number) is not log:",
        f"{LOAD}::test_partitions_that_come_while_the_store_is_away_are_read_later",
    ),
    bug(
        "an internal partition of groups that cannot be read holds up those behind it",
        "coordinator/group/coordinator.py",
        "                    failures.append(failure)\n",
        "                    raise failure\n",
        f"{LOAD}::test_partitions_that_come_while_the_store_is_away_are_read_later",
    ),
    bug(
        "a coordinator acknowledges before the fsync",
        "coordinator/runtime/writer.py",
        "        wait = log.durable.reached(places[-1].end_offset)\n",
        "        wait = log.durable.reached(0)\n",
        f"{OFFSETS}::test_a_failed_fsync_acknowledges_nothing",
    ),
    bug(
        "answers of a group do not wait for its record",
        "coordinator/group/durable_group.py",
        "self._held[0][0] <= self._durable or self._failure is not None",
        "True",
        f"{COORDINATOR}::test_no_answer_overtakes_what_the_group_has_written",
    ),
    bug(
        "offsets are shown before they are durable",
        "coordinator/group/offsets.py",
        "            self._on_the_way[partition] += 1\n",
        "            self._on_the_way[partition] += 1\n        self.apply(partitions, 0)  # type: ignore[arg-type]\n",
        f"{OFFSETS}::test_a_commit_is_neither_acknowledged_nor_shown_before_it_is_durable",
    ),
    bug(
        "a generation is told that does not survive",
        "coordinator/group/classic/rebalance.py",
        "        self.generation += 1\n        self.revision += 1\n",
        "        self.generation += 1\n",
        f"{COORDINATOR}::test_a_generation_that_was_told_is_never_told_to_others",
    ),
    bug(
        "a leave does not survive",
        "coordinator/group/classic/rebalance.py",
        "            self.revision += not member.is_new\n",
        "",
        f"{COORDINATOR}::test_a_leave_that_was_answered_is_for_ever",
    ),
    bug(
        "an instance's new id does not survive",
        "coordinator/group/classic/rebalance.py",
        "        self.roster.rename(member, member_id)\n        self.revision += 1\n",
        "        self.roster.rename(member, member_id)\n",
        f"{COORDINATOR}::test_an_instance_that_came_back_is_known_by_its_new_id",
    ),
    bug(
        "a generation without an assignment is taken for a stable one",
        "coordinator/group/classic/rebalance.py",
        "if image.members and image.is_settled:",
        "if image.members:",
        f"{MEMBERSHIP}::test_a_group_restored_before_its_assignment_came",
    ),
    bug(
        "a member that nobody knows survives",
        "coordinator/group/classic/group.py",
        "[member for member in self._roster if not member.is_new]",
        "list(self._roster)",
        f"{MEMBERSHIP}::test_who_was_never_told_a_generation_does_not_survive",
    ),
    bug(
        "any member can assign",
        "coordinator/group/classic/group.py",
        "        leads = member.id == self._roster.leader_id\n",
        "        leads = True\n",
        f"{SYNC}::test_only_the_leaders_assignments_count",
    ),
    bug(
        "the request of a removed member is never answered",
        "coordinator/group/classic/rebalance.py",
        "            self._dismiss(member, UnknownMember(self.group_id, member.id))\n",
        "            self.roster.take_join(member)\n",
        f"{SYNC}::test_a_parked_sync_of_a_member_that_is_removed",
        f"{MEMBERSHIP}::test_a_parked_join_of_a_member_that_is_removed",
    ),
    bug(
        "a deleted group leaves behind what was on its way",
        "coordinator/group/durable_group.py",
        "dict.fromkeys(self.offsets.known())",
        "dict.fromkeys(self.offsets.partitions)",
        f"{COORDINATOR}::test_a_delete_covers_what_is_on_its_way",
    ),
    bug(
        "a group's record follows its tombstone",
        "coordinator/group/durable_group.py",
        "if self._ending or is_on_the_way",
        "if is_on_the_way",
        f"{COORDINATOR}::test_a_record_on_its_way_does_not_outlive_the_delete",
    ),
]
