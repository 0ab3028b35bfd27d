"""Known ways to let clients use more than their quotas, or to lose what they are held back from."""

from __future__ import annotations

from tests.bugs.bug import Bug, Edit

THROTTLE = "tests/broker/test_throttle.py"
HOSTILE = "tests/hostile/test_quotas.py"
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
        "            and self._holding is None\n            and not self._server.is_ending\n",
        "            and not self._server.is_ending\n",
        THROTTLE + "::test_whoever_waits_is_not_read",
    ),
    bug(
        "each new name has a bucket",
        "broker/throttle.py",
        "            buckets.popitem(last=False)\n",
        "            pass\n",
        THROTTLE + "::test_the_table_of_clients_is_bounded",
    ),
    bug(
        "whoever is held stays held when the quota goes",
        "broker/net/connection.py",
        "left = min(self._held_until - now, self._wait())",
        "left = self._held_until - now",
        HOSTILE + "::test_who_is_held_is_let_go_when_the_quota_is",
    ),
    bug(
        "whoever has used too much waits as long under a higher quota",
        "broker/throttle.py",
        "self.level *= min(part, 1.0) if self.level < 0 else part",
        "self.level *= part",
        HOSTILE + "::test_who_is_held_is_let_go_when_the_quota_is",
    ),
    bug(
        "any rate is counted with",
        "broker/throttle.py",
        "        value = min(max(value, _RATE_MIN), _RATE_MAX)\n",
        "",
        HOSTILE + "::test_any_rate_that_is_taken_can_be_kept",
    ),
    bug(
        "requests of the held keep all the room",
        "broker/net/server.py",
        "if not self.requests.has_room and each.keeps_room(now, _PRESSED_S):",
        "if False:",
        HOSTILE + "::test_what_the_held_have_sent_gives_way_to_others",
    ),
    bug(
        "who has gone is held as long as who is there",
        "broker/net/connection.py",
        "return not _has_unread(link) or now - self._paused_at > self._server.limits.idle_ms_max / 1000",
        "return not _has_unread(link)",
        HOSTILE + "::test_who_has_gone_is_not_held_for_long",
    ),
    bug(
        "one table for made-up names and for users",
        "broker/throttle.py",
        "buckets = self._of_users if scope[1] is None else self._of_clients",
        "buckets = self._of_clients",
        HOSTILE + "::test_many_names_take_no_quota_from_others",
    ),
    bug(
        "a member's heartbeats wait until its session is over",
        "broker/throttle.py",
        "seconds = min(bucket.wait_s, self._windows.of_work) if kind is Quota.WORK else bucket.wait_s",
        "seconds = bucket.wait_s",
        THROTTLE + "::test_a_member_beyond_its_share_stays_in_its_group",
    ),
    bug(
        "time that was used is remembered for ever",
        "broker/throttle.py",
        "            bucket.level = max(bucket.level, -bucket.full)\n",
        "            pass\n",
        RATES + "::test_of_time_that_was_used_no_more_is_remembered_than_the_windows_hold",
    ),
]
