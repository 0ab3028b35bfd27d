"""SCRAM, both sides, with scramp as the second opinion."""

from __future__ import annotations

import hashlib
import hmac
import itertools
from base64 import b64decode, b64encode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scramp import ScramClient as TheirClient
from scramp import ScramException, ScramMechanism

from holdfast.cluster.auth import Auth, apply_auth, set_user
from holdfast.io.chance import SeededChance
from holdfast.io.clock import ManualClock
from holdfast.security.errors import LoginFailed
from holdfast.security.logins.checks import LoginChecks
from holdfast.security.logins.login import Login
from holdfast.security.logins.scram import (
    MECHANISMS,
    Exchange,
    ScramClient,
    Shape,
    Verifier,
    fake_verifier,
    make_verifier,
    parse_client_first,
    salt_password,
    server_final,
    server_first,
    verifier_of,
)
from holdfast.security.principal import ANONYMOUS, Session
from holdfast.security.secret import Secret

SALT = bytes(range(16))
SECRET = b"of the cluster"
NAMES = st.text(st.characters(codec="ascii", min_codepoint=33, max_codepoint=126), min_size=1, max_size=20)


def _begin(mechanism: str, first: bytes, known: Verifier | None) -> tuple[Exchange, bytes]:
    parsed = parse_client_first(first)
    return server_first(parsed, known, fake_verifier(mechanism, parsed.user, SECRET), "ours+/")


@settings(max_examples=25, deadline=None)
@given(st.sampled_from(list(MECHANISMS)), NAMES, NAMES)
def test_a_client_of_another_hand_logs_in(mechanism: str, user: str, password: str) -> None:
    """X4: scramp's client against our server, also with `,` and `=` in the name."""
    verifier = make_verifier(mechanism, Secret(password), SALT)
    client = TheirClient([mechanism], user, password)
    exchange, answer = _begin(mechanism, client.get_client_first().encode(), verifier)
    client.set_server_first(answer.decode())
    client.set_server_final(server_final(exchange, client.get_client_final().encode()).decode())
    assert exchange.user == user


@settings(max_examples=25, deadline=None)
@given(st.sampled_from(list(MECHANISMS)), NAMES, NAMES)
def test_our_client_logs_in_to_a_server_of_another_hand(mechanism: str, user: str, password: str) -> None:
    """X11: our client against scramp's server, which keeps what our verifier keeps."""
    theirs = ScramMechanism(mechanism)
    salt, stored_key, server_key, iterations = theirs.make_auth_info(password, 4096, SALT)
    verifier = make_verifier(mechanism, Secret(password), SALT)
    assert (verifier.stored_key, verifier.server_key) == (stored_key, server_key)
    server = theirs.make_server(lambda _: (salt, stored_key, server_key, iterations))
    client = ScramClient(mechanism, user, Secret(password), "fyko+d2lbbFgONRv9qkxdawL")
    server.set_client_first(client.first().decode())
    final, expected = client.final(server.get_server_first().encode())
    server.set_client_final(final.decode())
    client.check(expected, server.get_server_final().encode())


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_wrong_password_and_an_unknown_user_look_alike(mechanism: str) -> None:
    """X4: the same salt each time, the same iterations, and the failure comes at the proof."""
    verifier = make_verifier(mechanism, Secret("right"), SALT)
    causes = []
    for known, user in ((verifier, "alice"), (None, "nobody")):
        client = ScramClient(mechanism, user, Secret("wrong"), "nonce")
        exchange, answer = _begin(mechanism, client.first(), known)
        assert _begin(mechanism, client.first(), known)[1] == answer
        final, _ = client.final(answer)
        with pytest.raises(LoginFailed) as caught:
            server_final(exchange, final)
        causes.append(caught.value.why)
    assert causes == ["the password is wrong", "there is no such user"]  # For the audit log alone.
    fake = fake_verifier(mechanism, "nobody", SECRET)
    assert fake.salt != fake_verifier(mechanism, "nobody2", SECRET).salt
    assert fake.iterations == verifier.iterations


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_user_who_does_not_exist_has_the_shape_of_those_who_do(mechanism: str) -> None:
    """X4: where all have 8192 iterations and short salts, 4096 and a long one would say that there is no such user."""
    kept = make_verifier(mechanism, Secret("pw"), b"s" * 20, 8192)
    users = apply_auth(Auth("c"), [set_user("alice", kept), ["secret", SECRET.hex()]])
    words = {"sasl.enabled.mechanisms": mechanism, "sasl.server.max.receive.size": "1000"}
    checks = LoginChecks(lambda _: words, ManualClock(), SeededChance(1))
    login = Login((mechanism,), mechanism=mechanism)
    shown = []
    for user in (b"alice", b"nobody", b"nobody"):
        said = checks.check(login, b"n,,n=%s,r=x" % user, Session(ANONYMOUS, "h", "L"), users).answer.decode()
        _, salt, iterations = said.split(",")
        shown.append((len(b64decode(salt.removeprefix("s="))), iterations, salt))
    assert {each[:2] for each in shown} == {(20, "i=8192")}
    assert shown[1] == shown[2]
    for size in (1, 20, 26, 100, 256):
        fake = fake_verifier(mechanism, "nobody", SECRET, [Shape(size, 16384)])
        assert (len(fake.salt), fake.iterations) == (size, 16384)


