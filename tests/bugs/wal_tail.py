"""Known ways to get the end of the log, its memory and its lock wrong."""

from __future__ import annotations

from tests.bugs.bug import Bug, Edit

BUGS = [
    Bug(
        "the marker lies in one block with what it proves",
        (
            Edit(
                "wal/commit/rounds.py",
                "            padding = record.padding_before_marker(self._chunk.end)\n",
                "            padding = 0\n",
            ),
        ),
        (
            "tests/wal/test_marker_block.py::test_the_last_block_with_records_is_lost",
            "tests/wal/test_crash_search.py::test_ten_thousand_crashes[0]",
            "tests/operate/test_lost_block.py",
        ),
    ),
    Bug(
        "the padding ends a byte too early",
        (
            Edit(
                "wal/format/record.py",
                "    return gap - HEADER.size if gap else 0\n",
                "    return gap - 25 if gap else 0\n",
            ),
        ),
        ("tests/wal/test_marker_block.py::test_a_marker_begins_at_a_border_wherever_the_records_end",),
    ),
    Bug(
        "only the file LOCK is locked",
        (
            Edit(
                "io/disk/lock.py",
                "            if not _take_folder(self._folder, directory):\n",
                "            if not self._folder:\n",
            ),
        ),
        (
            "tests/io/test_lock.py::test_without_its_file_the_directory_is_still_held",
            "tests/cli/test_serve_lock.py::test_deleting_the_lock_files_lets_nobody_in",
        ),
    ),
    Bug(
        "only the directory is locked",
        (
            Edit(
                "io/disk/lock.py",
                "            if not _take(self._file):\n",
                "            if not self._file:\n",
            ),
        ),
        ("tests/io/test_lock.py::test_a_release_that_knows_only_the_file_is_kept_out_and_keeps_out",),
    ),
    Bug(
        "what lists spilled batches is not counted",
        (
            Edit(
                "log/partition/tail.py",
                "        self._hold(0, sign * run.memory_size)\n",
                "        self._hold(0, 0)\n",
            ),
        ),
        ("tests/log/test_tail.py::test_against_a_plain_list",),
    ),
    Bug(
        "lists of spilled batches have no limit",
        (Edit("log/pressure/backpressure.py", "        return listed * 2 < limit or", "        return True or"),),
        ("tests/log/test_tiny_batches.py::test_producers_wait_when_the_lists_of_what_was_spilled_fill_the_memory",),
    ),
    Bug(
        "a start keeps everything in memory",
        (Edit("log/recovery/replay.py", "        _spill(replayed, memory_max // 4)\n", "        pass\n"),),
        (
            "tests/log/test_recovery.py::test_recovering_a_wal_four_times_the_memory_limit",
            "tests/log/test_tiny_batches.py::test_what_is_counted_is_what_is_taken",
        ),
    ),
    Bug(
        "entries in between are taken for those that were asked for",
        (Edit("log/journal.py", "        while at < index:\n", "        if at < index:\n"),),
        ("tests/log/test_tiny_batches.py::test_neighbours_and_strangers_are_read_back_right",),
    ),
    Bug(
        "a run forgets where its batches are",
        (
            Edit(
                "log/partition/run.py",
                "list(accumulate(steps, initial=self.index))[1:]",
                "list(accumulate(steps, initial=self.index))",
            ),
        ),
        ("tests/log/test_tiny_batches.py::test_a_run_of_batches_of_all_kinds_comes_back",),
    ),
    Bug(
        "after a cut the places of before are given",
        (
            Edit(
                "wal/chunks/frame_index.py",
                "            self._pack_first.pop()\n            self._unpacked = None\n",
                "            self._pack_first.pop()\n",
            ),
        ),
        ("tests/wal/test_places.py::test_against_a_plain_list",),
    ),
]
