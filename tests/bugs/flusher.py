"""Known bugs of the background: flushes, room, merging, clocks."""

from __future__ import annotations

from tests.bugs.bug import Bug, Edit

MANY = "tests/log/test_many_partitions.py"
CLOCKS = "tests/log/test_clocks.py"
FAILED_LOG = "tests/cli/test_serve_failed_log.py"

BUGS = [
    Bug(
        "the next flush waits for the next look",
        (
            Edit(
                "log/background/flusher.py",
                "        self.wake()  # The next one starts now, not at some later look.\n",
                "",
            ),
        ),
        (f"{MANY}::test_quiet_partitions_follow_one_another",),
    ),
    Bug(
        "under pressure any partition is flushed, not the one that pins the log",
        (Edit("log/background/flusher.py", "        if self._presses_log(first):\n", "        if False:\n"),),
        (f"{MANY}::test_under_pressure_the_oldest_are_flushed_as_many_as_allowed",),
    ),
    Bug(
        "producers are held back by whole chunks",
        (
            Edit(
                "log/pressure/backpressure.py",
                "(size < limit and journal.size_from(self._purge.needed()) < needed_max)",
                "size < limit",
            ),
        ),
        (f"{MANY}::test_producers_are_held_back_by_what_is_needed_not_by_whole_chunks",),
    ),
    Bug(
        "a tail that has moved on pins the log at its old place",
        (Edit("log/background/backlog.py", "            elif number > noted:\n", "            elif False:\n"),),
        ("tests/log/test_backlog.py",),
    ),
    Bug(
        "a flush that failed is tried again at once",
        (Edit("log/background/flusher.py", "failed.until > self._ground.clock.monotonic()", "failed.until < 0"),),
        (f"{MANY}::test_a_store_that_is_away_is_not_asked_by_all_at_once",),
    ),
    Bug(
        "many small segments are merged with what was merged before, again and again",
        (
            Edit(
                "segment/compaction/merge.py", "count >= count_min and total >= growth * largest", "count >= count_min"
            ),
        ),
        ("tests/segment/test_merge_tiers.py",),
    ),
    Bug(
        "producers are held back without a word",
        (Edit("log/pressure/held_back.py", "            self._say(reason, now)\n\n", "            pass\n\n"),),
        ("tests/log/test_held_back.py",),
    ),
    Bug(
        "a clock that jumps deletes what it makes old",
        (
            Edit(
                "io/believed_time.py",
                "        return min(steady, self._clock.now_ms(), steady + self._store_ahead_ms)\n",
                "        return self._clock.now_ms()\n",
            ),
        ),
        (f"{CLOCKS}::test_a_clock_that_is_days_ahead_for_seconds_deletes_nothing",),
    ),
    Bug(
        "a start believes whatever the clock says",
        (
            Edit(
                "log/background/maintenance.py", "                ground.time.learn(known)\n", "                pass\n"
            ),
        ),
        (f"{CLOCKS}::test_a_clock_that_is_ahead_at_the_start_deletes_nothing",),
    ),
    Bug(
        "the age of a tail is by the time of day",
        (
            Edit(
                "log/background/flusher.py",
                "flush_age_ms_max / 1000 - self._ground.clock.monotonic()",
                "flush_age_ms_max / 1000 - self._ground.clock.now_ms() / 1000",
            ),
        ),
        (f"{CLOCKS}::test_a_clock_that_jumps_forward_flushes_nothing_early",),
    ),
    Bug(
        "what is put and not yet listed is collected after a jump of the store's clock",
        (
            Edit(
                "log/background/maintenance.py",
                "        return now - since >= self._grace_s\n",
                "        return True\n",
            ),
        ),
        (f"{CLOCKS}::test_a_jump_between_put_and_commit_deletes_no_segment",),
    ),
    Bug(
        "a segment of the future stays for ever, with all behind it",
        (
            Edit(
                "log/partition/manifest_committer.py",
                "            stored_ms |= self._stored_ms\n",
                "            return log_start\n",
            ),
        ),
        (f"{CLOCKS}::test_records_of_the_future_do_not_stay_for_ever",),
    ),
    Bug(
        "a purge that meets a stopped log fails by itself",
        (
            Edit(
                "log/journal.py",
                "        except (WalFailed, Fenced) as failure:  # The writer",
                "        except KeyError as failure:  # The writer",
            ),
        ),
        ("tests/log/test_append.py",),
    ),
    Bug(
        "a log that has failed waits for flushes that hang",
        (Edit("log/logs.py", "now=isinstance(self._failure, LogsStopped)", "now=False"),),
        (FAILED_LOG,),
    ),
    Bug(
        "a port whose broker has failed waits for answers from the store",
        (Edit("broker/running.py", "    server.has_failed = lambda: context.logs.failure is not None\n", ""),),
        (FAILED_LOG,),
    ),
]
