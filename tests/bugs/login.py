"""Known ways to let somebody in who has not proven who they are."""

from __future__ import annotations

from tests.bugs.bug import Bug, Edit

SASL = "tests/broker/test_sasl.py"
LIMITS = "tests/broker/test_login_limits.py"
NET = "broker/net/login.py"


def bug(name: str, file: str, old: str, new: str, *tests: str) -> Bug:
    return Bug(f"login: {name}", (Edit(file, old, new),), tests)


BUGS = [
    bug(
        "every request is served at once",
        NET,
        "if login.phase is Phase.OPEN and key not in (_HANDSHAKE, _AUTHENTICATE):",
        "if key not in (_HANDSHAKE, _AUTHENTICATE):",
        SASL + "::test_every_api_before_a_login_closes",
    ),
    bug(
        "requests are served once a mechanism is chosen",
        NET,
        "if login.phase is Phase.OPEN and key not in",
        "if login.mechanism and not login.is_bare and key not in",
        SASL + "::test_every_api_before_a_login_closes",
    ),
    bug(
        "a request behind a failed token is served",
        NET,
        "            await self._fail(slot, header, began, why or",
        "            self._login, self._task = Login((), Phase.OPEN, session=self.session), None\n"
        "            self._resume()\n"
        "            await self._fail(slot, header, began, why or",
        SASL + "::test_requests_behind_a_failed_token_are_not_served",
    ),
    bug(
        "a session that is over is served",
        NET,
        "if self.session.is_over(self._server.clock.boottime()):",
        "if False:",
        SASL + "::test_a_session_that_is_over_takes_only_a_new_login",
    ),
    bug(
        "a session is taken over by another user",
        "security/logins/login.py",
        "if before is not None and before.principal != event.session.principal:",
        "if False:",
        SASL + "::test_a_session_stays_its_users_and_its_mechanisms",
    ),
    bug(
        "frames of strangers are as large as those of clients",
        NET,
        "self._frames.size_max = min(checks.receive_size_max, server.limits.frame_size_max)",
        "pass",
        SASL + "::test_frames_are_small_until_the_session_is_open",
    ),
    bug(
        "frames stay small after the login",
        NET,
        "        self._frames.size_max = self._server.limits.frame_size_max\n",
        "",
        SASL + "::test_frames_are_small_until_the_session_is_open",
    ),
    bug(
        "a failure is told at once",
        NET,
        "await asyncio.sleep(max(delay_s - (self._server.clock.monotonic() - began), 0))",
        "await asyncio.sleep(0 * delay_s)",
        SASL + "::test_every_failure_sounds_the_same",
    ),
    bug(
        "a failure says why",
        NET,
        "words = _FAILED.format(self._login.mechanism)",
        "words = why",
        SASL + "::test_every_failure_sounds_the_same",
    ),
    bug(
        "a stranger has all the time there is",
        "broker/net/server.py",
        "strangers = [each for each, began in self._logins.items() if began < before]",
        "strangers: list[LoginConnection] = []",
        LIMITS + "::test_who_does_not_log_in_in_time_is_closed",
    ),
    bug(
        "strangers take all connections",
        "broker/net/server.py",
        "if len(self._handshakes) + len(self._logins) <=",
        "if len(self._handshakes) <=",
        LIMITS + "::test_a_quarter_of_the_connections_may_be_strangers",
    ),
    bug(
        "those who have logged in count as strangers",
        NET,
        "frame_size_max\n        self._server.end_login(self)\n",
        "frame_size_max\n",
        LIMITS + "::test_a_quarter_of_the_connections_may_be_strangers",
    ),
    bug(
        "without the store a login fails",
        "security/logins/checks.py",
        '        raise Unavailable("nobody',
        '        raise LoginFailed("nobody',
        LIMITS + "::test_without_the_store_nobody_is_told_that_a_password_is_wrong",
    ),
    bug(
        "what is set for a listener counts before what is set for its mechanism",
        "broker/settings.py",
        'for wanted in ("", mechanism.lower()) if mechanism else ("",):',
        'for wanted in (mechanism.lower(), "") if mechanism else ("",):',
        LIMITS + "::test_what_is_set_for_a_mechanism_counts_before_what_is_set_for_all",
    ),
    bug(
        "a login lasts for ever",
        "security/logins/checks.py",
        "until = self._clock.boottime() + lasts_s",
        "until = math.inf",
        SASL + "::test_a_session_that_is_over_takes_only_a_new_login",
    ),
    bug(
        "users are not followed",
        "broker/running.py",
        "rounds.append(users.follow())",
        "pass",
        "tests/cli/test_user.py::test_a_first_user_is_made_before_the_first_start",
    ),
]
