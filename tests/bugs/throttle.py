"""Known ways to let clients use more than their quotas, or to lose what they are held back from."""

from __future__ import annotations

from tests.bugs.bug import Bug, Edit

THROTTLE = "tests/broker/test_throttle.py"
RATES = "tests/broker/test_quota_rates.py"


def bug(name: str, file: str, old: str, new: str, *tests: str) -> Bug:
    return Bug(f"throttle: {name}", (Edit(file, old, new),), tests)


BUGS = [
    bug(
        "what was sent ahead begins",
        "broker/net/connection.py",
        "return self._takes_answers and self._transport is not None and self._holding is None",
        "return self._takes_answers and self._transport is not None",
        THROTTLE + "::test_what_was_sent_ahead_waits_too",
    ),
    bug(
        "an overdrawn fetch begins a session without its partitions",
        "broker/api/fetch.py",
        "            self._sessions.drop(session)\n            return encode_response(request.version, [])\n",
        "            pass\n",
        THROTTLE + "::test_an_overdrawn_full_fetch_begins_no_session",
    ),
    bug(
        "a default is taken before a name",
        "broker/configs/quotas.py",
        "        ({_USER: user, _CLIENT: client}, both),\n        ({_USER: user, _CLIENT: None}, both),",
        "        ({_USER: user, _CLIENT: None}, both),\n        ({_USER: user, _CLIENT: client}, both),",
        RATES + "::test_the_most_special_quota_holds",
    ),
    bug(
        "every client of a user has the user's whole quota",
        "broker/configs/quotas.py",
        "        ({_USER: user}, of_user),",
        "        ({_USER: user}, both),",
        RATES + "::test_the_most_special_quota_holds",
    ),
    bug(
        "a quiet client saves for ever",
        "broker/throttle.py",
        "self.level = min(self.full, self.level + self.rate * (now - self._at))",
        "self.level = self.level + self.rate * (now - self._at)",
        RATES + "::test_a_bucket_saves_no_more_than_its_windows",
    ),
    bug(
        "a change beyond the quota is made",
        "broker/throttle.py",
        "if strict and bucket.level < 0:",
        "if False:",
        THROTTLE + "::test_topic_changes_beyond_the_quota_are_refused",
    ),
    bug(
        "whoever is told to wait is read",
        "broker/net/connection.py",
        "            and self._holding is None\n            and len(self._slots)",
        "            and len(self._slots)",
        THROTTLE + "::test_an_answer_to_produce_tells_the_wait_in_every_version",
    ),
    bug(
        "each new name has a bucket",
        "broker/throttle.py",
        "key = (kind, scope) if len(self._buckets) < _BUCKETS_MAX else (kind, _SHARED)",
        "key = (kind, scope)",
        THROTTLE + "::test_the_table_of_clients_is_bounded",
    ),
]