def test_nobody_logs_in_as_a_user_who_does_not_exist() -> None:
    """X4: not even with a proof for the keys that stand in for theirs."""
    exchange, _ = _begin("SCRAM-SHA-256", b"n,,n=nobody,r=x", None)
    assert exchange.verifier.stored_key == bytes(32)
    with pytest.raises(LoginFailed):
        server_final(exchange, b"c=biws,r=xours+/,p=" + b"A" * 43 + b"=")


def _finish(exchange: Exchange, nonce: str, mechanism: str, password: str) -> bytes:
    """A second message by hand, with a nonce of our choice and a proof that covers it."""
    name = MECHANISMS[mechanism]
    client_key = hmac.digest(salt_password(name, Secret(password), SALT, 4096), b"Client Key", name)
    bare = f"c=biws,r={nonce}"
    signature = hmac.digest(hashlib.new(name, client_key).digest(), f"{exchange.said},{bare}".encode(), name)
    proof = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
    return f"{bare},p={b64encode(proof).decode()}".encode()


def test_the_nonce_is_checked_and_old_librdkafka_gets_in() -> None:
    """X4: it must end with the one of this login; librdkafka before 2.6.1 puts its own once more in front."""
    mechanism = "SCRAM-SHA-256"
    exchange, _ = _begin(mechanism, b"n,,n=alice,r=theirs", make_verifier(mechanism, Secret("pw"), SALT))
    for nonce in ("theirsours+/", "theirstheirsours+/"):
        assert server_final(exchange, _finish(exchange, nonce, mechanism, "pw")).startswith(b"v=")
    for nonce in ("ours+/", "theirs", "theirsours+/x", ""):
        with pytest.raises(LoginFailed, match="nonce"):
            server_final(exchange, _finish(exchange, nonce, mechanism, "pw"))


@pytest.mark.parametrize(
    "first",
    [
        b"",
        b"n,,",
        b"p=tls-unique,,n=a,r=b",
        b"n,a=other,n=a,r=b",
        b"n,,n=,r=b",
        b"n,,n=a,r=",
        b"n,,n=a=b,r=c",
        b"n,,r=b,n=a",
        b"n,,m=x,n=a,r=b",
        b"n,,n=a,r=b,m=x",
        b"n,,n=a,r=b,tokenauth=true",
        b"n,,n=" + b"a" * 1025 + b",r=b",
        b"n,,n=a,r=" + b"b" * 1025,
        b"\xff",
    ],
)
def test_a_first_message_that_is_none_fails(first: bytes) -> None:
    """X4: with LoginFailed and nothing else."""
    with pytest.raises(LoginFailed):
        parse_client_first(first)


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=60), st.booleans())
def test_any_bytes_fail_cleanly(data: bytes, is_dressed: bool) -> None:
    """X4: a fuzzed login neither gets in nor raises anything else."""
    exchange, _ = _begin("SCRAM-SHA-256", b"n,,n=alice,r=x", fake_verifier("SCRAM-SHA-256", "alice", b""))
    with pytest.raises(LoginFailed):
        server_final(exchange, b"c=biws,r=xours+/,p=" + data if is_dressed else data)
    client = ScramClient("SCRAM-SHA-256", "alice", Secret("pw"), "x")
    with pytest.raises(LoginFailed):
        client.final(data)


def test_a_server_that_does_not_know_the_password_is_found_out() -> None:
    """X11: and so is one that asks for so many iterations that we would be busy for minutes, or for too few."""
    client = ScramClient("SCRAM-SHA-256", "alice", Secret("pw"), "x")
    _, expected = client.final(b"r=xy,s=QUJD,i=4096")
    with pytest.raises(LoginFailed):
        client.check(expected, b"v=AAAA")
    many = (b"99999999999", b"1000001", b"0005000000", b"0" * 5000 + b"4096", b"-4096", b"4096.0")
    asking = [b"r=xy,s=QUJD,i=" + each for each in (b"1", b"", *many)]
    for answer in (*asking, b"r=x,s=QUJD,i=4096", b"r=zz,s=QUJD,i=4096"):
        with pytest.raises(LoginFailed):
            client.final(answer)


def test_what_is_kept_is_no_password_and_prints_no_key() -> None:
    """X6, X10: salted passwords, as Kafka's tools send them, give the same verifier."""
    for mechanism, password in itertools.product(MECHANISMS, ("pw", "ü ö")):
        made = make_verifier(mechanism, Secret(password), SALT)
        salted = salt_password(MECHANISMS[mechanism], Secret(password), SALT, 4096)
        assert verifier_of(mechanism, salted, SALT, 4096) == made
        assert repr(made) == f"Verifier(mechanism={mechanism!r}, iterations=4096)"
        assert made.accepts(Secret(password))
        assert not made.accepts(Secret(password + " "))
    with pytest.raises(ScramException):
        ScramMechanism("SCRAM-SHA-256").make_server(lambda _: 1 / 0).set_client_first("no")
