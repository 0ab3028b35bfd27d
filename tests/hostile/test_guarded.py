"""A broker with users and rules, beside those who use it badly, and with a store that hangs."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from tests.broker.test_largest_requests import Neighbour
from tests.broker.wire import Wire, batch, create_topic, produce
from tests.hostile.attacks import TOPIC, fetch_sessions, unread_answers
from tests.hostile.test_attacks import ANSWERS_SIZE, GROWTH_MAX, SETTINGS, Watch, p99, resident_size
from tests.support import s3_server
from tests.support.broker_process import BrokerProcess
from tests.support.faulty_proxy import Fault, FaultyProxy
from tests.support.guarded import Guarded, rule
from tests.support.logged_in import KEPT, KEPT_PASSWORD, LoggedIn, log_in
from tests.support.round_trips import serves
from tests.support.s3_server import S3Server

from holdfast.broker.guard import rights
from holdfast.protocol.api import Key

MIB = 1 << 20
P99_MS = 100
RULES_MAX = 5_000  # Of one request.


def test_the_largest_change_of_rules_holds_nobody_back(tmp_path: Path) -> None:
    """K9, X7: as many rules as a request may make, with long names, again and again; a good client does not notice."""
    place = Guarded(tmp_path, users=1)
    with place.process, BrokerProcess(tmp_path / "quiet") as quiet, Wire(place.plain) as root:
        create_topic(root, "good")
        with Wire(quiet.port) as wire:
            create_topic(wire, "good")
        with (
            Neighbour(place.plain, "good", place.process.pid) as good,
            Neighbour(quiet.port, "good", quiet.pid) as other,  # This machine may be busy with other things.
        ):
            began = time.monotonic()
            for number in range(3):
                made = [rule(f"u{each % 50}", rights.READ_TOPIC, f"{number}-{each:0>200}") for each in range(RULES_MAX)]
                results = root.ask(Key.CREATE_ACLS, 3, creations=made).results
                assert {each.error_code for each in results} == {0}
            ended = time.monotonic()
        assert p99(good, began, ended) <= max(P99_MS, 5 * p99(other, began, ended))


@pytest.mark.parametrize("attack", [unread_answers, fetch_sessions], ids=lambda attack: attack.__name__)
def test_with_rules_clients_that_do_not_read_are_given_up(tmp_path: Path, attack: object) -> None:
    """K10, X12: what they hold is within the same limits, and others are served."""
    place = Guarded(tmp_path, *SETTINGS, users=1)
    with place.process, Wire(place.plain) as root:
        create_topic(root, TOPIC)
        for _ in range(24):
            produce(root, TOPIC, batch(bytes(MIB - 1000)))
        before = resident_size(place.process.pid)
        with Watch(place.process.pid) as watch:
            assert callable(attack)
            attack(place.plain)
        assert watch.most - before < GROWTH_MAX + ANSWERS_SIZE
        assert produce(root, TOPIC, batch(b"after")).error_code == 0


@pytest.mark.skipif(s3_server.missing() is not None, reason=str(s3_server.missing()))
def test_a_store_that_hangs_keeps_nobody_from_logging_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """X4, D4: users are known since the start, and checks of logins have threads of their own."""
    with S3Server() as server, FaultyProxy(server.port) as proxy:
        for name, value in {**server.options, "endpoint": proxy.endpoint, "allow_http": "true"}.items():
            monkeypatch.setenv(f"AWS_{name.upper()}", value)
        place = LoggedIn(tmp_path, f"serve.store=s3://{server.fresh_bucket()}")
        with place.process:
            place.keep()
            proxy.plan = lambda _method, _path: Fault.HOLD_ANSWER
            end = time.monotonic() + 8  # Long enough for all threads of the store to hang.
            slowest = 0.0
            while time.monotonic() < end:
                began = time.monotonic()
                with Wire(place.sasl) as wire:
                    assert log_in(wire, KEPT, KEPT_PASSWORD, "SCRAM-SHA-512").error_code == 0
                    assert log_in(wire, KEPT, KEPT_PASSWORD, "SCRAM-SHA-512").error_code == 0, "and again"
                    assert serves(wire)
                slowest = max(slowest, time.monotonic() - began)
            assert slowest < 10  # Who is kept waits as long as the store hangs.
            assert proxy.disturbed
            proxy.plan = lambda _method, _path: None
