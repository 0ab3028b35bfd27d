"""Users and rules: one frozen value, and its versions in the store."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import holdfast.cluster.auth as auth_module
from holdfast.cluster.auth import Auth, add_rule, apply_auth, remove_rule, remove_user, set_user
from holdfast.cluster.auth_log import AUTH, AuthLog
from holdfast.cluster.errors import BadUser, TooManyRules, TooManyUsers, UserUnknown
from holdfast.errors import Rejected
from holdfast.io.chance import SeededChance
from holdfast.io.clock import ManualClock
from holdfast.io.objects.memory import MemoryObjects
from holdfast.io.store_errors import Damaged, NewerFormat
from holdfast.io.versions import VersionRetries
from holdfast.security.logins.scram import Verifier
from holdfast.security.principal import Principal
from holdfast.security.rules import BadRule, Operation, PatternType, Permission, ResourceType, Rule

SHA_256, SHA_512 = "SCRAM-SHA-256", "SCRAM-SHA-512"


def _verifier(mechanism: str = SHA_256, number: int = 0) -> Verifier:
    size = 32 if mechanism == SHA_256 else 64
    return Verifier(mechanism, b"salt%d" % number, 4096, bytes([number]) * size, bytes([number + 1]) * size)


def _rule(name: str = "orders", user: str = "alice") -> Rule:
    who = Principal(user)
    return Rule(ResourceType.TOPIC, name, PatternType.LITERAL, who, "*", Operation.READ, Permission.ALLOW)


def _log(objects: MemoryObjects, seed: int = 1, cluster: str = "c") -> AuthLog:
    clock = ManualClock()
    return AuthLog(objects, cluster, "w", VersionRetries(clock, SeededChance(seed), clock.advance))


STEPS = st.one_of(
    st.builds(lambda name, mechanism, n: ("user", name, mechanism, n), st.sampled_from("ab"),
              st.sampled_from([SHA_256, SHA_512]), st.integers(0, 3)),
    st.builds(lambda name, mechanism: ("no_user", name, mechanism, 0), st.sampled_from("ab"),
              st.sampled_from([SHA_256, SHA_512])),
    st.builds(lambda name: ("rule", name, "", 0), st.sampled_from("xyz")),
    st.builds(lambda name: ("no_rule", name, "", 0), st.sampled_from("xyz")),
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 1), STEPS), max_size=30), st.booleans())
def test_two_writers_and_a_reader_agree_with_a_model(
    changes: list[tuple[int, tuple[str, str, str, int]]], is_far: bool
) -> None:
    """X6, X7: every change is there once, in one order, for all; also across full versions, and read back anew."""
    objects = MemoryObjects()
    writers = [_log(objects, seed) for seed in (1, 2)]
    if is_far:  # Near a full version.
        for number in range(60):
            writers[0].commit(add_rule(_rule(f"r{number}")))
    users: dict[tuple[str, str], Verifier] = {}
    rules = set(writers[0].value.rules)
    for at, (kind, name, mechanism, number) in changes:
        if kind == "user":
            users[name, mechanism] = _verifier(mechanism, number)
            writers[at].commit(set_user(name, users[name, mechanism]))
        elif kind == "no_user" and (name, mechanism) in users:
            del users[name, mechanism]
            writers[at].commit(remove_user(name, mechanism))
        elif kind == "no_user":
            with pytest.raises(UserUnknown):
                writers[at].commit(remove_user(name, mechanism))
        else:
            (rules.add if kind == "rule" else rules.discard)(_rule(name))
            writers[at].commit((add_rule if kind == "rule" else remove_rule)(_rule(name)))
    for log in (_log(objects, 3), *writers):
        found = log.refresh()
        assert {(name, each): kept for name, by in found.users.items() for each, kept in by.items()} == users
        assert found.rules == rules


def test_steps_of_one_commit_hold_all_or_none() -> None:
    """X6: one that does not fit leaves the others undone."""
    objects = MemoryObjects()
    log = _log(objects)
    with pytest.raises(UserUnknown):
        log.commit(set_user("a", _verifier()), remove_user("b", SHA_256))
    assert not log.refresh().users
    assert not list(objects.list("auth/"))


def test_the_clusters_secret_is_drawn_once_and_stays() -> None:
    """X4: the salts of users who do not exist are the same for every broker, and after every start."""
    objects = MemoryObjects()
    one, other = _log(objects, 1), _log(objects, 2)
    first = one.commit(add_rule(_rule()))
    assert len(first.secret) == 32
    assert other.commit(add_rule(_rule("b"))).secret == first.secret
    assert _log(objects, 3).value.secret == first.secret
    assert first.secret.hex() not in repr(first)


def test_no_key_is_printed_and_no_password_is_kept() -> None:
    """X6, X10: what is stored is salt, iterations, stored key and server key, and no text of it shows them."""
    log = _log(MemoryObjects())
    made = log.commit(set_user("alice", _verifier(SHA_256, 7)))
    assert "\\x07\\x07" not in repr(made)
    assert "alice" in repr(made)


@pytest.mark.parametrize(
    "made",
    [
        replace(_verifier(), mechanism="SCRAM-SHA-1"),
        replace(_verifier(), iterations=4095),
        replace(_verifier(), iterations=16385),
        replace(_verifier(), salt=b""),
        replace(_verifier(), salt=bytes(257)),
        replace(_verifier(), stored_key=b"short"),
        replace(_verifier(), server_key=bytes(64)),
    ],
)
def test_what_cannot_be_kept_of_a_user_is_refused(made: Verifier) -> None:
    """X6: too few iterations, too many, keys of another size."""
    with pytest.raises(BadUser):
        apply_auth(Auth("c"), [set_user("a", made)])


def test_names_and_counts_have_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """X6, X7: every table that a client can fill ends somewhere, and says so."""
    for name in ("", "a" * 1025):
        with pytest.raises(BadUser):
            apply_auth(Auth("c"), [set_user(name, _verifier())])
    with pytest.raises(BadRule):
        apply_auth(Auth("c"), [add_rule(_rule("a" * 1025))])
    monkeypatch.setattr(auth_module, "USERS_MAX", 2)
    monkeypatch.setattr(auth_module, "RULES_MAX", 2)
    full = apply_auth(Auth("c"), [set_user(name, _verifier()) for name in "ab"])
    full = apply_auth(full, [add_rule(_rule(name)) for name in "ab"])
    assert apply_auth(full, [set_user("a", _verifier(SHA_512)), add_rule(_rule("a"))]).version == -1
    with pytest.raises(TooManyUsers, match="2 users"):
        apply_auth(full, [set_user("c", _verifier())])
    with pytest.raises(TooManyRules, match="prefix"):
        apply_auth(full, [add_rule(_rule("c"))])


def test_a_damaged_a_foreign_and_a_newer_version_are_refused() -> None:
    """X7: never taken for an empty list, nor another cluster's for ours."""
    objects = MemoryObjects()
    _log(objects).commit(set_user("a", _verifier()))
    name = "auth/00000000000000000000.json"
    data = objects.get(name)
    with pytest.raises(Rejected, match="belongs to cluster c"):
        _log(objects, cluster="d")
    objects.put(name, [data.replace(b'"format":1', b'"format":9')])
    with pytest.raises(Damaged):
        _log(objects)
    newer = replace(AUTH, format=9)
    objects.put(name, [newer.encode(Auth("c", 0), [], newer.stamp_of(name, data))])
    with pytest.raises(NewerFormat):
        _log(objects)


