"""Known ways to get requests that arrive together wrong: each is right alone."""

from __future__ import annotations

from tests.bugs.bug import Bug, Edit

TESTS = "tests/broker/test_together.py::"

BUGS = [
    Bug(
        "what goes its own way overtakes those that came together before it",
        (Edit("broker/api/produce.py", "        self._together.run()  # They came first.\n", ""),),
        (TESTS + "test_what_comes_behind_them_is_appended_behind_them",),
    ),
    Bug(
        "all that came together are told the place of the first",
        (Edit("broker/api/produce_together.py", "            base += header.last_offset_delta + 1\n", ""),),
        (TESTS + "test_each_is_told_its_own_place",),
    ),
    Bug(
        "two of one producer join one group",
        (Edit("broker/api/produce_together.py", "            group.producers.add(producer)\n", "            pass\n"),),
        (TESTS + "test_a_repeat_among_them_is_found",),
    ),
    Bug(
        "nobody remembers the producers of batches that came together",
        (
            Edit(
                "log/partition/partition.py",
                "            if header.producer_id != NO_PRODUCER:\n",
                "            if False:\n",
            ),
        ),
        (TESTS + "test_a_gap_among_them_is_refused_alone",),
    ),
    Bug(
        "a topic's limit of sizes is not asked for those that come together",
        (Edit("broker/api/produce_together.py", "            or size > group.size_max\n", ""),),
        (TESTS + "test_what_a_topic_does_not_take_is_refused_alone",),
    ),
    Bug(
        "a topic's limit of times is not asked for those that come together",
        (Edit("broker/api/produce_together.py", "            or high > group.newest\n", ""),),
        (TESTS + "test_what_a_topic_does_not_take_is_refused_alone",),
    ),
    Bug(
        "batches of one entry are all looked for at its beginning",
        (
            Edit(
                "log/partition/partition.py", "            start += header.size\n", "            size += header.size\n"
            ),
            Edit(
                "log/partition/partition.py",
                "        now, start, add = ground.clock.monotonic(), 0, self.tail.add\n",
                "        now, start, size, add = ground.clock.monotonic(), 0, 0, self.tail.add\n",
            ),
            Edit(
                "log/partition/partition.py",
                "        self._move_end(end, start)\n",
                "        self._move_end(end, size)\n",
            ),
        ),
        ("tests/log/test_model.py",),
    ),
    Bug(
        "who joins a group has the rights of who began it",
        (Edit("broker/api/produce_together.py", "        elif is_gated:\n", "        elif False:\n"),),
        ("tests/broker/test_rights.py::test_requests_that_come_together_have_the_rights_of_their_own_senders",),
    ),
    Bug(
        "who came before its topic was altered is never answered",
        (
            Edit(
                "broker/api/produce_together.py",
                "            self._refuse(request, done, RulesChanged())\n",
                "            pass\n",
            ),
        ),
        (TESTS + "test_all_are_answered_while_their_topic_is_altered",),
    ),
    Bug(
        "who gathers for a flush is forgotten, and its clients wait for ever",
        (Edit("log/journal.py", "                gather()\n", "                pass\n"),),
        (TESTS + "test_they_are_counted_one_by_one",),
    ),
]
