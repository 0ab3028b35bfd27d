"""Known bugs of what is remembered of producers."""

from __future__ import annotations

from tests.bugs.bug import Bug, Edit

MEMORY = "tests/log/test_producer_memory.py"
FENCING = "tests/broker/test_transaction_fencing.py"


def bug(name: str, file: str, old: str, new: str, *tests: str) -> Bug:
    return Bug(name, (Edit(file, old, new),), tests)


BUGS = [
    bug(
        "a producer that was never here begins anywhere",
        "log/partition/producers.py",
        "            if header.base_sequence > 0 and header.producer_id >= self.forgotten_below:\n",
        "            if False:\n",
        MEMORY + "::test_who_was_never_here_begins_at_zero",
    ),
    bug(
        "a producer that was forgotten is shut out",
        "log/partition/producers.py",
        "        self.forgotten_below = max(self.forgotten_below, max(numbers, default=-1) + 1)\n",
        "",
        MEMORY + "::test_who_was_forgotten_goes_on_where_it_was",
    ),
    bug(
        "whom a partition has forgotten is not in its manifest",
        "log/partition/manifest_committer.py",
        "after.producers, stored_at, after.forgotten_below, after.running_ms)",
        "after.producers, stored_at, None, after.running_ms)",
        MEMORY + "::test_who_was_forgotten_goes_on_where_it_was",
    ),
    bug(
        "the producers of a topic made again are shut out",
        "log/context.py",
        "            forgotten_below=self.producer_ids.end(),",
        "            forgotten_below=0,",
        MEMORY + "::test_who_is_older_than_the_topic_goes_on_where_it_was",
    ),
    bug(
        "producers are forgotten by what their records say of the time",
        "log/partition/producers.py",
        "        return self._forget(takewhile(lambda each: each.heard_ms < before_ms, self._states.values()))\n",
        "        import time\n\n        before_ms = int(time.time() * 1000) - 86_400_000\n"
        "        return self._forget([each for each in self._states.values() if each.last_timestamp < before_ms])\n",
        MEMORY + "::test_a_producer_is_remembered_whatever_its_records_say_of_the_time",
    ),
    bug(
        "the age of producers is taken from the clock",
        "log/partition/state.py",
        "        return self._ran_before_ms + int((self.ground.clock.monotonic() - self._opened_at) * 1000)\n",
        "        return self.ground.clock.now_ms()\n",
        MEMORY + "::test_no_jump_of_the_clock_forgets_a_producer",
    ),
    bug(
        "the running time begins again with each start",
        "log/partition/state.py",
        "self._opened_at, self._ran_before_ms = ground.clock.monotonic(), manifest.running_ms\n",
        "self._opened_at, self._ran_before_ms = ground.clock.monotonic(), 0\n",
        MEMORY + "::test_the_running_time_goes_on_after_a_restart",
    ),
    bug(
        "there may be any number of producers",
        "log/partition/producers.py",
        "        if len(self._states) <= count_max:\n            return 0\n",
        "        if True:\n            return 0\n",
        MEMORY + "::test_the_number_of_producers_is_limited_and_said",
    ),
    bug(
        "a producer with an open transaction is let go",
        "log/partition/producers.py",
        "        numbers = [each.producer_id for each in states if each.transaction_start is None]\n",
        "        numbers = [each.producer_id for each in states]\n",
        "tests/log/test_producers.py::test_only_silent_producers_without_a_transaction_are_forgotten",
    ),
    bug(
        "all producers are in each manifest",
        "segment/manifest/codec.py",
        "    if full is None or full.producers_version == manifest.version:\n",
        "    if True:\n",
        MEMORY + "::test_one_record_among_many_producers_costs_little",
    ),
    bug(
        "a producer that is gone comes back from the full list",
        "segment/producers.py",
        "    for number in gone:\n        del merged[number]\n",
        "",
        MEMORY + "::test_changes_of_producers_are_taken_back_exactly",
    ),
    bug(
        "whose time was up is shut out",
        "coordinator/transaction/coordinator.py",
        "            hosted.carry_out(rules.time_out(late, spare_id, self._clock.now_ms()))\n",
        "            hosted.carry_out(rules.fence(late, spare_id, self._clock.now_ms()))\n",
        FENCING + "::test_a_producer_goes_on_after_its_time_was_up",
    ),
    bug(
        "a transaction that timed out can be committed",
        "coordinator/transaction/rules.py",
        "    if state is _complete(commit=commit) and (repeats or not each_its_own):\n",
        "    if state.is_complete and (repeats or not each_its_own):\n",
        FENCING + "::test_a_producer_goes_on_after_its_time_was_up",
    ),
    bug(
        "a commit after the time is told of a state",
        "coordinator/transaction/rules.py",
        "    if commit and repeats:",
        "    if False:",
        FENCING + "::test_a_producer_goes_on_after_its_time_was_up",
    ),
]