def test_the_stored_form_is_the_documented_one() -> None:
    """X6: docs/formats/auth.md."""
    objects = MemoryObjects()
    log = _log(objects)
    log.commit(set_user("alice", _verifier(SHA_256, 1)), add_rule(_rule()))
    log.commit(remove_user("alice", SHA_256), remove_rule(_rule()))
    first, second = (json.loads(objects.get(f"auth/{number:020}.json")) for number in (0, 1))
    key, server = "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=", "AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI="
    row = ["TOPIC", "orders", "LITERAL", "User:alice", "*", "READ", "ALLOW"]
    assert first["holdfast"] == "auth"
    assert first["body"]["full"] == {
        "secret": log.value.secret.hex(),
        "users": [["alice", SHA_256, "c2FsdDE=", 4096, key, server]],
        "rules": [row],
    }
    assert second["body"]["steps"] == [["no_user", "alice", SHA_256], ["no_rule", row]]


def test_a_change_is_judged_by_the_newest_version() -> None:
    """X6: what another process has made meanwhile can be removed at once, and what it removed is gone."""
    objects = MemoryObjects()
    one, other = _log(objects, 1), _log(objects, 2)
    one.commit(set_user("a", _verifier()))
    other.commit(remove_user("a", SHA_256))
    with pytest.raises(UserUnknown):
        one.commit(remove_user("a", SHA_256))
