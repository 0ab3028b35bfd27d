"""Known ways to get the end of the log, its memory and its lock wrong."""

from __future__ import annotations

from tests.bugs.bug import Bug, Edit

BUGS = [
    Bug(
        "the marker lies in one block with what it proves",
        (
            Edit(
                "wal/rounds.py",
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
        (Edit("wal/record.py", "    return gap - HEADER.size if gap else 0\n", "    return gap - 25 if gap else 0\n"),),
        ("tests/wal/test_marker_block.py::test_a_marker_begins_at_a_border_wherever_the_records_end",),
    ),
    Bug(
        "only the file LOCK is locked",
        (
            Edit(
                "io/lock.py",
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
                "io/lock.py",
                "            if not _take(self._file):\n",
                "            if not self._file:\n",
            ),
        ),
        ("tests/io/test_lock.py::test_a_release_that_knows_only_the_file_is_kept_out_and_keeps_out",),
    ),
]
