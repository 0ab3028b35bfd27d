"""Known ways to go wrong at the edges: the first start of a release, a store that is away, damage while running."""

from __future__ import annotations

from tests.bugs.bug import Bug, Edit

CLOCKS = "tests/log/test_clocks.py"
PRODUCER_IDS = "tests/coordinator/test_producer_ids.py"

BUGS = [
    Bug(
        "the newest time in a store is believed",
        (
            Edit(
                "io/proven_time.py",
                "        if end - start >= trust_s * 1000:\n            return end - hole_ms\n",
                "        return end\n",
            ),
        ),
        (f"{CLOCKS}::test_a_clock_that_is_ahead_at_an_upgrade_deletes_nothing",),
    ),
    Bug(
        "a jump may hide in a hole between two times",
        (Edit("io/proven_time.py", "return end - hole_ms", "return end"),),
        (f"{CLOCKS}::test_a_clock_that_is_ahead_at_an_upgrade_deletes_nothing",),
    ),
    Bug(
        "what a store proves of the time is not asked for",
        (
            Edit(
                "log/recovery/begin.py",
                "    await calls.run(keep_first, environment.objects, "
                "settings.clock_trust_ms / 1000, environment.clock)\n",
                "",
            ),
        ),
        (f"{CLOCKS}::test_retention_goes_on_after_an_upgrade",),
    ),
    Bug(
        "boot times of two starts of the machine are compared",
        (Edit("io/believed_time.py", "if boot and boot == self.boot else 0.0", "if boot else 0.0"),),
        ("tests/io/test_believed_time.py",),
    ),
    Bug(
        "the next block of producer ids is taken when the last is used up",
        (
            Edit(
                "coordinator/transaction/producer_ids.py",
                "        if self.left <= self._block_size // 2:\n",
                "        if self.left == 0:\n",
            ),
        ),
        (PRODUCER_IDS,),
    ),
    Bug(
        "a block of producer ids is handed out twice",
        (
            Edit(
                "coordinator/transaction/producer_ids.py",
                "self._next, self._end, self._spare = start, start + self._block_size, None",
                "self._next, self._end = start, start + self._block_size",
            ),
        ),
        (PRODUCER_IDS,),
    ),
    Bug(
        "the bytes in the place of a lost batch are not kept",
        (Edit("log/partition/mend.py", "    return [*frames.values(), *pieces]\n", "    return pieces\n"),),
        ("tests/log/test_changed_bytes.py::test_a_damaged_frame_sets_its_partition_aside_and_stops_no_other",),
    ),
    Bug(
        "old bytes behind an idle log are called a torn tail",
        (
            Edit(
                "wal/recovery/replay.py",
                "if was_idle and len(found) == HEADER.size else any(found)",
                "if False else any(found)",
            ),
        ),
        ("tests/wal/test_torn.py::test_old_bytes_behind_an_idle_log_are_not_a_torn_tail",),
    ),
    Bug(
        "what a log only found when it took over counts as lost at its next start",
        (Edit("log/recovery/opening.py", " and not _is_only_taken(manifest, journal.identity)", ""),),
        (
            "tests/log/test_set_back.py::test_a_log_that_was_set_back_is_said_to_be_once",
            "tests/log/test_set_back.py::test_who_has_only_taken_over_is_not_set_back",
        ),
    ),
    Bug(
        "what is stored since an epoch was raised counts as found",
        (Edit("log/recovery/opening.py", "manifest.flushed == manifest.epochs[-1].start", "True"),),
        ("tests/log/test_set_back.py::test_offsets_that_are_given_again_have_another_epoch",),
    ),
    Bug(
        "a store whose last owner is waited for counts as away",
        (Edit("log/recovery/begin.py", "    local.is_heard = True\n", ""),),
        ("tests/operate/test_owner_real.py::test_a_directory_that_was_moved_goes_on",),
    ),
    Bug(
        "an epoch that the log has never had counts as its own",
        (Edit("log/recovery/opening.py", " and manifest.epoch <= identity.generation", ""),),
        ("tests/log/test_set_back.py::test_an_epoch_that_the_log_has_lost_shows_that_it_was_set_back",),
    ),
    Bug(
        "a start without the store makes an unclean stop a clean one",
        (Edit("log/recovery/begin.py", "kept is None or not kept.unclean", "wal.opened.clean"),),
        ("tests/log/test_tails.py::test_a_start_without_the_store_makes_no_stop_a_clean_one",),
    ),
    Bug(
        "a copy of a backup that a broker runs on is refused without a way out",
        (Edit("cli/backup/command.py", "remove {Path(data) / NAME} and try again", "it is refused"),),
        ("tests/operate/test_backup_places.py::test_a_copy_of_a_backup_made_with_any_tool_is_told_what_to_do",),
    ),
    Bug(
        "who is not the owner any more calls itself well",
        (Edit("operate/status.py", 'and owner.get("is_owner", True),', "and True,"),),
        ("tests/metrics/test_status.py::test_what_is_not_well",),
    ),
    Bug(
        "a partition that could not be opened is not tried again",
        (
            Edit(
                "broker/reopening.py",
                "                if isinstance(found, Corrupt) and not",
                "                if False and not",
            ),
        ),
        ("tests/operate/test_reopening.py",),
    ),
]
