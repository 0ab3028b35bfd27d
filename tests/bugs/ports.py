"""Known ways to let somebody through a port beside Kafka's who may not."""

from __future__ import annotations

from tests.bugs.bug import Bug, Edit

SUBSCRIBE = "tests/subscribe/test_guarded.py"
METRICS = "tests/metrics/test_guarded.py"
HEADER = "tests/security/test_header.py"
DOOR = "broker/guard/side_door.py"


def bug(name: str, file: str, old: str, new: str, *tests: str) -> Bug:
    return Bug(f"ports: {name}", (Edit(file, old, new),), tests)


BUGS = [
    bug(
        "who says nothing is let in",
        DOOR,
        '                raise LoginFailed("there is no Authorization")',
        "                return session",
        SUBSCRIBE + "::test_who_calls_is_known_by_a_password_or_a_token",
    ),
    bug(
        "a failure is told at once",
        DOOR,
        "            await self._hold_back(began)\n",
        "",
        SUBSCRIBE + "::test_who_calls_is_known_by_a_password_or_a_token",
    ),
    bug(
        "a password of SCRAM is taken in plain",
        "security/logins/checks.py",
        "(is_private or each == PLAIN)",
        "True",
        HEADER + "::test_users_are_those_of_the_mechanisms_that_are_enabled",
    ),
    bug(
        "a session by a header lasts for ever",
        "security/logins/checks.py",
        "return self._password(said, taken[0], before, users).session",
        "return Session(self._password(said, taken[0], before, users).session.principal, before.host, before.listener)",
        HEADER + "::test_a_session_ends_as_one_of_sasl_does",
    ),
    bug(
        "topics that are named are not asked about",
        "subscribe/server/topics.py",
        "        rights.need(source.topic)  # Before",
        "        # Before",
        SUBSCRIBE + "::test_what_may_not_be_read_is_refused_whether_it_is_there_or_not",
    ),
    bug(
        "a pattern sees everything",
        "subscribe/server/topics.py",
        "if rights.sees(each.topic.name)]",
        "]",
        SUBSCRIBE + "::test_what_may_not_be_read_is_refused_whether_it_is_there_or_not",
    ),
    bug(
        "a pattern reads what may only be described",
        "subscribe/server/topics.py",
        "        rights.need(each.topic.name)\n",
        "",
        SUBSCRIBE + "::test_what_may_not_be_read_is_refused_whether_it_is_there_or_not",
    ),
    bug(
        "an open stream does not hear of rules",
        "subscribe/server/stream.py",
        "        self._site.gate.on_change.append(self._guard.note)\n",
        "        self._site.gate.on_change.append(lambda: None)\n",
        SUBSCRIBE + "::test_a_rule_that_goes_ends_an_open_stream",
    ),
    bug(
        "a stream outlives its token",
        "subscribe/server/guard.py",
        "        if self._session.until < inf and self._session.is_over(self._clock.boottime()):",
        "        if False:",
        SUBSCRIBE + "::test_the_end_of_a_token_ends_the_stream",
    ),
    bug(
        "certificates are those of the start",
        "subscribe/server/service.py",
        "        if tls.renewals == taken:",
        "        if tls.renewals >= taken:",
        SUBSCRIBE + "::test_certificates_of_clients_and_their_renewal",
    ),
    bug(
        "nobody is asked for a certificate",
        "cli/serve/doors.py",
        "return Door(address, chosen, wants_certificates=asked)",
        "return Door(address, chosen)",
        SUBSCRIBE + "::test_certificates_of_clients_and_their_renewal",
    ),
    bug(
        "an unprotected door beside a protected one",
        "cli/serve/doors.py",
        "        if protected and chosen not in protected:",
        "        if False:",
        SUBSCRIBE + "::test_auto_opens_no_unprotected_door_beside_a_protected_one",
    ),
    bug(
        "whoever logs in reads metrics",
        DOOR,
        'return self._gate.rights(METRICS, session, "Metrics").may(DESCRIBE_CLUSTER)',
        "return session is not None",
        METRICS + "::test_who_may_describe_the_cluster_reads_metrics",
    ),
    bug(
        "metrics for all machines",
        "cli/serve/doors.py",
        "    if chosen is None and is_loopback(host):",
        "    if chosen is None:",
        METRICS + "::test_beyond_loopback_a_start_needs_a_protection",
    ),
    bug(
        "strangers learn which pages there are",
        "metrics/endpoint.py",
        "answer = refusal or await self._answer(request)",
        'answer = await self._answer(request) if "/metrics" not in request else refusal or await self._answer(request)',
        METRICS + "::test_who_may_describe_the_cluster_reads_metrics",
    ),
    bug(
        "gRPC writes a line for every stranger",
        "cli/subscribe/port.py",
        '    os.environ.setdefault("GRPC_VERBOSITY", "NONE")\n',
        "",
        "tests/hostile/test_fuzzed_logins.py::test_a_login_that_is_none_neither_stops_the_broker_nor_grows_it[records]",
    ),
    bug(
        "gRPC is said to speak TLS 1.3 only",
        "cli/serve/doors.py",
        "    if {*tls.protocols, *tls.ciphers} != {*_USUAL.protocols, *_USUAL.ciphers}:",
        "    if False:",
        "tests/cli/test_subscribe_port.py::test_what_grpc_cannot_be_held_to_is_not_promised",
    ),
    Bug(
        "ports: strangers take the places of subscribers",
        (
            Edit(
                "subscribe/server/service.py",
                "            session = await self._admitted(context)  # Strangers",
                "            self.streams += 1\n            session = await self._admitted(context)  # Strangers",
            ),
        ),
        (SUBSCRIBE + "::test_strangers_take_no_place_of_those_who_are_known",),
    ),
    bug(
        "while a start waits for its store everybody reads metrics",
        "cli/serve/metrics.py",
        "Gate(server.audit, None if rules is None else lambda: rules)",
        "Gate(server.audit, None)",
        METRICS + "::test_while_a_start_waits_for_its_store_strangers_are_told_nothing",
    ),
]
