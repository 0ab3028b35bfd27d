"""Known ways to deliver again what was accepted, or to lose it, where coordinators and leaders are several brokers."""

from __future__ import annotations

from tests.bugs.bug import Bug, Edit

OVER = "tests/cluster/test_shares.py"
REAL = "tests/cluster/test_many_shares.py"

_COORDINATOR = "coordinator/share/coordinator.py"
_DURABLE = "coordinator/share/durable_share.py"
_LED = "coordinator/share/led.py"
_RECORDS = "coordinator/share/records.py"
_ACKS = "broker/share/acks.py"

LATER = f"{OVER}::test_a_later_leader_is_known_to_the_next_coordinator"
LATE = f"{OVER}::test_a_state_that_comes_late_counts_no_more"
OPERATOR = f"{OVER}::test_an_operator_lets_a_group_begin_elsewhere"

BUGS = [
    Bug(
        "a leader that is not the latest reads the state of a share group",
        (
            Edit(
                _DURABLE,
                "        if leader_epoch < self.leader_epoch:\n"
                "            raise ShareLeaderOld(self._group.id, self.home.path, leader_epoch)\n",
                "",
            ),
        ),
        (LATER,),
    ),
    Bug(
        "a leader that is not the latest says what became of records",
        (
            Edit(_DURABLE, "        if state.leader_epoch < self.leader_epoch:\n", "        if False:\n"),
            Edit(
                _DURABLE,
                "        if (state.state_epoch, state.leader_epoch) != (self.state_epoch, self.leader_epoch):\n",
                "        if False:\n",
            ),
        ),
        (f"{OVER}::test_a_leader_that_is_not_the_latest_is_refused", LATER),
    ),
    Bug(
        "a state of a share group that comes late replaces a newer one",
        (
            Edit(
                _DURABLE,
                "        if (state.state_epoch, state.leader_epoch) != (self.state_epoch, self.leader_epoch):\n",
                "        if False:\n",
            ),
        ),
        (LATE, LATER),
    ),
    Bug(
        "the next coordinator of a share group does not know who has read its state",
        (Edit(_RECORDS, "    if state.leader_epoch < 0:\n", "    if True:\n"),),
        (LATER,),
    ),
    Bug(
        "that a leader has read a state is answered before it is durable",
        (
            Edit(
                _DURABLE,
                "        self._kept.changed()\n        await self._kept.durable()\n        return state\n",
                "        return state\n",
            ),
        ),
        (LATER, OVER),
    ),
    Bug(
        "a leader goes on after a state whose fate nobody knows as if it had never been told",
        (Edit(_LED, "                is_known = False\n", ""),),
        (LATE,),
    ),
    Bug(
        "verdicts are answered before the coordinator of a share group has them",
        (Edit(_LED, "        if self.is_settled:\n            return\n", "        return\n"),),
        (f"{OVER}::test_verdicts_wait_until_the_coordinator_has_them",),
    ),
    Bug(
        "a share group's records are given out while their partition goes to another broker",
        (
            Edit(
                _LED,
                "        return super().acquire(member, found, count_max, whole=whole) "
                "if self._leads.has(self.log) else []\n",
                "        return super().acquire(member, found, count_max, whole=whole)\n",
            ),
        ),
        (f"{OVER}::test_nothing_is_given_out_on_the_way_to_another",),
    ),
    Bug(
        "a leader does not hear that a share group begins elsewhere",
        (
            Edit(
                _LED,
                "        for each in [each for each in group.partitions.values() "
                "if each.is_idle and each.keeper.is_settled]:\n            self.forget(group_id, each.home)\n",
                "",
            ),
        ),
        (OPERATOR,),
    ),
    Bug(
        "verdicts from before a share group was reset count",
        (Edit(_DURABLE, "        self.state_epoch = next_state(self.state_epoch)\n", ""),),
        (OPERATOR,),
    ),
    Bug(
        "a broker serves share groups whose internal partition is another's",
        (Edit(_COORDINATOR, "            group = self._groups.pop(group_id)\n", "            return\n"),),
        (f"{OVER}::test_groups_are_read_back_beside_the_others",),
    ),
    Bug(
        "a verdict on what another broker leads now is taken",
        (Edit(_ACKS, "            if topics.is_shared:\n", "            if False:\n"),),
        (f"{OVER}::test_the_next_leader_goes_on_where_the_last_one_was",),
    ),
    Bug(
        "share groups of one leader are not there with many",
        (
            Edit(
                "broker/leading.py",
                "        await copy_among_groups(found.context.shares, groups, around.clock.now_ms())\n",
                "",
            ),
        ),
        (f"{REAL}::test_groups_of_one_leader_go_on_with_many",),
    ),
]
