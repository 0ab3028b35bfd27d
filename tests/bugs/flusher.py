"""Known bugs of the background: flushes, room, merging, clocks."""

from __future__ import annotations

from tests.bugs.bug import Bug, Edit

MANY = "tests/log/test_many_partitions.py"

BUGS = [
    Bug(
        "the next flush waits for the next look",
        (Edit("log/flusher.py", "        self.wake()  # The next one starts now, not at some later look.\n", ""),),
        (f"{MANY}::test_quiet_partitions_follow_one_another",),
    ),
    Bug(
        "under pressure any partition is flushed, not the one that pins the log",
        (Edit("log/flusher.py", "        if self._presses_log(first):\n", "        if False:\n"),),
        (f"{MANY}::test_under_pressure_the_oldest_are_flushed_as_many_as_allowed",),
    ),
    Bug(
        "producers are held back by whole chunks",
        (
            Edit(
                "log/room.py",
                "        return size < needed_max or journal.size_from(self._logs.needed()) < needed_max\n",
                "        return True\n",
            ),
        ),
        (f"{MANY}::test_producers_are_held_back_by_what_is_needed_not_by_whole_chunks",),
    ),
    Bug(
        "a tail that has moved on pins the log at its old place",
        (Edit("log/backlog.py", "            elif number > noted:\n", "            elif False:\n"),),
        ("tests/log/test_backlog.py",),
    ),
    Bug(
        "a flush that failed is tried again at once",
        (Edit("log/flusher.py", "failed.until > self._ground.clock.monotonic()", "failed.until < 0"),),
        (f"{MANY}::test_a_store_that_is_away_is_not_asked_by_all_at_once",),
    ),
    Bug(
        "many small segments are merged with what was merged before, again and again",
        (Edit("segment/merge.py", "count >= count_min and total >= growth * largest", "count >= count_min"),),
        ("tests/segment/test_merge_tiers.py",),
    ),
    Bug(
        "producers are held back without a word",
        (Edit("log/held_back.py", "            self._say(reason, now)\n\n", "            pass\n\n"),),
        ("tests/log/test_held_back.py",),
    ),
]
