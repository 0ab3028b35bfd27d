"""Known ways to get security wrong."""

from __future__ import annotations

from tests.bugs.bug import Bug, Edit

SECRET = "tests/security/test_secret.py"
PROPERTIES = "tests/security/test_properties.py"
TLS = "tests/security/test_tls.py"
RULES = "tests/security/test_rules.py"
AUTH = "tests/cluster/test_auth.py"
JWT = "tests/security/test_jwt.py"
MAPPING = "tests/security/test_mapping.py"
LOGIN = "tests/security/test_login.py::test_every_sequence_does_what_the_model_says"
SCRAM = "tests/security/test_scram.py"
PLAIN = "tests/security/test_plain.py"

BUGS = [
    Bug(
        "security: a secret shows itself in a traceback",
        (Edit("security/secret.py", 'return f"Secret({HIDDEN})"', 'return f"Secret({self.__text})"'),),
        (f"{SECRET}::test_a_traceback_with_locals_does_not_show_it",),
    ),
    Bug(
        "security: a secret is pickled",
        (
            Edit(
                "security/secret.py",
                "    def __reduce__(self) -> NoReturn:\n",
                "    def __reduce__(self) -> object:\n        return Secret, (self.__text,)\n",
            ),
        ),
        (f"{SECRET}::test_it_is_not_pickled_and_not_written_as_json",),
    ),
    Bug(
        "security: a broken certificate file drops the good one",
        (
            Edit(
                "security/tls.py",
                "            self._complain(str(failure))\n            return False\n        if why",
                "            self._complain(str(failure))\n"
                "            self.current = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)\n            return False\n"
                "        if why",
            ),
        ),
        (f"{TLS}::test_a_new_certificate_is_taken_and_a_broken_one_is_not",),
    ),
    Bug(
        "security: a client certificate that is required is only requested",
        (Edit("security/tls.py", '"required": ssl.CERT_REQUIRED', '"required": ssl.CERT_OPTIONAL'),),
        (f"{TLS}::test_client_certificates_none_requested_required",),
    ),
    Bug(
        "security: a value from a file is looked into again",
        (Edit("security/properties.py", "return read[path][key]", "return resolve(read[path], environ)[key]"),),
        (f"{PROPERTIES}::test_values_come_from_files_and_variables",),
    ),
    Bug(
        "security: a literal rule is taken for a prefix",
        (
            Edit(
                "security/rules.py",
                "if rule.pattern is PatternType.PREFIXED:\n            by_name = self",
                "if rule.name != ALL_NAMES:\n            by_name = self",
            ),
        ),
        (f"{RULES}::test_may_says_what_the_model_says",),
    ),
    Bug(
        "security: the first rule that matches wins",
        (
            Edit(
                "security/rules.py",
                "                    allowed = entry.rule\n",
                "                    return Verdict(is_allowed=True, by=entry.rule)\n",
            ),
        ),
        (f"{RULES}::test_a_deny_wins_wherever_it_stands", f"{RULES}::test_may_says_what_the_model_says"),
    ),
    Bug(
        "security: a deny implies",
        (
            Edit(
                "security/rules.py",
                "if implied is not None and rule.permission is Permission.ALLOW:",
                "if implied is not None:",
            ),
        ),
        (f"{RULES}::test_a_deny_wins_wherever_it_stands",),
    ),
    Bug(
        "security: an address that a rule writes in full is another",
        (Edit("security/rules.py", "_Entry(host_of(rule.host),", "_Entry(rule.host,"),),
        (f"{RULES}::test_a_host_is_an_address_in_any_of_its_forms",),
    ),
    Bug(
        "security: a prefix that is denied does not cover the names under it",
        (
            Edit(
                "security/rules.py",
                "range(1, len(allowed.name) + 1)",
                "range(len(allowed.name), len(allowed.name) + 1)",
            ),
        ),
        (f"{RULES}::test_any_resource_of_a_type_says_what_kafka_says",),
    ),
    Bug(
        "security: a nonce is not checked",
        (Edit("security/logins/scram.py", "if not fields[1][2:].endswith(exchange.nonce):", "if False:"),),
        (f"{SCRAM}::test_the_nonce_is_checked_and_old_librdkafka_gets_in",),
    ),
    Bug(
        "security: a user nobody knows fails at the first message",
        (
            Edit(
                "security/logins/scram.py",
                "    verifier = fake if known is None else known\n    nonce",
                '    if known is None:\n        raise LoginFailed("no", first.user)\n    verifier = known\n    nonce',
            ),
        ),
        (f"{SCRAM}::test_a_wrong_password_and_an_unknown_user_look_alike",),
    ),
    Bug(
        "security: a user nobody knows is answered sooner",
        (
            Edit(
                "security/logins/plain.py",
                "is_right = (fake if known is None else known).accepts(claim.password) and known is not None",
                "is_right = known is not None and known.accepts(claim.password)",
            ),
        ),
        (f"{PLAIN}::test_every_failure_costs_as_much",),
    ),
    Bug(
        "security: a client takes any server for the one that knows its password",
        (Edit("security/logins/scram.py", "if not hmac.compare_digest(expected, server_final):", "if False:"),),
        (f"{SCRAM}::test_a_server_that_does_not_know_the_password_is_found_out",),
    ),
    Bug(
        "security: a change is judged by an old version",
        (Edit("cluster/version_log.py", "if self.value.version == known:", "if self.value.version >= known:"),),
        (f"{AUTH}::test_a_change_is_judged_by_the_newest_version",),
    ),
    Bug(
        "security: each broker draws a secret of its own",
        (
            Edit(
                "cluster/auth.py",
                "self.secret = self.secret or bytes.fromhex(text)",
                "self.secret = bytes.fromhex(text)",
            ),
        ),
        (f"{AUTH}::test_the_clusters_secret_is_drawn_once_and_stays",),
    ),
    Bug(
        "security: a backup leaves users and rules behind",
        (Edit("operate/backup/store.py", "VERSIONS = (METADATA, AUTH)", "VERSIONS = (METADATA,)"),),
        ("tests/operate/test_repair.py::test_users_and_rules_are_copied_checked_and_repaired",),
    ),
    Bug(
        "security: a token says which algorithm it is checked by",
        (
            Edit(
                "security/logins/jwt.py",
                "algorithms=list(key.algorithms), options=_UNCHECKED)",
                'algorithms=[header["alg"]], options={**_UNCHECKED, "verify_signature": header["alg"] != "none"})',
            ),
        ),
        (f"{JWT}::test_a_token_nobody_signed_fails",),
    ),
    Bug(
        "security: a token's audience is not checked",
        (
            Edit(
                "security/logins/jwt.py",
                "if settings.audience and not named",
                "if named and settings.audience and not named",
            ),
        ),
        (f"{JWT}::test_what_a_token_must_say",),
    ),
    Bug(
        "security: every unknown key fetches the set",
        (Edit("security/logins/jwt.py", "kid not in self._keys) and may_try:", "kid not in self._keys):"),),
        (f"{JWT}::test_unknown_keys_are_fetched_but_not_too_often",),
    ),
    Bug(
        "security: a part of a certificate's name is taken for all of it",
        (Edit("security/mapping.py", "self.pattern.fullmatch(name)", "self.pattern.search(name)"),),
        (f"{MAPPING}::test_a_name_that_no_rule_takes_is_nobody",),
    ),
    Bug(
        "security: a request behind a failed token is served",
        (
            Edit(
                "security/logins/login.py",
                "    if isinstance(event, Failed):\n        return _closed(login, Do.FAIL)\n",
                "    if isinstance(event, Failed):\n        return replace(login, phase=Phase.OPEN), Do.FAIL\n",
            ),
        ),
        (LOGIN,),
    ),
    Bug(
        "security: a session that is over is served",
        (
            Edit(
                "security/logins/login.py",
                "session is not None and not session.is_over(frame.at)",
                "session is not None",
            ),
        ),
        (LOGIN,),
    ),
    Bug(
        "security: a new login takes over the session of another user",
        (
            Edit(
                "security/logins/login.py",
                "if before is not None and before.principal",
                "if before is event and before.principal",
            ),
        ),
        (LOGIN,),
    ),
    Bug(
        "security: a request in the middle of a login is answered",
        (Edit("security/logins/login.py", "login.phase is Phase.OPEN and _is_served", "_is_served"),),
        (LOGIN,),
    ),
    Bug(
        "security: a certificate that is over takes the place of a good one",
        (
            Edit(
                "security/tls.py",
                'return "" if self._span.why_not(now_s) else span_of(material).why_not(now_s)',
                'return ""',
            ),
        ),
        ("tests/security/test_tls.py::test_a_certificate_that_is_over_does_not_take_the_place_of_one_that_is_not",),
    ),
    Bug(
        "security: nobody is told that a certificate is over",
        (Edit("security/tls.py", "if why and not self._has_warned:", "if False:"),),
        ("tests/security/test_tls.py::test_a_certificate_that_ends_is_told_once",),
    ),
    Bug(
        "security: OpenSSL's word for it is all that is told of a client that speaks no TLS",
        (Edit("broker/net/tls_link.py", "    if reason in _NO_TLS:\n", "    if not reason:\n"),),
        ("tests/broker/test_tls.py::test_a_client_of_another_protocol_is_named",),
    ),
    Bug(
        "security: a password in the place of a login module is shown",
        (
            Edit(
                "security/logins/jaas.py",
                'is_class = kind == "word" and module.endswith("LoginModule")',
                "is_class = True",
            ),
        ),
        (PLAIN,),
    ),
    Bug(
        "security: a secret may stand on a command line",
        (Edit("config.py", "if is_secret(name.strip()) and _has_secret(value):", "if False:"),),
        ("tests/packaging/test_config.py::test_a_secret_does_not_stand_on_a_command_line",),
    ),
    Bug(
        "security: zeros in front hide how many iterations a server asks for",
        (
            Edit(
                "security/logins/scram.py",
                "if not ITERATIONS_MIN <= iterations <= _ASKED_MAX:",
                'if not ITERATIONS_MIN <= int(fields["i"][:9] or "0") <= _ASKED_MAX:',
            ),
            Edit("security/logins/scram.py", ' and len(fields["i"]) <= _DIGITS_MAX else 0', " else 0"),
        ),
        (SCRAM + "::test_a_server_that_does_not_know_the_password_is_found_out",),
    ),
    Bug(
        "security: a user who does not exist has another shape than those who do",
        (
            Edit(
                "security/logins/checks.py",
                "fake = fake_verifier(name, first.user, kept.secret, kept.shapes(name))",
                "fake = fake_verifier(name, first.user, kept.secret)",
            ),
        ),
        (SCRAM + "::test_a_user_who_does_not_exist_has_the_shape_of_those_who_do",),
    ),
]
