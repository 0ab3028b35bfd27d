"""Known ways for a sync to lose, double or hide records when one side is not what it was."""

from __future__ import annotations

from tests.bugs.bug import Bug, Edit

SET_BACK = "tests/sync/test_set_back.py::"
REFUSED = "tests/sync/test_refused.py::"

BUGS = [
    Bug(
        "sync: what was read is not compared with the source",
        (Edit("sync/carry/lane.py", "if not is_still(source, self.where, self.point.seen):", "if False:"),),
        (SET_BACK + "test_a_passive_side_that_was_set_back",),
    ),
    Bug(
        "sync: copies that are gone are not missed",
        (
            Edit(
                "sync/carry/lane.py", "self.point.target_offset > end or not is_there", "self.point.target_offset > end"
            ),
        ),
        (SET_BACK + "test_a_target_that_was_set_back",),
    ),
    Bug(
        "sync: the target's topic is written by name",
        (Edit("sync/carry/worker.py", "ids=self._ids", "ids=None"),),
        (SET_BACK + "test_a_topic_that_is_made_again_at_the_target",),
    ),
    Bug(
        "sync: the source's topic is read by name",
        (Edit("client/fetch_session.py", "self.by_id = self._know_ids(leaders, wanted)", "self.by_id = False"),),
        ("tests/client/test_fetch_session.py",),
    ),
    Bug(
        "sync: another cluster at the address is taken for the old one",
        (Edit("sync/sides.py", "if found != self.cluster_id:", "if False:"),),
        (SET_BACK + "test_another_cluster_at_the_same_address",),
    ),
    Bug(
        "sync: records that expire before the first copy are not counted",
        (Edit("sync/carry/lane.py", "(self.has_begun or known)", "known"),),
        (SET_BACK + "test_records_that_expire_before_they_are_copied",),
    ),
    Bug(
        "sync: a record that is refused ends the whole sync",
        (Edit("sync/carry/worker.py", "            lane.hold(why)\n", "            raise\n"),),
        (REFUSED + "test_only_its_partition_waits",),
    ),
    Bug(
        "sync: a partition that waits is not looked at again",
        (Edit("sync/carry/worker.py", "                lane.release(source, target)", "                pass"),),
        (REFUSED + "test_only_its_partition_waits",),
    ),
    Bug(
        "sync: a checkpoint of a partition that waits hides what was written before the record",
        (Edit("sync/carry/lane.py", "self._is_stuck = True  #", "self.moving.release()  #"),),
        (REFUSED + "test_a_checkpoint_while_a_partition_waits",),
    ),
    Bug(
        "sync: what was set aside is set aside again after a restart",
        (Edit("sync/carry/aside.py", "if offset <= lane.aside:", "if False:"),),
        (REFUSED + "test_records_that_are_set_aside",),
    ),
    Bug(
        "sync: a fetch session does not tell of offsets that have moved",
        (Edit("client/fetch_session.py", "if told.get(pair) != offset", "if pair not in told"),),
        ("tests/client/test_fetch_session.py",),
    ),
    Bug(
        "sync: rules that the target has for itself are removed with the source's",
        (Edit("sync/rules.py", "sorted((had - has) & there)", "sorted(there - has)"),),
        ("tests/sync/test_rules.py::test_what_is_added_and_removed_is_followed_and_choices_stay",),
    ),
    Bug(
        "sync: who does not look at rules forgets what was seen of them",
        (Edit("sync/configs.py", " if self._acls else rules_in(before)", " if self._acls else {}"),),
        ("tests/sync/test_rules.py::test_a_change_while_no_sync_ran",),
    ),
    Bug(
        "sync: a change while a topic is made is never seen",
        (Edit("sync/takeover.py", "settings.configs and each.planned.target is None", "False"),),
        ("tests/sync/test_configs.py::test_a_change_while_the_topic_is_made",),
    ),
    Bug(
        "sync: configs that were seen are not saved",
        (Edit("sync/state/saving.py", "            self._save_configs(lanes, target, seen)\n", "            pass\n"),),
        ("tests/sync/test_configs.py::test_a_change_while_no_sync_ran",),
    ),
    Bug(
        "sync: the table is drawn only at the end",
        (Edit("cli/sync/show.py", ", refresh=True", ""),),
        ("tests/sync/test_terminal.py",),
    ),
    Bug(
        "sync: the last look is before the end",
        (Edit("sync/run.py", "            watch(self.look())  # When", "            pass  # When"),),
        ("tests/sync/test_command.py::test_the_last_look_is_at_the_end",),
    ),
]
