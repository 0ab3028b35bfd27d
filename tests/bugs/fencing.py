"""Known ways to let two processes write, or one that was stopped go on."""

from __future__ import annotations

from tests.bugs.bug import Bug, Edit

VERSIONS = "tests/cluster/test_version_log.py"
CLONES = "tests/log/test_clones.py"
OWNER = "tests/log/test_owner.py"
PAUSED = "tests/segment/test_paused_writer.py"
SET_BACK = "tests/log/test_set_back.py"
DELETED = "tests/operate/test_deleted_elsewhere.py"

BUGS = [
    Bug(
        "whoever was silent for long believes a number that was used and deleted",
        (
            Edit("cluster/version_log.py", "if self.value.version < 0 or started > self._fresh_until:", "if False:"),
            Edit(
                "cluster/version_log.py",
                "            if self._patience.clock.boottime() > self._fresh_until:\n                return False\n",
                "",
            ),
        ),
        (f"{VERSIONS}::test_whoever_was_silent_for_long_lists_before_it_believes_that_nothing_is_new",),
    ),
    Bug(
        "who raised two epochs at once is fenced by the second",
        (
            Edit(
                "segment/manifest/log.py",
                "before < change.epoch <= self._epoch",
                "before < change.epoch == self._epoch",
            ),
        ),
        ("tests/segment/test_manifest_races.py::test_whoever_raised_several_epochs_at_once_is_not_fenced_by_the_last",),
    ),
    Bug(
        "a byte that was misread is taken for another version",
        (Edit("io/versions.py", "for _ in range(2))", "for _ in range(1))"),),
        ("tests/cluster/test_version_log.py::test_a_byte_that_is_misread_behind_a_put_changes_nothing",),
    ),
    Bug(
        "who wakes up takes a partition over without a look at who owns the store",
        (Edit("log/recovery/opening.py", "            await self._check_owner()\n", "            pass\n"),),
        (f"{OWNER}::test_who_wakes_up_takes_no_partition_from_its_successor",),
    ),
    Bug(
        "who comes second raises an epoch above the first one's",
        (
            Edit(
                "segment/manifest/log.py",
                "        if self.manifest.epoch > self._epoch:  #",
                "        epoch = max([self._epoch, *(one.epoch for one in changes if isinstance(one, RaiseEpoch))])\n"
                "        if self.manifest.epoch > epoch:  #",
            ),
        ),
        (f"{OWNER}::test_of_two_that_raise_an_epoch_one_is_fenced",),
    ),
    Bug(
        "a claim that cannot be read is no claim",
        (
            Edit(
                "log/ownership/owner.py",
                "above := _get_or_nobodys(self._versions, number)",
                "above := _get(self._versions, number)",
            ),
        ),
        (f"{OWNER}::test_a_claim_that_cannot_be_read_stops_whoever_is_below_it",),
    ),
    Bug(
        "who led before may still change the metadata",
        (Edit("cluster/version_log.py", "self._epoch = self._newest_epoch + 1", "self._epoch = 0"),),
        ("tests/cluster/test_version_log.py",),
    ),
    Bug(
        "a broker serves before it leads",
        (Edit("broker/running.py", "        await _lead(metadata, logs, around.calls)\n", ""),),
        ("tests/broker/test_usurped_metadata.py::test_a_broker_that_wakes_up_makes_no_topic",),
    ),
    Bug(
        "users and rules are not led",
        (Edit("broker/running.py", "        await _lead(auth, logs, around.calls)\n", ""),),
        ("tests/broker/test_usurped_metadata.py::test_a_broker_that_wakes_up_changes_no_user_and_no_rule",),
    ),
    Bug(
        "a command that leads nothing is fenced by a broker that starts",
        (
            Edit(
                "cluster/version_log.py",
                "                    if self._epoch is not None:\n                        raise\n",
                "                    raise\n",
            ),
        ),
        ("tests/broker/test_usurped_metadata.py::test_a_broker_that_wakes_up_changes_no_user_and_no_rule",),
    ),
    Bug(
        "an append of another process in our epoch is taken for compaction's",
        (
            Edit(
                "segment/manifest/log.py",
                "        if self._appends is None or found.appended == self.manifest.appended:\n",
                "        if True:\n",
            ),
        ),
        (f"{CLONES}::test_of_two_copies_of_a_log_the_later_one_to_append_is_fenced",),
    ),
    Bug(
        "compaction forgets who has last appended",
        (
            Edit(
                "segment/manifest/log.py",
                "        if manifest.flushed > self.manifest.flushed:\n",
                "        if True:\n",
            ),
        ),
        (f"{CLONES}::test_an_append_of_ours_that_arrives_late_is_ours", "tests/log/test_commit.py"),
    ),
    Bug(
        "a late append of the process before fences the next one",
        (Edit("log/partition/state.py", "manifests.lead(ground.journal.heir_of, Offset(end))", "manifests.lead()"),),
        (f"{CLONES}::test_an_append_of_the_process_before_that_arrives_late_is_ours",),
    ),
    Bug(
        "a put is believed without a look at the version below",
        (
            Edit(
                "io/versions.py",
                "is_new = theirs is not None or below is None or below.is_there(objects)",
                "is_new = True",
            ),
        ),
        (PAUSED,),
    ),
    Bug(
        "whatever is under the number below will do",
        (
            Edit(
                "io/versions.py",
                "return any(self.nonce.encode() in objects.get(self.name, 0, _HEAD_SIZE) for _ in range(2))",
                "return objects.size(self.name) > 0",
            ),
        ),
        (f"{PAUSED}::test_two_writers_that_were_stopped_do_not_vouch_for_each_other",),
    ),
    Bug(
        "the first number is always new",
        (Edit("io/versions.py", "return self.versions.newest(self.number) is None", "return True"),),
        (f"{PAUSED}::test_a_sleeper_that_was_about_to_make_the_partition",),
    ),
    Bug(
        "a log that was set back goes on in its old epoch",
        (
            Edit(
                "log/recovery/opening.py",
                "        is_set_back = not taken_over and",
                "        is_set_back = False and",
            ),
        ),
        (f"{SET_BACK}::test_offsets_that_are_given_again_have_another_epoch",),
    ),
    Bug(
        "only the partition that shows it gets a new epoch after a set-back",
        (Edit("log/recovery/opening.py", "            self._on_set_back()\n", ""),),
        (f"{SET_BACK}::test_offsets_that_are_given_again_have_another_epoch",),
    ),
    Bug(
        "a log that is not the owner's opens",
        (Edit("log/ownership/owner.py", "if owner is not None and not lives and not take_over:", "if False:"),),
        (f"{SET_BACK}::test_a_log_that_was_set_back_is_refused",),
    ),
    Bug(
        "a claim is taken before the log knows of it",
        (
            Edit(
                "log/ownership/owner.py",
                "        save_kept(wal, replace(kept, lives=new_lives, deletes_from=deletes_from))\n",
                "",
            ),
            Edit(
                "log/ownership/owner.py",
                "        if is_moved and here.place:\n",
                "        save_kept(wal, replace(kept, lives=new_lives, deletes_from=deletes_from))\n"
                "        if is_moved and here.place:\n",
            ),
        ),
        (f"{SET_BACK}::test_a_kill_at_any_call_of_a_start_is_not_taken_for_a_copy",),
    ),
    Bug(
        "a process that was stopped acknowledges before it looks",
        (
            Edit(
                "log/ownership/owner_watch.py",
                "        if self._task is None or not (self._waiting or self._is_late()):\n",
                "        if True:\n",
            ),
        ),
        (f"{OWNER}::test_a_process_that_was_stopped_looks_before_it_acknowledges",),
    ),
    Bug(
        "a process that was stopped says what it had decided before",
        (
            Edit(
                "broker/net/connection.py",
                "        if self._transport is None or self._server.holds_back(self):\n",
                "        if self._transport is None:\n",
            ),
        ),
        ("tests/broker/test_wakes.py",),
    ),
    Bug(
        "a process that is not the owner says what it had held back",
        (
            Edit(
                "broker/net/server.py",
                "        if self.has_failed():\n            waiting,",
                "        if False:\n            waiting,",
            ),
        ),
        ("tests/broker/test_wakes.py",),
    ),
    Bug(
        "a look does not see that its own claim is deleted",
        (
            Edit(
                "log/ownership/owner.py",
                "        if not _below(self._versions, self.claim).is_there(self._versions.objects):\n",
                "        if False:\n",
            ),
        ),
        (f"{OWNER}::test_a_look_sees_what_happened_long_ago",),
    ),
    Bug(
        "an owner answers no question",
        (
            Edit(
                "log/ownership/owner.py",
                "        if number > self.claim.number + 1 or is_late:\n",
                "        if is_late:\n",
            ),
        ),
        (f"{OWNER}::test_a_copy_asks_and_a_live_owner_answers",),
    ),
    Bug(
        "a look gives up behind many questions",
        (
            Edit(
                "log/ownership/owner.py",
                "            number += 1\n",
                "            number += 1\n            if number > 16:\n                return\n",
            ),
        ),
        (f"{OWNER}::test_many_questions_hide_no_claim_and_all_are_answered",),
    ),
    Bug(
        "a damaged claim stops every start for good",
        (
            Edit(
                "log/ownership/owner.py", "found = _get_or_nobodys(versions, number)", "found = _get(versions, number)"
            ),
        ),
        (f"{OWNER}::test_a_damaged_claim_is_anybodys_and_the_operator_may_go_on",),
    ),
    Bug(
        "who takes over goes on in an epoch that the owner may have had",
        (Edit("log/ownership/owner.py", "max(own, owner.generation) + 1", "own"),),
        (f"{SET_BACK}::test_who_takes_over_has_an_epoch_that_the_owner_never_had",),
    ),
    Bug(
        "the tails of a fenced broker are not saved",
        (
            Edit(
                "log/logs.py",
                "            await self._openings.save_all_fenced(self._partitions.values())\n",
                "            pass\n",
            ),
        ),
        (f"{OWNER}::test_a_broker_that_was_taken_over_stops_acknowledging_and_reading",),
    ),
    Bug(
        "a topic that another broker deleted counts as lost",
        (Edit("broker/topics.py", "missing.intersection(self._metadata.metadata.deleted)", "()"),),
        (f"{DELETED}::test_a_topic_that_the_next_broker_deleted_does_not_keep_the_first_from_starting",),
    ),
    Bug(
        "an epoch that was raised too late to count is raised again",
        (
            Edit(
                "segment/manifest/log.py",
                "        return isinstance(change, RaiseEpoch) and before < change.epoch <= self._epoch\n",
                "        return False\n",
            ),
        ),
        ("tests/segment/test_manifest_model.py::TestManifests::runTest",),
    ),
    Bug(
        "a broker looks too seldom whether it is the owner",
        (Edit("log/settings.py", "owner_check_ms: int = 1_000 ", "owner_check_ms: int = 3_000 "),),
        (f"{OWNER}::test_a_broker_that_was_taken_over_stops_acknowledging_and_reading",),
    ),
]
