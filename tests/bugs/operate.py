"""Known ways to lose what was acknowledged when a disk is full, a store is set back, or a partition is damaged."""

from __future__ import annotations

from tests.bugs.bug import Bug, Edit

ASIDE = "tests/operate/test_set_aside.py"
FULL = "tests/operate/test_disk_full.py"
REPAIR = "tests/operate/test_repair.py"
BACKUP = "tests/operate/test_backup.py"
START = "tests/operate/test_start.py"
SERVED = "tests/operate/test_served_store.py"
ALONE = "tests/operate/test_one_at_a_time.py"

BUGS = [
    Bug(
        "marks are not saved with a purge",
        (Edit("log/journal.py", "            if kept != self.kept:\n", "            if False:\n"),),
        (f"{ASIDE}::test_a_partition_without_a_tail_is_refused_by_its_mark",),
    ),
    Bug(
        "a partition without its manifest is made anew",
        (Edit("log/recovery/opening.py", "create=mark == start == 0", "create=True"),),
        (f"{ASIDE}::test_a_store_without_the_manifest_is_not_taken_for_a_new_one",),
    ),
    Bug(
        "a partition in quarantine is said to be tried again",
        (Edit("broker/topics.py", "isinstance(failure, Quarantined)  # If", "False  # If"),),
        ("tests/operate/test_reopening.py::test_a_partition_with_records_of_its_own_in_the_log_is_in_quarantine",),
    ),
    Bug(
        "the log forgets what is in quarantine",
        (
            Edit(
                "log/recovery/quarantine_mover.py",
                "        await ground.calls.local(journal.quarantine, home, quarantined)\n",
                "",
            ),
        ),
        (f"{ASIDE}::test_what_is_set_aside_stays_so_until_it_is_repaired",),
    ),
    Bug(
        "a tail is let go although its file was not written",
        (
            Edit(
                "log/recovery/quarantine_mover.py",
                "            self._late[home] = asyncio.ensure_future(self._move_later(home, tails, why))\n"
                "            return None\n",
                "            for tail in tails:\n                tail.clear()\n"
                "            return SetAside(home.path, 0, 0, '', why=why)\n",
            ),
        ),
        (f"{ASIDE}::test_a_quarantine_that_fails_keeps_the_records_in_the_log",),
    ),
    Bug(
        "an fsync is tried again for want of space",
        (
            Edit(
                "wal/commit/writer.py",
                "        self._write_at(round_.start, round_.buffers, round_.size)\n        self._file.sync()\n",
                "        self._write_at(round_.start, round_.buffers, round_.size)\n"
                "        try:\n"
                "            self._file.sync()\n"
                "        except OSError as failure:\n"
                "            self._check_worth_trying(failure)\n"
                "            self._file.sync()\n",
            ),
        ),
        (f"{FULL}::test_a_failed_fsync_is_not_made_again_for_want_of_space",),
    ),
    Bug(
        "a repair drops what lies behind the damage",
        (Edit("operate/repair/wal.py", "            at = following\n", "            return\n"),),
        (f"{REPAIR}::test_a_damaged_frame_in_a_closed_chunk", f"{REPAIR}::test_a_missing_chunk"),
    ),
    Bug(
        "a repair accepts any token",
        (Edit("cli/repair/command.py", "accept == plan.token", "accept is not None"),),
        (f"{REPAIR}::test_only_exactly_this_loss_is_accepted",),
    ),
    Bug(
        "a backup copies the open chunk as it is",
        (
            Edit(
                "operate/backup/wal.py",
                "read_tail(source, link).end if newest else",
                "read_tail(source, link).end // 2 if newest else",
            ),
        ),
        (f"{BACKUP}::test_a_log_is_copied_while_it_is_written_purged_and_recycled",),
    ),
    Bug(
        "a new log takes a store that is in use",
        (Edit("log/recovery/identify.py", "not take_over:\n        raise NewLog", "False:\n        raise NewLog"),),
        (f"{START}::test_a_first_start_that_was_cut_off_is_no_reason_to_refuse",),
    ),
    Bug(
        "a start begins an empty log beside a repaired one",
        (Edit("cli/serve/command.py", "        finish_interrupted(data)\n", ""),),
        (f"{START}::test_a_repair_that_ended_before_its_last_rename_is_finished",),
    ),
    Bug(
        "a start that is told to stop goes on",
        (Edit("cli/serve/command.py", "    if not life.done() and not served.is_set():\n", "    if False:\n"),),
        (f"{START}::test_a_start_that_is_told_to_stop_does",),
    ),
    Bug(
        "a repair lets others in between its last two steps",
        (Edit("cli/repair/command.py", '    with held(Path(data), "repair", create=False):', "    if True:"),),
        (f"{ALONE}::test_nobody_comes_between_the_last_two_steps_of_a_repair",),
    ),
    Bug(
        "a restore takes the place of any log that is sound",
        (Edit("operate/backup/wal.py", "found.sound and found.state == WalState()", "found.sound"),),
        (f"{ALONE}::test_what_a_refused_start_leaves_does_not_stand_in_the_way_of_a_restore",),
    ),
    Bug(
        "a data directory that is gone closes connections and says nothing",
        (
            Edit(
                "log/pressure/space.py",
                "            raise DiskUnknown(self.path, failure) from failure",
                "            raise",
            ),
        ),
        ("tests/operate/test_data_gone_real.py",),
    ),
    Bug(
        "a Kafka client swallows Ctrl-C, and the demo goes on",
        (Edit("demo/interrupt.py", "in (signal.SIGINT, signal.SIGTERM)", "in (signal.SIGTERM,)"),),
        ("tests/demo/test_demo.py::test_an_interrupt_inside_a_call_of_a_client_is_not_lost",),
    ),
    Bug(
        "a store that was left behind is taken where none is named",
        (Edit("cluster/served_store.py", "    if store is None or (_is_local", "    if True or (_is_local"),),
        (f"{SERVED}::test_objects_that_a_move_has_left_behind_are_not_taken",),
    ),
    Bug(
        "a broker does not write down which store it serves",
        (
            Edit(
                "cli/serve/command.py",
                "            broker, server = await started(stack, around, everything, data, place, metrics)\n"
                "            await stack.enter_async_context(keeping_served(data, around.objects.url, around.calls))\n",
                "            broker, server = await started(stack, around, everything, data, place, metrics)\n",
            ),
        ),
        (f"{SERVED}::test_objects_that_a_move_has_left_behind_are_not_taken",),
    ),
    Bug(
        "a store is written down before a broker was opened with it",
        (
            Edit(
                "cli/serve/command.py",
                "            broker, server = await started(stack, around, everything, data, place, metrics)\n"
                "            await stack.enter_async_context(keeping_served(data, around.objects.url, around.calls))\n",
                "            await stack.enter_async_context(keeping_served(data, around.objects.url, around.calls))\n"
                "            broker, server = await started(stack, around, everything, data, place, metrics)\n",
            ),
        ),
        (f"{SERVED}::test_objects_that_a_move_has_left_behind_are_not_taken",),
    ),
    Bug(
        "a store inside the data directory is written down as where it was",
        (Edit("cluster/served_store.py", "return os.path.relpath(place, home)\n", "return place\n"),),
        (f"{SERVED}::test_a_directory_with_its_store_in_it_can_be_moved",),
    ),
]
