"""Known ways to get share groups wrong."""

from __future__ import annotations

from tests.bugs.bug import Bug, Edit

RULES = "tests/coordinator/test_share_partition.py"
GROUPS = "tests/coordinator/test_share_groups.py"


def bug(name: str, file: str, old: str, new: str, *tests: str) -> Bug:
    return Bug(name, (Edit(file, old, new),), tests)


BUGS = [
    bug(
        "a share group's record is judged by somebody who does not have it",
        "coordinator/share/partition.py",
        "run.state is RecordState.ACQUIRED and run.member == member)\n        run = next",
        "run.state is RecordState.ACQUIRED)\n        run = next",
        f"{RULES}::test_only_who_has_a_record_judges_it",
    ),
    bug(
        "a share group takes two verdicts on one record in one request",
        "coordinator/share/partition.py",
        "            if first < checked:\n",
        "            if False:\n",
        f"{RULES}::test_one_bad_batch_refuses_all",
    ),
    bug(
        "a share group delivers a record for ever",
        "coordinator/share/partition.py",
        "RecordState.ARCHIVED if run.count >= limits.deliveries_max else RecordState.AVAILABLE",
        "RecordState.AVAILABLE",
        f"{RULES}::test_a_release_is_delivered_again_until_the_limit",
    ),
    bug(
        "a share group has more records under way than it may",
        "coordinator/share/partition.py",
        "self._extend(first, min(end, self.start + limits.records_max))",
        "self._extend(first, end)",
        f"{RULES}::test_locks_are_bounded",
    ),
    bug(
        "a share group's start jumps over a record that is under way",
        "coordinator/share/partition.py",
        "runs[done].state in (RecordState.ACKNOWLEDGED, RecordState.ARCHIVED)",
        "runs[done].state is not RecordState.AVAILABLE",
        f"{RULES}::test_one_bad_batch_refuses_all",
    ),
    bug(
        "a verdict is answered before it is durable",
        "coordinator/runtime/durable_key.py",
        "        self._waiting.append((self._changes, wait))\n        await wait\n",
        "        self._waiting.append((self._changes, wait))\n",
        f"{GROUPS}::test_a_power_cut_at_every_call",
    ),
    bug(
        "a verdict is not written",
        "coordinator/share/durable_share.py",
        "        if self.rules.revision != self._written:\n",
        "        if False:\n",
        f"{GROUPS}::test_a_power_cut_at_every_call",
    ),
    bug(
        "where a share group begins is not kept",
        "coordinator/share/coordinator.py",
        "        found.begin()\n",
        "",
        f"{GROUPS}::test_where_a_group_begins_is_kept",
    ),
    bug(
        "a lock of a share group never runs out",
        "coordinator/share/durable_share.py",
        "        self._group.timers.call_at(self.rules.deadline, self.tick)\n",
        "",
        f"{GROUPS}::test_a_lock_that_runs_out_counts_as_a_delivery",
    ),
    bug(
        "a silent member of a share group keeps its records",
        "coordinator/share/durable_share.py",
        "        self.release(late, delivered=True)\n",
        "",
        f"{GROUPS}::test_a_silent_member_gives_back_what_it_had",
    ),
]
