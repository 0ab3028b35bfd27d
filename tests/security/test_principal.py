"""Principals, sessions, hosts."""

from __future__ import annotations

import pytest

from holdfast.errors import Rejected
from holdfast.security.principal import ANONYMOUS, Principal, Session, host_of


@pytest.mark.parametrize("name", ["alice", "CN=a,OU=b", "a:b", "ANONYMOUS", "*", " "])
def test_a_principal_is_read_back(name: str) -> None:
    """X7: a name may be anything, also a certificate's."""
    assert Principal.parse(str(Principal(name))) == Principal(name)
    assert str(ANONYMOUS) == "User:ANONYMOUS"


@pytest.mark.parametrize("text", ["", "alice", "User:", "Group:a", "user:a", ":a"])
def test_only_users_exist(text: str) -> None:
    """X7: others are refused with a sentence."""
    with pytest.raises(Rejected, match="User:"):
        Principal.parse(text)


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("10.1.2.3", "10.1.2.3"),
        ("::ffff:10.1.2.3", "10.1.2.3"),
        ("0:0:0:0:0:0:0:1", "::1"),
        ("2001:DB8::0:1", "2001:db8::1"),
        ("fe80::1%eth0", "fe80::1"),
        ("*", "*"),
        ("some.host", "some.host"),
    ],
)
def test_an_address_has_one_form(text: str, host: str) -> None:
    """X7: Java writes IPv6 in full; a rule for it must match."""
    assert host_of(text) == host


def test_a_session_ends() -> None:
    """X5: at its end, not behind it."""
    session = Session(Principal("a"), "127.0.0.1", "SASL", "PLAIN", until=10.0)
    assert [session.is_over(at) for at in (9.9, 10.0, 11.0)] == [False, True, True]
    assert not Session(ANONYMOUS, "127.0.0.1", "PLAINTEXT").is_over(1e300)
