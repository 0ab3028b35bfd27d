"""Known ways to get fetches and their sessions wrong."""

from __future__ import annotations

from tests.bugs.bug import Bug, Edit

SESSIONS = "tests/broker/test_fetch_sessions.py"

MANY = "tests/broker/test_fetch_many.py"

BUGS = [
    Bug(
        "a fetch of many partitions does not hear of those that were at their end",
        (Edit("broker/fetch/ends.py", "            each.note(number)\n", "            each.close()\n"),),
        (f"{MANY}::test_it_wakes_for_what_it_named_and_for_nothing_else",),
    ),
    Bug(
        "a partition that has moved counts as being at its end",
        (Edit("broker/fetch/ends.py", "        self.known[number] = False\n", ""),),
        (f"{MANY}::test_what_came_between_two_fetches_is_in_the_second",),
    ),
    Bug(
        "a partition that is named twice is answered twice",
        (
            Edit(
                "protocol/hot/fetch_many.py",
                "        return int(np.count_nonzero(seen)) == len(self.numbers)\n",
                "        return True\n",
            ),
        ),
        (f"{MANY}::test_what_is_unusual_is_answered_as_ever",),
    ),
    Bug(
        "a fetch that has too little goes round over what it has read",
        (
            Edit(
                "broker/api/fetch.py",
                "            self._again[key] = None  # There is more, or there may be another answer.\n",
                "            self._session.watch.moved[key] = None\n",
            ),
        ),
        (f"{SESSIONS}::test_a_long_poll_that_has_too_little_waits_for_the_next_record",),
    ),
    Bug(
        "a partition that was not reached is not looked at by the next fetch",
        (
            Edit(
                "broker/api/fetch.py",
                "                break  # What is left stays in front of the next fetch.\n",
                "                watch.moved.clear()\n                break\n",
            ),
        ),
        (f"{SESSIONS}::test_partitions_take_turns_when_not_all_fit",),
    ),
    Bug(
        "a batch that does not fit is not looked at by the next fetch",
        (
            Edit(
                "broker/api/fetch.py",
                "        if failed or wanted.fetch_offset < end:\n",
                "        if failed or answer.records:\n",
            ),
        ),
        (f"{SESSIONS}::test_partitions_take_turns_when_not_all_fit",),
    ),
    Bug(
        "a partition is heard of only once",
        (Edit("broker/fetch/watch.py", "        partition.listeners.add(followed[1])\n", ""),),
        (f"{SESSIONS}::test_a_session_wakes_by_the_partition_that_moves",),
    ),
    Bug(
        "a session in use makes room for another",
        (
            Edit(
                "broker/fetch/sessions.py",
                "            if oldest is None or oldest.used_at > before:\n",
                "            if oldest is None:\n",
            ),
        ),
        (f"{SESSIONS}::test_a_session_that_is_used_makes_room_for_nobody",),
    ),
    Bug(
        "partitions that a session adds are not counted",
        (Edit("broker/fetch/sessions.py", "        self._partition_count += len(session) - before\n", ""),),
        (f"{SESSIONS}::test_sessions_are_counted_by_what_they_remember",),
    ),
]
