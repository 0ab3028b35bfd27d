"""Known ways to get the end of the log, its memory and its lock wrong."""

from __future__ import annotations

from tests.bugs.bug import Bug, Edit

BUGS = [
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
