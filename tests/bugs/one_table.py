"""Known bugs of one table over all places, and of the upkeep of Parquet archives."""

from __future__ import annotations

from tests.bugs.bug import Bug, Edit

TABLE = "tests/spark/test_one_table.py"
UPKEEP = "tests/spark/test_parquet_upkeep.py"

BUGS = [
    Bug(
        "table: the log is read from one record behind the archive",
        (
            Edit(
                "spark/places/split.py",
                "live[where] = OffsetRange(max(start, middle,",
                "live[where] = OffsetRange(max(start, middle + 1,",
            ),
        ),
        (f"{TABLE}::test_what_retention_took_is_read_from_the_archive",),
    ),
    Bug(
        "table: the log is read from its start, whatever is archived",
        (Edit("spark/places/split.py", "OffsetRange(max(start, middle, min(", "OffsetRange(max(start, min("),),
        (f"{TABLE}::test_what_retention_took_is_read_from_the_archive",),
    ),
    Bug(
        "table: what expired between the archive and the log is not missed",
        (Edit("spark/places/split.py", "if ends.get(where, marks.log_start) < marks.log_start", "if False"),),
        (f"{TABLE}::test_what_retention_took_is_read_from_the_archive",),
    ),
    Bug(
        "table: a look at the log that is older than the archive is kept",
        (Edit("spark/places/split.py", "    if any(end > view.marks[where].stored", "    if False and any(end > 0"),),
        (f"{TABLE}::test_a_log_that_was_looked_at_before_the_archive",),
    ),
    Bug(
        "table: a commit is read whose files are not in their places",
        (Edit("spark/jobs/archive/live.py", "if newest is None or not log.unpublished(newest):", "if True:"),),
        (f"{UPKEEP}::test_a_commit_whose_files_are_not_all_there",),
    ),
    Bug(
        "table: replaced files stay in the list",
        (Edit("spark/jobs/archive/live.py", "gone = set(commit.memory.get(REPLACED, ()))", "gone = set[str]()"),),
        (f"{UPKEEP}::test_small_files_become_one_and_go_when_nobody_reads_them",),
    ),
    Bug(
        "table: the whole list of every 64th commit lacks what came before it",
        (
            Edit(
                "spark/jobs/archive/live.py",
                "    before = {} if newest is None else live_files(log, newest)\n",
                "    before = {}\n",
            ),
        ),
        (f"{UPKEEP}::test_more_commits_than_one_list_has",),
    ),
    Bug(
        "upkeep: small files go while somebody may read them",
        (
            Edit(
                "spark/jobs/archive/merged.py",
                "if max(each.modified_ms for each in files) <= now_ms - old_ms:",
                "if True:",
            ),
        ),
        (f"{UPKEEP}::test_small_files_become_one_and_go_when_nobody_reads_them",),
    ),
    Bug(
        "upkeep: a merged file is shown beside those that it replaces",
        (
            Edit(
                "spark/jobs/archive/parquet.py",
                "        for name in removed:  # First, so that who lists the directory sees no row twice.\n"
                "            store.open().delete(name)\n",
                "",
            ),
            Edit(
                "spark/jobs/archive/parquet.py",
                "        run_units(self.session, units, _publish_one)\n",
                "        run_units(self.session, units, _publish_one)\n"
                "        for name in removed:\n"
                "            store.open().delete(name)\n",
            ),
        ),
        (f"{UPKEEP}::test_killed_at_any_moment[swap]",),
    ),
    Bug(
        "upkeep: what was merged meanwhile by somebody else is merged again",
        (
            Edit(
                "spark/jobs/archive/merged.py",
                "        if any(name not in live for name in replaced):\n",
                "        if False:\n",
            ),
        ),
        (f"{UPKEEP}::test_two_that_look_after_one_archive",),
    ),
]
