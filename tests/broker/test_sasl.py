"""Listeners with SASL, as real clients meet them, and as those do who have no business there."""

from __future__ import annotations

import asyncio
import os
import random
import struct
import time
from base64 import b64encode
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka import KafkaError, Producer
from tests.broker.wire import Closed, Wire, batch
from tests.support.logged_in import KEPT, KEPT_PASSWORD, ODD, PASSWORD, USER, LoggedIn, log_in, shake_hands, upsertions
from tests.support.round_trips import by_aiokafka, by_confluent, by_kafka_python, serves

from holdfast.protocol.api import APIS, Key
from holdfast.security.logins.plain import encode_plain
from holdfast.security.logins.scram import ScramClient
from holdfast.security.secret import Secret

MECHANISMS = ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]
VALUES = [b"%d" % number * 1000 for number in range(20)]
ALLOWED = {Key.API_VERSIONS, Key.SASL_HANDSHAKE, Key.SASL_AUTHENTICATE}
FAILED = 58


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LoggedIn]:
    made = LoggedIn(tmp_path_factory.mktemp("sasl"))
    with made.process:
        made.keep()
        made.keep(ODD)
        yield made


def _user_of(mechanism: str) -> tuple[str, str]:
    return (USER, PASSWORD) if mechanism == "PLAIN" else (KEPT, KEPT_PASSWORD)


# Real clients


def _by_confluent(place: LoggedIn, topic: str, mechanism: str, is_tls: bool) -> list[bytes]:
    user, password = (USER, PASSWORD) if mechanism == "PLAIN" else (ODD, KEPT_PASSWORD)
    conf = {
        "bootstrap.servers": f"localhost:{place.tls if is_tls else place.sasl}",
        "security.protocol": "SASL_SSL" if is_tls else "SASL_PLAINTEXT",
        "ssl.ca.location": str(place.authority.certificate),
        "sasl.mechanisms": mechanism,
        "sasl.username": user,
        "sasl.password": password,
    }
    return by_confluent(topic, VALUES, conf, {})


def _in_python(place: LoggedIn, mechanism: str, is_tls: bool) -> dict[str, Any]:
    """What kafka-python and aiokafka call alike."""
    user, password = _user_of(mechanism)
    return {
        "bootstrap_servers": f"localhost:{place.tls if is_tls else place.sasl}",
        "security_protocol": "SASL_SSL" if is_tls else "SASL_PLAINTEXT",
        "sasl_mechanism": mechanism,
        "sasl_plain_username": user,
        "sasl_plain_password": password,
    }


def _by_kafka_python(place: LoggedIn, topic: str, mechanism: str, is_tls: bool) -> list[bytes]:
    conf = {**_in_python(place, mechanism, is_tls), "ssl_cafile": str(place.authority.certificate)}
    return by_kafka_python(topic, VALUES, conf, {})


def _by_aiokafka(place: LoggedIn, topic: str, mechanism: str, is_tls: bool) -> list[bytes]:
    conf = {**_in_python(place, mechanism, is_tls), "ssl_context": place.context() if is_tls else None}
    return asyncio.run(by_aiokafka(topic, VALUES, conf, {}))


@pytest.mark.parametrize("is_tls", [False, True], ids=["plain", "tls"])
@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("client", [_by_confluent, _by_kafka_python, _by_aiokafka], ids=lambda each: each.__name__)
def test_clients_log_in_and_are_served(
    place: LoggedIn,
    topic: str,
    client: Callable[[LoggedIn, str, str, bool], list[bytes]],
    mechanism: str,
    is_tls: bool,
) -> None:
    """X4, K5: PLAIN with a user of the settings, SCRAM with one of the store, each over both kinds of listeners.
    The test of K5."""
    assert client(place, topic, mechanism, is_tls) == VALUES


