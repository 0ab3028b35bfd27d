"""Known ways to get wrong what holds between one client and all others."""

from __future__ import annotations

from tests.bugs.bug import Bug, Edit

SESSIONS = "tests/broker/test_fetch_sessions.py"

BUGS = [
    Bug(
        "what moved between the look and the listening is not read",
        (
            Edit(
                "broker/api/fetch.py",
                "                if answer is not None and not _has_moved(partition, answer):\n",
                "                if answer is not None:\n",
            ),
        ),
        (f"{SESSIONS}::test_a_fetch_without_a_session_misses_nothing_before_it_waits",),
    ),
]
