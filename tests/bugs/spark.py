"""Known ways in which a read of some time would leave out records, or a job not say how far it is."""

from __future__ import annotations

from tests.bugs.bug import Bug, Edit

READ = ("tests/spark/test_source_plan.py::test_a_time_reads_only_its_part_of_a_segment",)
BACK = ("tests/segment/test_times.py::test_how_far_times_go_back",)

BUGS = [
    Bug(
        "spark: a read ends at the first batch behind its time, though times go back",
        (Edit("catalog/load.py", "min(times.end + known.back_ms, LATEST)", "times.end"),),
        READ,
    ),
    Bug(
        "spark: the interval in which a time ends is not read",
        (Edit("catalog/load.py", "known.back_ms, LATEST)) + 1)", "known.back_ms, LATEST)))"),),
        READ,
    ),
    Bug(
        "spark: batches without records are forgotten when times are compared",
        (Edit("segment/times.py", " if len(earliest) == batch_count else None", ""),),
        BACK,
    ),
    Bug(
        "spark: how far a job is, is told at its end only",
        (Edit("spark/jobs/run.py", "while not self._over.wait(_POLL_S):", "while not self._over.wait(3600):"),),
        ("tests/spark/test_progress.py::test_progress_is_told_while_tasks_run",),
    ),
    Bug(
        "spark: a table without its options is told of a missing path only",
        (Edit("spark/source/options.py", "    if not options:\n", "    if False:\n"),),
        ("tests/spark/test_source_options.py::test_a_table_that_lost_its_options",),
    ),
    Bug(
        "spark: a slip in what protects a broker passes for an option that does nothing",
        (Edit("spark/source/options.py", " and not name.startswith(PROTECTING)", ""),),
        ("tests/spark/test_source_options.py::test_options_of_sparks_own_source_are_taken_with_one_warning",),
    ),
    Bug(
        "spark: an idle stream lists every partition",
        (Edit("catalog/catalog.py", " and versions.is_free(number + 1)", " and False"),),
        ("tests/spark/test_idle.py::test_an_idle_stream_asks_little_of_the_store",),
    ),
    Bug(
        "spark: a broker that does not answer passes for one that has nothing new",
        (Edit("spark/source/looks.py", "            return None\n", "            return self._ends\n"),),
        ("tests/spark/test_idle.py::test_a_stream_with_a_broker_asks_it_alone",),
    ),
    Bug(
        "spark: a task reads more records than it may",
        (
            Edit(
                "catalog/plan.py",
                "                part, left = [], count_max\n",
                "                part, left = [], count_max + 1\n",
            ),
        ),
        ("tests/spark/test_source_options.py::test_tasks_of_so_many_records",),
    ),
]