def test_a_wrong_password_ends_a_real_client(place: LoggedIn) -> None:
    """X4: librdkafka is told that it failed, not that the broker went away."""
    heard: list[int] = []
    conf: dict[str, Any] = {
        "bootstrap.servers": f"localhost:{place.sasl}",
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanisms": "SCRAM-SHA-256",
        "sasl.username": KEPT,
        "sasl.password": "wrong",
        "error_cb": lambda error: heard.append(error.code()),
        "log_level": 0,
    }
    producer = Producer(conf)
    until = time.monotonic() + 20
    while KafkaError._AUTHENTICATION not in heard and time.monotonic() < until:
        producer.poll(0.1)
    assert KafkaError._AUTHENTICATION in heard


# Logins


@pytest.mark.parametrize("version", [0, 1, 2])
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_users_of_the_store_log_in_with_every_mechanism(place: LoggedIn, mechanism: str, version: int) -> None:
    """X4: one set of users for PLAIN and SCRAM."""
    with Wire(place.sasl) as wire:
        assert log_in(wire, KEPT, KEPT_PASSWORD, mechanism, version).error_code == 0
        assert serves(wire)


def test_bare_tokens_follow_the_first_handshake(place: LoggedIn) -> None:
    """X4: handshake 0 has tokens without a header, answered so; a failure is closed without an answer."""
    with Wire(place.sasl) as wire:
        assert shake_hands(wire, "SCRAM-SHA-512", 0) == 0
        client = ScramClient("SCRAM-SHA-512", KEPT, Secret(KEPT_PASSWORD), "abc")
        wire.send_bytes(_sized(client.first()))
        message, expected = client.final(wire.receive())
        wire.send_bytes(_sized(message))
        client.check(expected, wire.receive())
        assert serves(wire)
    with Wire(place.sasl) as wire:
        shake_hands(wire, "PLAIN", 0)
        wire.send_bytes(_sized(encode_plain(USER, Secret("wrong"))))
        assert wire.is_closed()


def test_every_failure_sounds_the_same(place: LoggedIn) -> None:
    """X4: a user who does not exist, a wrong password and a broken message are not told apart by words or time."""
    told, times = set(), []
    nobody = [("nobody", "x"), (USER, "wrong"), (KEPT, "wrong"), ("", "")]
    for user, password in nobody:
        with Wire(place.sasl) as wire:
            shake_hands(wire, "PLAIN")
            began = time.monotonic()
            answer = wire.ask(Key.SASL_AUTHENTICATE, 1, auth_bytes=encode_plain(user, Secret(password)))
            times.append(time.monotonic() - began)
            told.add((answer.error_code, answer.error_message, bytes(answer.auth_bytes), answer.session_lifetime_ms))
            assert wire.is_closed()
    assert [each[0] for each in told] == [FAILED]
    assert min(times) >= 0.1


def test_a_mechanism_that_is_not_offered_is_answered_with_those_that_are(place: LoggedIn) -> None:
    """X4: as Kafka answers it."""
    with Wire(place.sasl) as wire:
        answer = wire.ask(Key.SASL_HANDSHAKE, 1, mechanism="GSSAPI")
        assert (answer.error_code, list(answer.mechanisms)) == (33, MECHANISMS)
        assert wire.is_closed()


# Without a login


def _sized(data: bytes) -> bytes:
    return struct.pack(">i", len(data)) + data


@pytest.mark.parametrize("begin", ["at once", "greeted", "handshake"])
def test_every_api_before_a_login_closes(place: LoggedIn, begin: str) -> None:
    """X4: every API key that there is, and others, in its first and last version; without one byte of answer.
    The test of X4."""
    others = [key for key in [*range(-1, 120), 32767] if key not in {int(each) for each in ALLOWED}]
    for key in others:
        versions = {APIS[Key(key)].min_version, APIS[Key(key)].max_version} if key in APIS else {0}
        for version in versions:
            with Wire(place.sasl) as wire:
                if begin == "greeted":
                    wire.ask(Key.API_VERSIONS, 3, client_software_name="x", client_software_version="1")
                if begin == "handshake":
                    shake_hands(wire, "PLAIN")
                wire.send_bytes(_sized(struct.pack(">hhih", key, version, 1, -1) + bytes(64)))
                assert wire.is_closed(), (key, version)


