"""Bugs of a start without the store: what is read from the write-ahead log, and what must not be."""

from __future__ import annotations

from tests.bugs.bug import Bug, Edit

TAILS = "tests/log/test_tails.py"
READS = "tests/broker/test_waiting_reads.py"
REAL = "tests/operate/test_tails_without_store.py"
FLAPS = "tests/operate/test_start_flaps.py"

BUGS = [
    Bug(
        "deleted records come back while the store is away",
        (Edit("log/partition/manifest_committer.py", "            await self._tell_deleted(before)\n", ""),),
        (f"{TAILS}::test_deleted_records_do_not_come_back",),
    ),
    Bug(
        "a deletion in the log is passed over",
        (Edit("log/recovery/tails.py", "        start = max(told, deleted)\n", "        start = told\n"),),
        (f"{TAILS}::test_deleted_records_do_not_come_back", f"{TAILS}::test_all_deleted_is_nothing_to_read"),
    ),
    Bug(
        "a log of an earlier release is trusted",
        (
            Edit("log/recovery/tails.py", "    if kept.deletes_from is None:", "    if False:"),
            Edit(
                "log/recovery/tails.py", "each.index >= kept.deletes_from)", "each.index >= (kept.deletes_from or 0))"
            ),
        ),
        (f"{TAILS}::test_a_log_of_an_earlier_release_does_not_say_what_was_deleted",),
    ),
    Bug(
        "batches of an earlier release are trusted once the log is a newer one's",
        (Edit("log/recovery/tails.py", "each.index >= kept.deletes_from)", "each.index >= 0)"),),
        (f"{TAILS}::test_a_log_of_an_earlier_release_does_not_say_what_was_deleted",),
    ),
    Bug(
        "a transaction that was open at the purge is forgotten",
        (Edit("log/pressure/purge.py", "partition.transactions.open_count > 0", "False"),),
        (f"{TAILS}::test_the_last_stable_offset_is_told_where_no_transaction_can_be_open",),
    ),
    Bug(
        "a transaction in the log is overlooked",
        (
            Edit(
                "log/recovery/tails.py",
                "    return header.is_transactional or header.is_control\n",
                "    return False\n",
            ),
        ),
        (f"{TAILS}::test_the_last_stable_offset_is_told_where_no_transaction_can_be_open",),
    ),
    Bug(
        "the log is read by others after the broker has it",
        (
            Edit(
                "log/recovery/tails.py",
                "        return None if self._local.is_taken else self._known.get(home)\n",
                "        return self._known.get(home)\n",
            ),
        ),
        (f"{TAILS}::test_a_log_that_is_taken_is_read_by_its_new_owner_only",),
    ),
    Bug(
        "a reader behind the log's end is reset",
        (
            Edit(
                "broker/waiting/reads.py",
                "            return Fetched(number, code)\n",
                "            return Fetched(number, code if known is None else Code.OFFSET_OUT_OF_RANGE)\n",
            ),
        ),
        (f"{READS}::test_every_offset_has_its_record_or_is_to_be_tried_again",),
    ),
    Bug(
        "a reader of a later leader is served",
        (Edit("broker/waiting/reads.py", "        if epoch > self._tails.generation:\n", "        if False:\n"),),
        (f"{READS}::test_a_reader_that_has_seen_a_later_leader_is_told_so",),
    ),
    Bug(
        "a log begins where its part begins",
        (Edit("log/recovery/tails.py", "start if is_whole else -1", "start"),),
        (
            f"{READS}::test_the_ends_are_told_where_they_are_known",
            f"{TAILS}::test_what_is_only_in_the_store_is_not_known",
        ),
    ),
    Bug(
        "who waits at the end is forgotten when the store is back",
        (Edit("broker/waiting/reads.py", "        self._over.set()\n", "        pass\n"),),
        (f"{READS}::test_who_waits_at_the_end_is_answered_when_the_broker_is_whole",),
    ),
    Bug(
        "the port waits for a store that hangs",
        (
            Edit(
                "cli/serve/start.py",
                "            await asyncio.wait([attempt], timeout=_GRACE_S)\n",
                "            await asyncio.wait([attempt])\n",
            ),
        ),
        (f"{REAL}::test_a_store_that_hangs_keeps_nobody_waiting",),
    ),
    Bug(
        "a start that has failed half-way has no threads left",
        (Edit("cli/serve/start.py", "        calls = ThreadCalls()  #", "        calls = self._around.calls  #"),),
        (f"{FLAPS}::test_a_store_that_goes_away_in_the_middle_of_a_start",),
    ),
    Bug(
        "a start ends when the store goes away while an internal topic is read",
        (Edit("cli/serve/start.py", "Undecided, ColdReadFailed)\n", "Undecided)\n"),),
        (f"{FLAPS}::test_a_store_that_goes_away_in_the_middle_of_a_start",),
    ),
]
