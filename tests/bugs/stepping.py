"""Known bugs of those who meet batches that nobody can read."""

from __future__ import annotations

from tests.bugs.bug import Bug, Edit

SPARK = "tests/spark/test_unreadable.py"
SYNC = "tests/sync/test_unreadable.py"
LOG = "tests/log/test_unreadable.py"


def bug(name: str, file: str, old: str, new: str, *tests: str) -> Bug:
    return Bug(name, (Edit(file, old, new),), tests)


BUGS = [
    bug(
        "an archive stops at what nobody can read",
        "spark/jobs/archive/rows.py",
        "Decoder(place=piece.name, skip=telling(stepped.add, piece.start, piece.end))\n",
        "Decoder(place=piece.name)\n",
        SPARK + "::test_an_archive_steps_over_what_nobody_can_read",
    ),
    bug(
        "the survey of a merge counts records that its second pass steps over",
        "spark/jobs/merge/survey.py",
        "piece.name, whole=True, skip=",
        "piece.name, skip=",
        SPARK + "::test_a_merge_steps_over_what_nobody_can_read",
    ),
    bug(
        "a sync stops at what nobody can read in its target",
        "sync/origin/scan.py",
        '    decoder = Decoder(columns, place=f"{where}", skip=skip)\n',
        '    decoder = Decoder(columns, place=f"{where}")\n',
        SYNC + "::test_a_sync_steps_over_what_nobody_can_read",
    ),
    bug(
        "a job compacts what is younger than its topic allows",
        "spark/jobs/compact.py",
        "compact_keys(shop, manifest, compactable_end(manifest, now_ms, task.rules), now_ms, task.rules)\n",
        "compact_keys(shop, manifest, manifest.flushed, now_ms, task.rules)\n",
        SPARK + "::test_compaction_keeps_and_counts_what_nobody_can_read",
    ),
    bug(
        "what compaction has left as it was is not counted",
        "segment/compaction/record_filter.py",
        "                self.on_unreadable()\n",
        "",
        LOG + "::test_compaction_keeps_a_batch_that_nobody_can_read",
    ),
]
