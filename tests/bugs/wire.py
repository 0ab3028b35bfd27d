"""Known ways to get wrong what holds between one client and all others."""

from __future__ import annotations

from tests.bugs.bug import Bug, Edit

SESSIONS = "tests/broker/test_fetch_sessions.py"
LARGEST = "tests/broker/test_largest_requests.py"
CLOSES = "tests/broker/test_closes.py"
DYNAMIC = "tests/broker/test_dynamic_configs.py"

BUGS = [
    Bug(
        "what moved between the look and the listening is not read",
        (
            Edit(
                "broker/api/fetch.py",
                "                if answer is not None and not has_moved(partition, answer):\n",
                "                if answer is not None:\n",
            ),
        ),
        (f"{SESSIONS}::test_a_fetch_without_a_session_misses_nothing_before_it_waits",),
    ),
    Bug(
        "many batches are looked at in one go, since each of them is quick",
        (
            Edit(
                "broker/api/produce_look.py",
                "        elif self._clock.monotonic() - self._began > _QUICK_S:\n",
                "        elif False:\n",
            ),
        ),
        (f"{LARGEST}::test_looking_into_many_batches_holds_nobody_up",),
    ),
    Bug(
        "all connections hear of room in one turn",
        (
            Edit(
                "broker/net/server.py",
                "            async for each in a_few_a_turn(list(self._connections)):\n                each.update_r",
                "            for each in list(self._connections):\n                each.update_r",
            ),
        ),
        (f"{CLOSES}::test_connections_hear_of_room_a_few_a_turn",),
    ),
    Bug(
        "who was told of room before it went is not told of the next",
        (
            Edit(
                "broker/net/server.py",
                "        self._has_new_room = True\n",
                "        self._has_new_room = self._telling is None\n",
            ),
        ),
        (f"{CLOSES}::test_connections_hear_of_room_a_few_a_turn",),
    ),
    Bug(
        "limits of connections that were set while it ran hold only after a restart",
        (Edit("broker/topics.py", "        self.on_dynamic()\n", ""),),
        (f"{DYNAMIC}::test_limits_of_connections_change_while_it_runs_and_stay",),
    ),
    Bug(
        "limits of connections that were set while it ran are forgotten by a restart",
        (
            Edit(
                "broker/running.py",
                "    context.topics.on_dynamic = change\n    change()\n",
                "    context.topics.on_dynamic = change\n",
            ),
        ),
        (f"{DYNAMIC}::test_limits_of_connections_change_while_it_runs_and_stay",),
    ),
]
