"""Known ways for our own clients to be less protected than they were told to be."""

from __future__ import annotations

from tests.bugs.bug import Bug, Edit

SECURE = "tests/client/test_secure.py"
PROTECTED = "tests/client/test_protected.py"
SUBSCRIBE = "tests/subscribe/test_protected.py"

BUGS = [
    Bug(
        "secclients: an editor's mark belongs to the first word",
        (Edit("security/properties.py", 'data.decode("utf-8-sig")', 'data.decode("utf-8")'),),
        ("tests/security/test_properties.py::test_a_mark_before_the_first_word_is_no_part_of_it",),
    ),
    Bug(
        "secclients: the server's signature is not checked",
        (Edit("client/protection/login.py", "            scram.check(expected, bytes(last.auth_bytes))\n", ""),),
        (f"{PROTECTED}::test_a_server_that_does_not_know_the_password_is_found_out",),
    ),
    Bug(
        "secclients: the host name is not checked",
        (Edit("client/protection/secure.py", "check_name=self.checks_name)", "check_name=False)"),),
        (f"{PROTECTED}::test_what_is_wrong_is_one_sentence_at_once",),
    ),
    Bug(
        "secclients: a secret is in the text of the options",
        (
            Edit(
                "client/protection/secure.py",
                "HIDDEN if isinstance(text, Secret) else text",
                "getattr(text, 'reveal', str)()",
            ),
        ),
        (f"{SECURE}::test_no_text_shows_a_secret",),
    ),
    Bug(
        "secclients: a secret travels instead of its place",
        (
            Edit(
                "client/protection/secure.py",
                "return _arrived, (self._revealed(),)",
                "return _arrived, (resolve(self._revealed(), os.environ),)",
            ),
        ),
        (f"{SECURE}::test_only_the_place_of_a_secret_travels",),
    ),
    Bug(
        "secclients: settings of TLS are ignored without TLS",
        (Edit("client/protection/secure.py", "if idle is not None and not is_wanted:", "if False:"),),
        (f"{SECURE}::test_what_cannot_be_taken_is_refused_with_what_to_do",),
    ),
    Bug(
        "secclients: a refused login is tried again and again",
        (Edit("client/errors.py", "class LoginRefused(Rejected):", "class LoginRefused(Unavailable):"),),
        (f"{PROTECTED}::test_what_is_wrong_is_one_sentence_at_once",),
    ),
    Bug(
        "secclients: a session is not prolonged",
        (Edit("client/protection/login.py", "        if lifetime_s > 0:\n", "        if lifetime_s < 0:\n"),),
        (f"{PROTECTED}::test_a_session_is_prolonged_in_time_also_after_a_sleep",),
    ),
    Bug(
        "secclients: a session's time stands still while the machine sleeps",
        (
            Edit(
                "client/protection/login.py",
                "if self._clock.boottime() < self._again_at:",
                "if self._clock.monotonic() < self._again_at:",
            ),
        ),
        (f"{PROTECTED}::test_a_session_is_prolonged_in_time_also_after_a_sleep",),
    ),
    Bug(
        "secclients: the password is read once, and not where it was changed",
        (
            Edit(
                "client/connection.py",
                "ClientLogin(self._credentials, self.clock",
                "ClientLogin(lambda: protection.credentials, self.clock",
            ),
        ),
        (f"{PROTECTED}::test_a_password_that_was_changed_ends_a_session",),
    ),
    Bug(
        "secclients: a token that was refused is shown again",
        (Edit("client/protection/login.py", "                who.tokens.forget()\n", ""),),
        (f"{PROTECTED}::test_a_token_that_is_refused_is_not_kept",),
    ),
    Bug(
        "secclients: an issuer is asked for every connection",
        (Edit("client/protection/tokens.py", "if now >= until:", "if True:"),),
        (f"{PROTECTED}::test_an_issuer_is_asked_once_for_many_connections",),
    ),
    Bug(
        "secclients: a subscription goes without TLS",
        (
            Edit(
                "subscribe/client/protection.py",
                "    if protection.tls is None:\n        return grpc",
                "    if True:\n        return grpc",
            ),
        ),
        (f"{SUBSCRIBE}::test_who_we_are_goes_with_each_call",),
    ),
    Bug(
        "secclients: a subscription that is not let in is tried for ever",
        (Edit("subscribe/wire/errors.py", '    "UNAUTHENTICATED",\n', ""),),
        (f"{SUBSCRIBE}::test_who_is_not_let_in_hears_why_at_once",),
    ),
]
