"""Tokens of OAUTHBEARER, and the keys they are checked against."""

from __future__ import annotations

import base64
import hmac
import json
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import given, settings
from hypothesis import strategies as st
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

from holdfast.io.clock import ManualClock
from holdfast.security.errors import BadSetting, LoginFailed
from holdfast.security.logins.jwt import (
    PREFIX,
    URL,
    Token,
    TokenKeys,
    TokenSettings,
    check_token,
    encode_bearer,
    fetch_keys,
    parse_bearer,
    parse_keys,
)
from holdfast.security.secret import Secret

NOW = 1_700_000_000
RSA = rsa.generate_private_key(65537, 2048)
P256 = ec.generate_private_key(ec.SECP256R1())
P521 = ec.generate_private_key(ec.SECP521R1())
ED = ed25519.Ed25519PrivateKey.generate()
SETTINGS = TokenSettings("https://idp.example/keys", ("holdfast", "other"), "https://idp.example")
CLAIMS: dict[str, Any] = {
    "sub": "alice",
    "exp": NOW + 600,
    "iat": NOW - 10,
    "aud": "holdfast",
    "iss": "https://idp.example",
    "scope": "read write",
}


def _jwks(*kids: str) -> bytes:
    keys = {
        "rsa": json.loads(RSAAlgorithm.to_jwk(RSA.public_key())),
        "p256": json.loads(ECAlgorithm.to_jwk(P256.public_key())),
        "p521": json.loads(ECAlgorithm.to_jwk(P521.public_key())),
        "ed": json.loads(OKPAlgorithm.to_jwk(ED.public_key())),
    }
    return json.dumps({"keys": [{**keys[kid], "kid": kid} for kid in kids or keys]}).encode()


KEYS = parse_keys(_jwks())


def _token(key: Any = RSA, kid: str | None = "rsa", alg: str = "RS256", **changes: Any) -> Secret:
    claims = {name: value for name, value in {**CLAIMS, **changes}.items() if value is not None}
    return Secret(jwt.encode(claims, key, alg, {"kid": kid} if kid else None))


def _check(token: Secret, **changes: Any) -> Token:
    return check_token(token, SETTINGS, KEYS.get, NOW, **changes)


@pytest.mark.parametrize(
    ("key", "kid", "alg"),
    [(RSA, "rsa", each) for each in ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")]
    + [(P256, "p256", "ES256"), (P521, "p521", "ES512"), (ED, "ed", "EdDSA")],
)
def test_a_token_that_is_right_says_who_and_until_when(key: Any, kid: str, alg: str) -> None:
    """X4, X5: every algorithm that is offered."""
    assert _check(_token(key, kid, alg)) == Token("alice", NOW + 600, ("read", "write"))


def _none(header: dict[str, Any]) -> Secret:
    parts = [json.dumps(header).encode(), json.dumps(CLAIMS).encode(), b""]
    return Secret(".".join(base64.urlsafe_b64encode(each).decode().rstrip("=") for each in parts))


def _hmac_with_the_public_key() -> Secret:
    """The known trick: the key that everybody can fetch, taken for one that is shared."""
    pem = RSA.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    head = base64.urlsafe_b64encode(b'{"alg":"HS256","kid":"rsa"}').rstrip(b"=")
    body = head + b"." + base64.urlsafe_b64encode(json.dumps(CLAIMS).encode()).rstrip(b"=")
    signed = body + b"." + base64.urlsafe_b64encode(hmac.digest(pem, body, "sha256")).rstrip(b"=")
    return Secret(signed.decode())


@pytest.mark.parametrize(
    "token",
    [
        _none({"alg": "none", "kid": "rsa"}),
        _none({"alg": "None", "kid": "rsa"}),
        _none({"kid": "rsa"}),
        _hmac_with_the_public_key(),
        _token(rsa.generate_private_key(65537, 2048)),
        _token(P256, "rsa", "ES256"),
        _token(kid=None),
        _token(kid="unknown"),
        Secret(_token().reveal()[:-8]),
        Secret("no.token.atall"),
        Secret("x"),
        Secret("é.é.é"),
    ],
)
def test_a_token_nobody_signed_fails(token: Secret) -> None:
    """X4: `alg: none`, HMAC with the public key, another key, no key; and the error does not hold the token."""
    with pytest.raises(LoginFailed) as caught:
        _check(token)
    assert token.reveal() not in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"exp": NOW - 31}, "expired"),
        ({"exp": None}, "no exp"),
        ({"exp": "soon"}, "exp|Error"),
        ({"iat": None}, "no iat"),
        ({"iat": NOW + 31}, "future"),
        ({"nbf": NOW + 31}, "future"),
        ({"exp": NOW - 10, "iat": NOW - 5}, "ends before"),
        ({"sub": None}, "no sub"),
        ({"sub": " "}, "no sub"),
        ({"aud": None}, "another audience"),
        ({"aud": "elsewhere"}, "another audience"),
        ({"aud": ["elsewhere"]}, "another audience"),
        ({"iss": None}, "another issuer"),
        ({"iss": "https://idp.example/"}, "another issuer"),
    ],
)
def test_what_a_token_must_say(changes: dict[str, Any], why: str) -> None:
    """X4: times, subject, audience, issuer."""
    with pytest.raises(LoginFailed, match=why):
        _check(_token(**changes))


