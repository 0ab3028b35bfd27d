"""`Authorization`: who somebody is where no SASL is spoken."""

from __future__ import annotations

import contextlib
import json
from base64 import b64encode
from pathlib import Path

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from hypothesis import given
from hypothesis import strategies as st
from jwt.algorithms import ECAlgorithm

from holdfast.cluster.auth import Auth, apply_auth, set_user
from holdfast.errors import Unavailable
from holdfast.io.chance import SeededChance
from holdfast.io.clock import ManualClock
from holdfast.security.errors import LoginFailed
from holdfast.security.header import parse_authorization
from holdfast.security.logins.checks import LoginChecks
from holdfast.security.logins.plain import PlainClaim
from holdfast.security.logins.scram import make_verifier
from holdfast.security.principal import ANONYMOUS, Principal, Session
from holdfast.security.secret import Secret

MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule required"
KEPT = apply_auth(Auth("c"), [set_user("kept", make_verifier("SCRAM-SHA-512", Secret("p:w"), b"salt" * 5))])
STRANGER = Session(ANONYMOUS, "10.0.0.7", "OUTSIDE")


def basic(user: str, password: str) -> str:
    return "Basic " + b64encode(f"{user}:{password}".encode()).decode()


def checks(mechanisms: str, **words: str) -> LoginChecks:
    given = {
        "sasl.enabled.mechanisms": mechanisms,
        "sasl.server.max.receive.size": "1000",
        "sasl.jaas.config": f'{MODULE} user_set="secret";' if "PLAIN" in mechanisms else "",
        **{name.replace("_", "."): value for name, value in words.items()},
    }
    return LoginChecks(lambda _: given, ManualClock(), SeededChance(1))


def test_a_user_and_a_password_or_a_token_is_read() -> None:
    """X8: a password may hold colons; a scheme is written in any case."""
    assert parse_authorization(basic("alice", "a:b c")) == PlainClaim("alice", Secret("a:b c"))
    assert parse_authorization("bearer  x.y.z ") == Secret("x.y.z")


@given(st.text() | st.binary().map(lambda data: "Basic " + b64encode(data).decode()) | st.text().map("Basic {}".format))
def test_any_text_fails_cleanly(text: str) -> None:
    """X8: as a login that failed, and nothing else."""
    with contextlib.suppress(LoginFailed):
        parse_authorization(text)


@pytest.mark.parametrize(
    ("mechanisms", "is_private", "said", "user"),
    [
        ("PLAIN", False, basic("set", "secret"), "set"),
        ("PLAIN", False, basic("kept", "p:w"), "kept"),
        ("PLAIN", True, basic("set", "wrong"), None),
        ("PLAIN", True, basic("nobody", "secret"), None),
        ("SCRAM-SHA-512", True, basic("kept", "p:w"), "kept"),
        ("SCRAM-SHA-512", False, basic("kept", "p:w"), None),
        ("SCRAM-SHA-256", True, basic("kept", "p:w"), None),
        ("SCRAM-SHA-512", True, basic("set", "secret"), None),
        ("SCRAM-SHA-512", True, "Bearer x.y.z", None),
    ],
)
def test_users_are_those_of_the_mechanisms_that_are_enabled(
    mechanisms: str, is_private: bool, said: str, user: str | None
) -> None:
    """X8: with SCRAM no password is sent in plain, so none is taken there."""
    try:
        found = checks(mechanisms).check_header(said, STRANGER, KEPT, is_private=is_private)
    except LoginFailed:
        assert user is None
    else:
        assert user is not None
        assert (found.principal, found.host, found.listener) == (Principal(user), "10.0.0.7", "OUTSIDE")


def test_a_session_ends_as_one_of_sasl_does() -> None:
    """X5, X8; and without the store nobody is told that a password is wrong."""
    found = checks("PLAIN", connections_max_reauth_ms="2000")
    session = found.check_header(basic("set", "secret"), STRANGER, KEPT, is_private=True)
    assert session.until == pytest.approx(ManualClock().boottime() + 2)
    with pytest.raises(Unavailable):
        found.check_header(basic("set", "wrong"), STRANGER, None, is_private=True)


def test_a_clock_that_is_set_a_week_off_neither_ends_nor_prolongs_a_session(tmp_path: Path) -> None:
    """X5, D12: the end of a token is turned into a time that nobody sets when it is taken."""
    clock, now_s = ManualClock(), ManualClock().now_ms() / 1000
    key = ec.generate_private_key(ec.SECP256R1())
    keys = tmp_path / "keys.json"
    keys.write_text(json.dumps({"keys": [{**json.loads(ECAlgorithm.to_jwk(key.public_key())), "kid": "one"}]}))
    words = {
        "sasl.enabled.mechanisms": "OAUTHBEARER,SCRAM-SHA-512",
        "sasl.server.max.receive.size": "1000",
        "connections.max.reauth.ms": "600000",
        "sasl.oauthbearer.jwks.endpoint.url": f"file://{keys}",
    }
    made = LoginChecks(lambda _: words, clock, SeededChance(1))
    token = jwt.encode({"sub": "alice", "iat": now_s, "exp": now_s + 60}, key, "ES256", {"kid": "one"})
    by_token = made.check_header(f"Bearer {token}", STRANGER, KEPT, is_private=True)
    by_password = made.check_header(basic("kept", "p:w"), STRANGER, KEPT, is_private=True)
    for seconds in (7 * 86_400, -14 * 86_400):
        clock.jump(seconds)
        assert not by_token.is_over(clock.boottime())
        assert not by_password.is_over(clock.boottime())
    clock.advance(59)
    assert not by_token.is_over(clock.boottime())
    clock.suspend(2)
    assert by_token.is_over(clock.boottime())
    clock.advance(600)
    assert by_password.is_over(clock.boottime())
