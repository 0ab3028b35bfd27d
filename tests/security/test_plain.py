"""PLAIN, and the settings that hold its passwords."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.security.errors import BadSetting, LoginFailed
from holdfast.security.logins.jaas import parse_jaas
from holdfast.security.logins.plain import PlainClaim, check_plain, encode_plain, parse_plain
from holdfast.security.logins.scram import Verifier, fake_verifier, make_verifier
from holdfast.security.secret import Secret

MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"
STORED = make_verifier("SCRAM-SHA-256", Secret("pw"), b"salt")
FAKE = fake_verifier("SCRAM-SHA-256", "x", b"secret")
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=12)


@settings(deadline=None, max_examples=50)
@given(TEXTS, TEXTS)
def test_what_a_client_says_is_read(user: str, password: str) -> None:
    """X4, X11: any name, any password."""
    assert parse_plain(encode_plain(user, Secret(password))) == PlainClaim(user, Secret(password))
    assert "hunter2" not in repr(parse_plain(encode_plain(user, Secret("hunter2"))))


@pytest.mark.parametrize("token", [b"", b"\0\0", b"\0a\0", b"\0\0b", b"a\0b", b"x\0a\0b", b"\0a\0b\0c", b"\0a\0\xff"])
def test_a_message_that_is_none_fails(token: bytes) -> None:
    """X4: also one that names a second user to act as."""
    with pytest.raises(LoginFailed):
        parse_plain(token)


@pytest.mark.parametrize(
    ("user", "password", "known", "is_in"),
    [
        ("root", "in settings", None, True),
        ("root", "pw", STORED, False),  # Settings come first.
        ("alice", "pw", STORED, True),
        ("alice", "PW", STORED, False),
        ("nobody", "pw", None, False),
    ],
)
def test_settings_first_then_the_stored_users(user: str, password: str, known: Verifier | None, is_in: bool) -> None:
    """X4: one set of users for PLAIN and SCRAM."""
    claim = PlainClaim(user, Secret(password))
    if is_in:
        check_plain(claim, {"root": Secret("in settings")}, known, FAKE)
    else:
        with pytest.raises(LoginFailed):
            check_plain(claim, {"root": Secret("in settings")}, known, FAKE)


@dataclass(frozen=True, slots=True)
class _Counted(Verifier):
    """How often a password was put through."""

    times: list[int] = field(default_factory=list)

    def accepts(self, password: Secret) -> bool:
        self.times.append(1)
        return Verifier.accepts(self, password)


def _counted(of: Verifier, times: list[int]) -> _Counted:
    return _Counted(of.mechanism, of.salt, of.iterations, of.stored_key, of.server_key, times)


@pytest.mark.parametrize(("user", "is_stored"), [("root", False), ("alice", True), ("nobody", False)])
def test_every_failure_costs_as_much(user: str, is_stored: bool) -> None:
    """X4: names are not told apart by time: each failure has put the password through once."""
    times: list[int] = []
    known = _counted(STORED, times) if is_stored else None
    with pytest.raises(LoginFailed):
        check_plain(PlainClaim(user, Secret("no")), {"root": Secret("r")}, known, _counted(FAKE, times))
    assert times == [1]


def test_kafkas_settings_are_read() -> None:
    """X4: user_NAME of a server, username and password of a client; quotes and backslashes inside."""
    server = parse_jaas(f'{MODULE} required\n  username="a" user_alice="p w\\"=;\\\\" user_b-c=plain;')
    assert server.mechanism == "PLAIN"
    assert server.users == {"alice": Secret('p w"=;\\'), "b-c": Secret("plain")}
    assert server.options["username"] == Secret("a")
    assert "p w" not in repr(server)
    scram = parse_jaas("org.apache.kafka.common.security.scram.ScramLoginModule required;")
    assert (scram.mechanism, scram.options) == ("SCRAM", {})


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "semicolon"),
        (f'{MODULE} required user_a="hunter2"', "semicolon"),
        ("com.example.LdapLoginModule required;", "no login module com.example.LdapLoginModule"),
        ('"hunter2" required user_a="1";', "does not begin with a login module"),
        ("hunter2 required;", "does not begin with a login module"),
        (f'{MODULE} "hunter2" required;', "comes `required`"),
        (f"{MODULE} maybe;", "required"),
        (f'{MODULE} required user_a="hunter2" user_a="hunter2";', "user_a is there twice"),
        (f'{MODULE} required user_a "hunter2";', "option 1"),
        (f'{MODULE} required user_a="1" user_b="hunter2;', "fits nowhere"),
        (f"{MODULE} required user_a=hunter2!;", "double quotes"),
        (f"{MODULE} required; {MODULE} required;", "option"),
    ],
)
def test_what_is_written_wrongly_is_said_without_a_secret(text: str, why: str) -> None:
    """X10: by its place, never by its content."""
    with pytest.raises(BadSetting, match=why) as caught:
        parse_jaas(text)
    assert "hunter2" not in str(caught.value)