def test_clocks_may_differ_a_little() -> None:
    """X4: by the skew that is set, and no more."""
    assert _check(_token(exp=NOW - 29, iat=NOW - 600)).user == "alice"
    assert _check(_token(iat=NOW + 29)).user == "alice"
    assert _check(_token(aud=["x", "other"])).user == "alice"


def test_whom_a_client_wants_to_be() -> None:
    """X4: the one the token names."""
    assert _check(_token(), wanted="alice").user == "alice"
    with pytest.raises(LoginFailed, match="act as another"):
        _check(_token(), wanted="bob")


def test_what_clients_send_is_read() -> None:
    """X4, X11: with a name and extensions, or without."""
    assert parse_bearer(encode_bearer(Secret("a.b.c"))) == (Secret("a.b.c"), "")
    assert parse_bearer(b"n,a=alice,\x01auth=Bearer a.b.c\x01x=y\x01\x01") == (Secret("a.b.c"), "alice")


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=60) | st.text(alphabet="n,=\x01auth Berx.", max_size=40).map(str.encode))
def test_any_bytes_fail_cleanly(data: bytes) -> None:
    """X4: a fuzzed login raises LoginFailed and nothing else."""
    with pytest.raises(LoginFailed):
        _check(parse_bearer(data)[0])


def test_keys_that_are_not_for_signatures_are_left_out() -> None:
    """X4: shared keys, weak ones, those for encryption, those without a name."""
    weak = json.loads(RSAAlgorithm.to_jwk(rsa.generate_private_key(65537, 1024).public_key()))
    good = json.loads(_jwks("rsa"))["keys"][0]
    rows = [
        {"kty": "oct", "k": "c2VjcmV0", "kid": "a"},
        {**weak, "kid": "b"},
        {**good, "kid": "c", "use": "enc"},
        {**good, "kid": ""},
        {**good, "kid": "d", "alg": "HS256"},
        {**good, "kid": "e", "alg": "PS256"},
        "text",
        {"kty": "EC", "crv": "P-256", "x": "AA", "y": "AA", "kid": "f"},
    ]
    found = parse_keys(json.dumps({"keys": rows}).encode())
    assert {kid: each.algorithms for kid, each in found.items()} == {"e": ("PS256",)}
    for broken in (b"", b"[]", b"{}", b'{"keys":{}}', json.dumps({"keys": [{}] * 1001}).encode()):
        with pytest.raises(ValueError, match=r"no set of|Expecting value"):
            parse_keys(broken)


class _Idp:
    """An issuer that can be away, and changes its keys."""

    def __init__(self) -> None:
        self.kids = ["rsa"]
        self.is_away = False
        self.asked = 0

    def fetch(self, url: str) -> bytes:
        self.asked += 1
        if self.is_away:
            raise OSError("nobody answers")
        return _jwks(*self.kids)


def test_unknown_keys_are_fetched_but_not_too_often() -> None:
    """X4: at most every ten seconds, however many tokens name a key that is not there."""
    idp, clock = _Idp(), ManualClock()
    keys = TokenKeys(SETTINGS, clock, idp.fetch)
    assert keys.find("rsa") is not None
    idp.kids = ["rsa", "p256"]
    for _ in range(100):
        assert keys.find("p256") is None
    assert idp.asked == 1
    clock.advance(10)
    assert keys.find("p256") is not None
    for _ in range(100):
        assert keys.find("never") is None
    assert idp.asked == 2


def test_a_set_that_cannot_be_fetched_is_kept_for_a_day() -> None:
    """X4: and a key that was withdrawn is gone with the next set."""
    idp, clock = _Idp(), ManualClock()
    keys = TokenKeys(SETTINGS, clock, idp.fetch)
    assert keys.find("rsa") is not None
    idp.is_away = True
    clock.advance(23 * 3600)
    assert keys.find("rsa") is not None
    assert "nobody answers" in keys.problem
    clock.advance(2 * 3600)
    with pytest.raises(LoginFailed, match="for a day"):
        keys.find("rsa")
    idp.is_away, idp.kids = False, ["p256"]
    clock.advance(10)
    assert keys.find("rsa") is None
    assert keys.find("p256") is not None


def test_settings_in_kafkas_words(tmp_path: Path) -> None:
    """X4: https or a file; plain http is refused."""
    words = {URL: "https://i/k", PREFIX + "expected.audience": "a, b", PREFIX + "clock.skew.seconds": "5"}
    made = TokenSettings.parse(words)
    assert (made.audience, made.skew_s, made.subject_claim) == (("a", "b"), 5, "sub")
    for bad in ({URL: "http://i/k"}, {}, {**words, PREFIX + "clock.skew.seconds": "-1"}):
        with pytest.raises(BadSetting):
            TokenSettings.parse(bad)
    path = tmp_path / "keys.json"
    path.write_bytes(_jwks("ed"))
    assert parse_keys(fetch_keys(path.as_uri())).keys() == {"ed"}
    with pytest.raises(OSError, match=r"none"):
        fetch_keys((tmp_path / "none").as_uri())
