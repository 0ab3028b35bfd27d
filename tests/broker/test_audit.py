"""The audit log of a real broker: who was refused what, and who changed what."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.broker.wire import Wire, batch, create_topic, produce_fields, wait_for
from tests.support.guarded import PASSWORD, Guarded, rule
from tests.support.logged_in import upsertions

from holdfast.broker.guard import rights
from holdfast.protocol.api import Key
from holdfast.security.logins.plain import encode_plain
from holdfast.security.rules import Permission
from holdfast.security.secret import Secret


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    guarded = Guarded(tmp_path_factory.mktemp("audit"), users=20)
    with guarded.process:
        yield guarded


def lines(place: Guarded, *words: str) -> list[str]:
    return [each for each in place.process.said if all(word in each for word in words)]


def test_a_refusal_is_told_with_who_from_where_what_and_why(place: Guarded) -> None:
    """X10: the same one once a second, however often; a filter that leaves something out refuses nobody anything.
    The test of X10."""
    user = place.user()
    with Wire(place.plain) as root, place.wire(user) as wire:
        create_topic(root, "audited")
        for _ in range(50):
            wire.ask(Key.PRODUCE, 9, **produce_fields("audited", batch(b"x")))
        wire.ask(Key.METADATA, 12, topics=None)
        wire.ask(Key.DESCRIBE_ACLS, 3, resource_type_filter=1, pattern_type_filter=1, operation=1, permission_type=1)
        wait_for(lambda: bool(lines(place, "refused", f"User:{user} ", "DESCRIBE CLUSTER 'kafka-cluster'")))
        told = lines(place, "refused", f"User:{user} ", "WRITE TOPIC 'audited'")
        assert 1 <= len(told) < 10
        assert all(word in told[0] for word in ("127.0.0.1", "Produce", "INSIDE", "no rule allows it"))
        assert not lines(place, f"User:{user} ", "DESCRIBE TOPIC")
        denied = rule(user, rights.WRITE_TOPIC, "denied", permission=Permission.DENY)
        place.ask(Key.CREATE_ACLS, 3, creations=[denied])
        wire.ask(Key.PRODUCE, 9, **produce_fields("denied", batch(b"x")))
        wait_for(lambda: bool(lines(place, "refused", "'denied'", f"DENY User:{user} WRITE TOPIC:LITERAL:denied")))


def test_a_failed_login_is_told_without_what_was_sent(place: Guarded) -> None:
    """X10."""
    with Wire(place.sasl) as wire:
        wire.ask(Key.SASL_HANDSHAKE, 1, mechanism="PLAIN")
        wire.ask(Key.SASL_AUTHENTICATE, 2, auth_bytes=encode_plain("mallory", Secret("hunter2-wrong")))
    wait_for(lambda: bool(lines(place, "login failed", "mallory", "INSIDE", "127.0.0.1")))
    assert not lines(place, "hunter2-wrong")
    assert not lines(place, PASSWORD + '"')


def test_changes_of_users_rules_quotas_and_configs_are_told(place: Guarded) -> None:
    """X10: with names, and without values."""
    with Wire(place.plain) as root:
        create_topic(root, "changed")
        root.ask(Key.ALTER_USER_SCRAM_CREDENTIALS, 0, upsertions=upsertions("eve", "secret-of-eve"))
        for name, value in (("holdfast.flush", "now"), ("retention.ms", "123456")):  # The first is an order.
            config = {"name": name, "config_operation": 0, "value": value}
            resources = [{"resource_type": 2, "resource_name": "changed", "configs": [config]}]
            root.ask(Key.INCREMENTAL_ALTER_CONFIGS, 1, resources=resources)
        quota = {
            "entity": [{"entity_type": "user", "entity_name": "eve"}],
            "ops": [{"key": "consumer_byte_rate", "value": 1.0}],
        }
        root.ask(Key.ALTER_CLIENT_QUOTAS, 1, entries=[quota])
    place.allow("eve", rights.READ_TOPIC, name="changed")
    assert place.take_back("eve") == 1
    told = "changed: User:ANONYMOUS from 127.0.0.1: "
    for what in (
        "the logins of user 'eve'",
        "configs of topic 'changed': retention.ms",
        "the quotas of user 'eve'",
        "a rule is there: ALLOW User:eve READ TOPIC:LITERAL:changed from *",
        "a rule is gone: ALLOW User:eve READ TOPIC:LITERAL:changed from *",
    ):
        wait_for(lambda what=what: bool(lines(place, told + what)))  # type: ignore[misc]
    assert not lines(place, "holdfast.flush")
    assert not lines(place, "123456")
    assert not lines(place, "secret-of-eve")
