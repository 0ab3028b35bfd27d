"""Bugs of deletions and of what the write-ahead log remembers: what pins it, what it forgets, what outgrows it."""

from __future__ import annotations

from tests.bugs.bug import Bug, Edit

BROKER = "tests/broker/test_deletions.py"
KEPT = "tests/log/test_kept.py"
PRUNE = "tests/io/test_local_prune.py"
ASIDE = "tests/operate/test_set_aside.py"
DELETE = "tests/log/test_delete_topic.py"

BUGS = (
    Bug(
        "a deletion that has failed is not tried again",
        (Edit("log/background/deletions.py", "        self._ready.extend(late)\n", ""),),
        (f"{DELETE}::test_objects_stay_until_their_topic_is_struck_off_the_list",),
    ),
    Bug(
        "a deletion that is not done is forgotten with its entry",
        (Edit("log/pressure/purge.py", "deleted=deleted.under_way", "deleted=frozenset()"),),
        (f"{KEPT}::test_a_log_with_20_000_partitions_and_10_000_deletions_is_purged",),
    ),
    Bug(
        "a deletion that is not done pins its entry",
        (
            Edit(
                "log/pressure/purge.py",
                "        if needed <= self._purged_below:\n",
                "        if needed <= self._purged_below or self._deletions.under_way:\n",
            ),
        ),
        (f"{KEPT}::test_a_log_with_20_000_partitions_and_10_000_deletions_is_purged",),
    ),
    Bug(
        "what is kept is taken for saved before it is",
        (
            Edit(
                "log/journal.py",
                "                self._wal.save_user_data(kept.encode())\n                self.kept = kept",
                "                self.kept = kept\n                self._wal.save_user_data(kept.encode())",
            ),
        ),
        (f"{KEPT}::test_what_could_not_be_saved_is_saved_by_the_next_purge",),
    ),
    Bug(
        "any number of deletions is taken",
        (Edit("log/background/deletions.py", "        check_deleted(self._under_way)\n", ""),),
        (f"{KEPT}::test_more_deletions_than_can_be_remembered_are_refused",),
    ),
    Bug(
        "user data fills every chunk",
        (
            Edit(
                "wal/log.py",
                "        return max(self._settings.chunk_size_max, _USER_DATA_SHARE * len(user_data))\n",
                "        return self._settings.chunk_size_max\n",
            ),
        ),
        ("tests/wal/test_limits.py::test_user_data_has_a_limit_of_its_own",),
    ),
    Bug(
        "a start strikes deleted topics off the list before it serves",
        (
            Edit(
                "broker/topics.py",
                "        self._logs.begin_deleting(self._strike)\n",
                "        await self._strike_deleted()\n        self._logs.begin_deleting(self._strike)\n",
            ),
        ),
        (f"{BROKER}::test_a_start_while_the_list_cannot_be_changed",),
    ),
    Bug(
        "a start puts the cluster's id although it is there",
        (
            Edit(
                "log/recovery/identify.py",
                "if kept is None else _known_cluster(objects)\n",
                "if kept is None else claim_store(objects, kept.identity.cluster)\n",
            ),
        ),
        ("tests/operate/test_disk_full.py::test_a_start_puts_nothing_into_a_store_that_knows_its_cluster",),
    ),
    Bug(
        "the reserve serves the log only",
        (
            Edit(
                "log/recovery/begin.py",
                "environment = environment._replace(objects=ReservedObjects(environment.objects, local.space))\n",
                "ReservedObjects(environment.objects, local.space)\n",
            ),
        ),
        ("tests/operate/test_disk_full_ways_back.py::test_records_are_deleted_on_a_disk_without_a_byte",),
    ),
    Bug(
        "empty folders of deleted topics stay",
        (
            Edit(
                "io/objects/local/objects.py",
                "            self._folders.drop(root, prune(name, root.descriptor))\n",
                "",
            ),
        ),
        (f"{PRUNE}::test_a_deleted_topic_leaves_no_folder",),
    ),
    Bug(
        "the empty folder of a living partition goes",
        (
            Edit(
                "io/objects/local/prune.py", "    if not removed and _is_there(living, root):\n        return []\n", ""
            ),
        ),
        (f"{PRUNE}::test_a_living_partition_keeps_its_folders",),
    ),
    Bug(
        "an object that cannot be deleted keeps all others",
        (
            Edit(
                "segment/garbage.py",
                "            if in_a_row == _FAILURES_IN_A_ROW_MAX:\n",
                "            if in_a_row:\n",
            ),
        ),
        (f"{PRUNE}::test_one_object_that_cannot_be_deleted_keeps_no_other",),
    ),
    Bug(
        "records that could not go to quarantine are not tried again",
        (
            Edit(
                "log/recovery/quarantine_mover.py",
                "            self._late[home] = asyncio.ensure_future(self._move_later(home, tails, why))\n",
                "",
            ),
        ),
        (f"{ASIDE}::test_a_quarantine_that_fails_is_tried_again_while_the_broker_runs",),
    ),
    Bug(
        "the tail of a partition that was opened again goes to quarantine",
        (Edit("log/recovery/opening.py", "        await self._mover.leave(home)\n", ""),),
        (f"{ASIDE}::test_a_partition_that_opens_after_all_keeps_its_tail",),
    ),
    Bug(
        "a segment takes what the way back was given",
        (
            Edit(
                "io/objects/reserved.py",
                "        if size > SMALL and not self._space.may_take(size)",
                "        if size < 0 and not self._space.may_take(size)",
            ),
        ),
        ("tests/io/test_reserved_objects.py::test_a_large_put_leaves_what_the_way_back_needs",),
    ),
    Bug(
        "topics of one request are deleted one after the other",
        (
            Edit(
                "broker/api/topics.py",
                "await asyncio.gather(*(_delete(context, topic, request) for _, topic in some))",
                "[await _delete(context, topic, request) for _, topic in some]",
            ),
        ),
        ("tests/broker/test_deletions.py::test_many_topics_deleted_while_the_store_is_away_wait_for_it_together",),
    ),
)
