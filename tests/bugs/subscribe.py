"""Known ways to get a subscription wrong, mostly where it goes on after something."""

from __future__ import annotations

from tests.bugs.bug import Bug, Edit

PIECE = ("tests/subscribe/test_piece.py",)
RESUME = "tests/subscribe/test_resume.py::"
GONE = "tests/subscribe/test_segments_gone.py::"
UNTIL = "tests/subscribe/test_until.py::"
UNEXPECTED = "tests/subscribe/test_unexpected.py::"
MEMORY = "tests/subscribe/test_memory.py::"

BUGS = [
    Bug(
        "subscribe: records behind the border raise the order time",
        (Edit("subscribe/merge/piece.py", "begun & (columns.offset < wanted.end)", "begun"),),
        PIECE,
    ),
    Bug(
        "subscribe: batches before the start raise the order time",
        (Edit("subscribe/merge/piece.py", "(each.end_offset > wanted.start, ", "(True, "),),
        PIECE,
    ),
    Bug(
        "subscribe: the epoch before a hole is taken for the one behind it",
        (Edit("subscribe/merge/piece.py", "if each.end_offset >= wanted.end else NO_EPOCH", ""),),
        PIECE,
    ),
    Bug(
        "subscribe: the pause grows until it is no number",
        (Edit("subscribe/client/subscription.py", "min(self._failures, DOUBLINGS_MAX)", "self._failures"),),
        (RESUME + "test_a_server_may_be_away_for_hours",),
    ),
    Bug(
        "subscribe: tries of a server that is away count against damage",
        (Edit("subscribe/client/retry.py", "not isinstance(failure, Corrupt | ServerFailed)", "False"),),
        (RESUME + "test_damage_is_tried_again_also_after_other_failures",),
    ),
    Bug(
        "subscribe: damage that stays is forgotten whenever another partition moves",
        (Edit("subscribe/client/retry.py", "or (seen.tries >= TRIES_MAX and lasting)", ""),),
        (GONE + "test_damage_that_stays_is_raised_though_others_move",),
    ),
    Bug(
        "subscribe: a failure overtakes what was read before it",
        (Edit("subscribe/merge/pump.py", "self._ending = self._ending or failure", "self._failure = failure"),),
        ("tests/subscribe/test_few.py::test_a_failure_is_told_behind_what_came_before_it",),
    ),
    Bug(
        "subscribe: what is wrong with a long request is more than the end of a call can carry",
        (Edit("subscribe/wire/errors.py", "if len(data) <= _TEXT_SIZE_MAX:", "if data:"),),
        (UNEXPECTED + "test_long_words_reach_the_client_cut",),
    ),
    Bug(
        "subscribe: skipped offsets keep the epoch before them",
        (Edit("subscribe/client/progress.py", " or position.offset > self._offsets[number]", ""),),
        (RESUME + "test_what_is_skipped_leaves_the_epoch_open",),
    ),
    Bug(
        "subscribe: what stands in the place of two segments is joined, and comes twice",
        (Edit("subscribe/client/segment_pieces.py", "each._replace(alone=True)", "each"),),
        (GONE + "test_what_compaction_replaced_is_read_from_the_replacement",),
    ),
    Bug(
        "subscribe: what was read before a failure is thrown away",
        (
            Edit(
                "subscribe/client/segment_reader.py", "if parts and (task.exception() is not None or ", "if parts and ("
            ),
        ),
        (GONE + "test_what_lies_before_damage_is_handed_out",),
    ),
    Bug(
        "subscribe: the times of history shorten the wait for an idle source",
        (Edit("subscribe/merge/pump.py", "0 < age_ms < OLD_MS", "0 < age_ms"),),
        ("tests/subscribe/test_few.py",),
    ),
    Bug(
        "subscribe: one partition that has passed the bound ends them all",
        (Edit("subscribe/server/stream.py", "until_ms is not None and all(", "until_ms is not None and any("),),
        (UNTIL + "test_it_ends_when_all_partitions_have_passed_the_bound",),
    ),
    Bug(
        "subscribe: a partition that is being read counts as idle",
        (
            Edit(
                "subscribe/server/partition_reader.py",
                "reached(seen + 1)\n        self.pump.set_state(lane.merging, MergeState.BUSY)",
                "reached(seen + 1)",
            ),
        ),
        (UNTIL + "test_what_is_being_read_when_its_time_is_over_still_comes",),
    ),
    Bug(
        "subscribe: what a server did not expect is tried for ever",
        (Edit("subscribe/wire/errors.py", "if kind == UNEXPECTED:", "if False:"),),
        (UNEXPECTED + "test_what_the_server_did_not_expect_surfaces_with_its_cause",),
    ),
    Bug(
        "subscribe: one cluster under two names shares its lanes",
        (Edit("subscribe/client/progress.py", "if source != lane.source:", "if False:"),),
        (UNEXPECTED + "test_one_cluster_under_two_names_is_refused",),
    ),
    Bug(
        "subscribe: what is gone is counted by every try",
        (Edit("subscribe/client/server_feed.py", "stats.skip(number, start, end)", "stats.skipped += end - start"),),
        ("tests/subscribe/test_segments_gone.py::test_what_is_gone_counts_once",),
    ),
    Bug(
        "subscribe: partitions are looked up one after another",
        (Edit("subscribe/server/start.py", "LOOKUPS_MAX = 16", "LOOKUPS_MAX = 1"),),
        ("tests/subscribe/test_opening.py",),
    ),
    Bug(
        "subscribe: what waits does not go together",
        (Edit("subscribe/server/stream.py", "await self._sender.through()", "pass"),),
        ("tests/subscribe/test_together.py",),
    ),
    Bug(
        "subscribe: the merge asks all lanes for each event",
        (
            Edit(
                "subscribe/merge/merge.py",
                "            return self._states[state].key(self._ranks)\n",
                "            return min((each.last_key(self._ranks) for each in self._states[state].lanes.values()), "
                "default=None)\n",
            ),
        ),
        ("tests/subscribe/test_together.py",),
    ),
    Bug(
        "subscribe: what waits is counted in pieces only",
        (Edit("subscribe/merge/pump.py", " or not self._has_room(size)", ""),),
        (MEMORY + "test_a_slow_reader_of_a_stream",),
    ),
    Bug(
        "subscribe: compressed bytes are taken for what becomes of them",
        (Edit("subscribe/merge/sizes.py", "return not any(header.codec ", "return not any(False "),),
        (MEMORY + "test_large_work_is_done_in_threads",),
    ),
]