def test_versions_are_told_once(place: LoggedIn) -> None:
    """X4: and in a version that we do not have, once more before."""
    with Wire(place.sasl) as wire:
        wire.send_bytes(_sized(struct.pack(">hhih", Key.API_VERSIONS, 99, 1, -1) + b"\x00"))
        assert wire.receive()[4:6] == struct.pack(">h", 35)
        assert wire.ask(Key.API_VERSIONS, 0).api_keys
        wire.send(Key.API_VERSIONS, 0)
        assert wire.is_closed()


def test_requests_behind_a_failed_token_are_not_served(place: LoggedIn, topic: str) -> None:
    """X4: neither produced nor answered, though they came in one write."""
    with Wire(place.plain) as plain:
        plain.ask(Key.METADATA, 9, topics=[{"name": topic}], allow_auto_topic_creation=True)
        with Wire(place.sasl) as wire:
            shake_hands(wire, "PLAIN")
            token = wire.framed(Key.SASL_AUTHENTICATE, 1, 5, auth_bytes=encode_plain(USER, Secret("wrong")))
            wire.send_bytes(token + _produce(wire, topic, 0) + _produce(wire, topic, 1))
            assert wire.receive()[:4] == struct.pack(">i", 5)
            assert wire.is_closed()
        with Wire(place.sasl) as wire:  # One that goes away while its token is looked at.
            shake_hands(wire, "PLAIN")
            wire.send_bytes(token + _produce(wire, topic, 0))
        time.sleep(0.3)
        assert _end(plain, topic) == 0


def test_requests_behind_a_good_token_are_served_after_it(place: LoggedIn, topic: str) -> None:
    """X4: they wait for the verdict, and keep their order."""
    with Wire(place.plain) as plain:
        plain.ask(Key.METADATA, 9, topics=[{"name": topic}], allow_auto_topic_creation=True)
        with Wire(place.sasl) as wire:
            shake_hands(wire, "PLAIN")
            token = wire.framed(Key.SASL_AUTHENTICATE, 1, 5, auth_bytes=encode_plain(USER, Secret(PASSWORD)))
            wire.send_bytes(token + _produce(wire, topic, 1))
            numbers = [struct.unpack(">i", wire.receive()[:4])[0] for _ in range(2)]
        assert numbers == [5, 9]
        assert _end(plain, topic) == 1


def _produce(wire: Wire, topic: str, acks: int) -> bytes:
    data = [{"name": topic, "partition_data": [{"index": 0, "records": batch(b"x")}]}]
    return wire.framed(Key.PRODUCE, 8, 9, transactional_id=None, acks=acks, timeout_ms=1000, topic_data=data)


def _end(wire: Wire, topic: str) -> int:
    asked = [{"name": topic, "partitions": [{"partition_index": 0, "timestamp": -1}]}]
    answer = wire.ask(Key.LIST_OFFSETS, 5, replica_id=-1, isolation_level=0, topics=asked)
    return int(answer.topics[0].partitions[0].offset)


def test_frames_are_small_until_the_session_is_open(place: LoggedIn) -> None:
    """X4: one byte more than allowed is refused by its announcement; afterwards large ones are taken."""
    with Wire(place.sasl) as wire:
        began = time.monotonic()
        wire.send_bytes(struct.pack(">i", 524_289))
        assert wire.is_closed()
        assert time.monotonic() - began < 5  # Not because its time is over.
    with Wire(place.sasl) as wire:
        assert log_in(wire).error_code == 0
        names = [{"name": f"{number:0200}"} for number in range(5_000)]
        assert len(wire.ask(Key.METADATA, 9, topics=names, allow_auto_topic_creation=False).topics) == 5_000


def test_fuzzed_logins_open_nothing(place: LoggedIn) -> None:
    """X4: bytes in place of tokens and requests; the broker goes on serving, and nobody is let in."""
    seed = int.from_bytes(os.urandom(4), "big")
    print(f"seed {seed}")
    chance = random.Random(seed)
    for number in range(150):
        mechanism = chance.choice(MECHANISMS)
        valid = encode_plain(USER, Secret("wrong"))
        if mechanism != "PLAIN":
            valid = ScramClient(mechanism, KEPT, Secret("x"), "abc").first()
        token = bytearray(chance.choice([valid, chance.randbytes(chance.randrange(1, 300))]))
        for _ in range(chance.randrange(3)):
            token[chance.randrange(len(token))] = chance.randrange(256)
        with Wire(place.sasl) as wire:
            try:
                shake_hands(wire, mechanism, number % 2)
                if number % 2:
                    wire.ask(Key.SASL_AUTHENTICATE, 1, auth_bytes=bytes(token))
                else:
                    wire.send_bytes(_sized(bytes(token)))
                wire.send_bytes(_sized(chance.randbytes(chance.randrange(1, 100))))
                wire.send(Key.METADATA, 9, topics=[])
                while True:
                    wire.receive()
            except (Closed, ConnectionError):
                continue
    with Wire(place.sasl) as wire:
        assert log_in(wire).error_code == 0
        assert serves(wire)


def test_other_ports_do_not_ask_for_a_login(place: LoggedIn) -> None:
    """X4: a listener without SASL says so to those who try."""
    with Wire(place.plain) as wire:
        assert wire.ask(Key.SASL_HANDSHAKE, 1, mechanism="PLAIN").error_code == 34
        assert serves(wire)


# Sessions


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LoggedIn]:
    """Sessions of 1.5 s with PLAIN, and without an end otherwise."""
    made = LoggedIn(tmp_path_factory.mktemp("short"), "listener.name.inside.plain.connections.max.reauth.ms=1500")
    with made.process:
        made.keep()
        yield made


def test_a_session_that_is_over_takes_only_a_new_login(short: LoggedIn) -> None:
    """X5: its length is told; after it a request closes, and a login goes on. The test of X5."""
    with Wire(short.sasl) as wire, Wire(short.sasl) as other:
        assert 1000 < log_in(wire).session_lifetime_ms <= 1500
        assert log_in(other).error_code == 0
        assert serves(wire)
        time.sleep(1.7)
        other.send(Key.METADATA, 9, topics=[])
        assert other.is_closed()
        assert log_in(wire).session_lifetime_ms > 0
        assert serves(wire)


def test_a_session_stays_its_users_and_its_mechanisms(short: LoggedIn) -> None:
    """X5: another user and another mechanism are refused on a connection that has one; the same is taken."""
    with Wire(short.sasl) as wire:
        assert log_in(wire, KEPT, KEPT_PASSWORD).error_code == 0
        assert log_in(wire, KEPT, KEPT_PASSWORD).error_code == 0
        assert log_in(wire, USER, PASSWORD).error_code == FAILED
        assert wire.is_closed()
    with Wire(short.sasl) as wire:
        assert log_in(wire, KEPT, KEPT_PASSWORD).error_code == 0
        assert shake_hands(wire, "SCRAM-SHA-256") == 33
        assert wire.is_closed()


def test_a_removed_user_and_a_changed_password_end_with_the_session(short: LoggedIn) -> None:
    """X5: the login that goes on fails with what is no longer right."""
    for name in ("gone", "changed"):
        short.keep(name, "before")
    with Wire(short.plain) as admin, Wire(short.sasl) as gone, Wire(short.sasl) as changed:
        assert log_in(gone, "gone", "before").error_code == 0
        assert log_in(changed, "changed", "before").error_code == 0
        removed = [{"name": "gone", "mechanism": number} for number in (1, 2)]
        answer = admin.ask(
            Key.ALTER_USER_SCRAM_CREDENTIALS, 0, deletions=removed, upsertions=upsertions("changed", "after")
        )
        assert [each.error_code for each in answer.results] == [0, 0]
        assert log_in(gone, "gone", "before").error_code == FAILED
        assert log_in(changed, "changed", "before").error_code == FAILED


def test_clients_log_in_again_without_a_gap(short: LoggedIn, topic: str) -> None:
    """X5: librdkafka and its sessions of 1.5 s; what it sends in 5 s arrives once, and no connection is closed for it.

    It logs in again a tenth of a second before the end: on a busy machine it may come too late, but not every time.
    """
    failures: list[object] = []
    sent = 0
    for _ in range(3):
        conf: dict[str, Any] = {
            "bootstrap.servers": f"localhost:{short.sasl}",
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanisms": "PLAIN",
            "sasl.username": USER,
            "sasl.password": PASSWORD,
            "enable.idempotence": True,
            "error_cb": failures.append,
        }
        failures.clear()
        producer = Producer(conf)
        until = time.monotonic() + 5
        while time.monotonic() < until:
            producer.produce(topic, b"x")
            sent += 1
            producer.poll(0.02)
        assert producer.flush(20) == 0
        with Wire(short.plain) as plain:
            assert _end(plain, topic) == sent
        if not failures:
            break
    assert failures == []


# Users


def test_users_are_altered_as_kafka_does(place: LoggedIn) -> None:
    """X6: what is made is described by mechanism and iterations; what is wrong has Kafka's code, for its user alone.
    Neither a password nor what Kafka's tools make of it is stored. The test of X6."""
    good = upsertions("dora", "x", 2)
    wrong: dict[str, dict[str, Any]] = {
        "few": {"iterations": 4095},
        "many": {"iterations": 16385},
        "salt": {"salt": b""},
        "other": {"mechanism": 3},
    }
    bad = [upsertions(name, "x", 1)[0] | change for name, change in wrong.items()]
    twice = upsertions("twice", "x", 1) * 2
    with Wire(place.plain) as wire:
        answer = wire.ask(
            Key.ALTER_USER_SCRAM_CREDENTIALS,
            0,
            deletions=[{"name": "missing", "mechanism": 1}],
            upsertions=[*good, *bad, *twice, upsertions("", "x", 1)[0]],
        )
        codes = {each.user: each.error_code for each in answer.results}
        assert codes == {"dora": 0, "few": 93, "many": 93, "salt": 93, "other": 33, "twice": 92, "": 93, "missing": 91}
        asked = [{"name": name} for name in ("dora", "few", KEPT, KEPT)]
        answer = wire.ask(Key.DESCRIBE_USER_SCRAM_CREDENTIALS, 0, users=asked)
        told = {
            each.user: (each.error_code, [(info.mechanism, info.iterations) for info in each.credential_infos])
            for each in answer.results
        }
        assert told == {"dora": (0, [(2, 4096)]), "few": (91, []), KEPT: (92, [])}
        everybody = wire.ask(Key.DESCRIBE_USER_SCRAM_CREDENTIALS, 0, users=None).results
        assert {"dora", KEPT} <= {each.user for each in everybody}
        stored = b"".join(each.read_bytes() for each in (place.folder / "data").rglob("*") if each.is_file())
        assert b"dora" in stored
        for secret in (KEPT_PASSWORD.encode(), good[0]["salted_password"]):
            assert not any(form in stored for form in (secret, b64encode(secret), secret.hex().encode()))
        wire.ask(Key.ALTER_USER_SCRAM_CREDENTIALS, 0, deletions=[{"name": "dora", "mechanism": 2}])


def test_no_secret_is_told(place: LoggedIn) -> None:
    """X10: neither in lines nor in configs, whatever was tried above."""
    with Wire(place.plain) as wire:
        resources = [{"resource_type": 4, "resource_name": "0", "configuration_keys": None}]
        told = str(wire.ask(Key.DESCRIBE_CONFIGS, 4, resources=resources))
    assert "sasl.jaas.config" in told
    assert PASSWORD.split(",")[1] not in told
