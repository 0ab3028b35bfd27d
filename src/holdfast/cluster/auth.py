"""Users and rules of a cluster, as one frozen value. Every change is a step that can be repeated elsewhere.

Of a password only what SCRAM needs to check it is kept: salt, iterations, stored key, server key.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import new as new_hash
from types import MappingProxyType
from typing import Any, Final

from holdfast.cluster.errors import BadUser, TooManyRules, TooManyUsers, UserUnknown
from holdfast.cluster.version_log import Step
from holdfast.security.logins.scram import ITERATIONS_MAX, ITERATIONS_MIN, MECHANISMS, NAME_SIZE_MAX, Shape, Verifier
from holdfast.security.rules import BadRule, Rule

USERS_MAX: Final = 20_000  # Each with all of its mechanisms.
RULES_MAX: Final = 50_000
TEXT_SIZE_MAX: Final = 1024  # Bytes of a name, a principal or a host in a rule.
SALT_SIZE_MAX: Final = 256

Verifiers = Mapping[str, Verifier]  # By mechanism.


@dataclass(frozen=True, slots=True)
class Auth:
    """One version of users and rules. `security.rules.Rules` makes of the rules what `may` looks them up in."""

    cluster_id: str
    version: int = -1  # Nothing was written yet.
    users: Mapping[str, Verifiers] = field(default_factory=dict)  # By name.
    rules: frozenset[Rule] = frozenset()
    secret: bytes = field(default=b"", repr=False)  # Of it the salts of users who do not exist are made.
    by_mechanism: Mapping[str, tuple[Shape, ...]] = field(default_factory=dict, repr=False, compare=False)

    def verifier(self, user: str, mechanism: str) -> Verifier | None:
        return self.users.get(user, {}).get(mechanism)

    def shapes(self, mechanism: str) -> tuple[Shape, ...]:
        """Those of all verifiers, each once."""
        return self.by_mechanism.get(mechanism, ())

    def to_body(self) -> dict[str, Any]:
        verifiers = ((name, each) for name, by_mechanism in self.users.items() for each in by_mechanism.values())
        return {
            "secret": self.secret.hex(),
            "users": [set_user(name, each)[1:] for name, each in verifiers],
            "rules": [rule.to_row() for rule in sorted(self.rules)],
        }

    @classmethod
    def from_body(cls, cluster_id: str, version: int, body: dict[str, Any]) -> Auth:
        steps: list[Step] = [["secret", body["secret"]]]
        steps += [["user", *row] for row in body["users"]]
        steps += [["rule", row] for row in body["rules"]]
        return apply_auth(cls(cluster_id, version), steps)


def set_user(name: str, verifier: Verifier) -> Step:
    """Make a user, or give one another password."""
    salt, stored, server = (_text(each) for each in (verifier.salt, verifier.stored_key, verifier.server_key))
    return ["user", name, verifier.mechanism, salt, verifier.iterations, stored, server]


def remove_user(name: str, mechanism: str) -> Step:
    return ["no_user", name, mechanism]


def add_rule(rule: Rule) -> Step:
    """One that is there already changes nothing."""
    return ["rule", rule.to_row()]


def remove_rule(rule: Rule) -> Step:
    """One that is not there changes nothing."""
    return ["no_rule", rule.to_row()]


def set_secret(secret: bytes) -> Step:
    """The first one stays for ever."""
    return ["secret", secret.hex()]


@dataclass(slots=True)
class _Draft:
    """What steps change, before it is frozen: many of them cost one copy."""

    users: dict[str, dict[str, Verifier]]
    rules: set[Rule]
    secret: bytes = field(repr=False)

    def user(self, name: str, mechanism: str, salt: str, iterations: int, stored_key: str, server_key: str) -> None:
        made = Verifier(mechanism, _bytes(salt), iterations, _bytes(stored_key), _bytes(server_key))
        _check_user(name, made)
        self.users[name] = {**self.users.get(name, {}), mechanism: made}
        if len(self.users) > USERS_MAX:
            raise TooManyUsers(USERS_MAX)

    def no_user(self, name: str, mechanism: str) -> None:
        if mechanism not in self.users.get(name, {}):
            raise UserUnknown(name, mechanism)
        left = {each: kept for each, kept in self.users[name].items() if each != mechanism}
        if left:
            self.users[name] = left
        else:
            del self.users[name]

    def rule(self, row: list[Any]) -> None:
        made = Rule.from_row(row)
        check_rule(made)
        self.rules.add(made)
        if len(self.rules) > RULES_MAX:
            raise TooManyRules(RULES_MAX)

    def no_rule(self, row: list[Any]) -> None:
        self.rules.discard(Rule.from_row(row))

    def keep_secret(self, text: str) -> None:
        self.secret = self.secret or bytes.fromhex(text)


_STEPS: Final[Mapping[str, Callable[..., None]]] = {
    "user": _Draft.user,
    "no_user": _Draft.no_user,
    "rule": _Draft.rule,
    "no_rule": _Draft.no_rule,
    "secret": _Draft.keep_secret,
}


def apply_auth(auth: Auth, steps: Sequence[Step]) -> Auth:
    """Users and rules after all of the steps. Raises when one does not fit."""
    draft = _Draft({name: dict(each) for name, each in auth.users.items()}, set(auth.rules), auth.secret)
    for kind, *content in steps:
        _STEPS[kind](draft, *content)
    users = MappingProxyType({name: MappingProxyType(each) for name, each in draft.users.items()})
    shapes = _shapes(draft.users)
    return replace(auth, users=users, rules=frozenset(draft.rules), secret=draft.secret, by_mechanism=shapes)


def _shapes(users: Mapping[str, Verifiers]) -> Mapping[str, tuple[Shape, ...]]:
    found: dict[str, set[Shape]] = {}
    for verifiers in users.values():
        for each in verifiers.values():
            found.setdefault(each.mechanism, set()).add(Shape(len(each.salt), each.iterations))
    return {mechanism: tuple(sorted(each)) for mechanism, each in found.items()}


def check_rule(rule: Rule) -> None:
    """Raises BadRule."""
    if max(len(each.encode()) for each in (rule.name, str(rule.principal), rule.host)) > TEXT_SIZE_MAX:
        raise BadRule(f"no part of a rule has more than {TEXT_SIZE_MAX} bytes")


def _check_user(name: str, made: Verifier) -> None:
    if not 0 < len(name.encode()) <= NAME_SIZE_MAX:
        raise BadUser(name[:80], f"a name has 1 to {NAME_SIZE_MAX} bytes")
    if made.mechanism not in MECHANISMS:
        raise BadUser(name, f"there is no mechanism {made.mechanism!r}: there are {', '.join(MECHANISMS)}")
    if not ITERATIONS_MIN <= made.iterations <= ITERATIONS_MAX:
        raise BadUser(name, f"{made.iterations} iterations are not between {ITERATIONS_MIN} and {ITERATIONS_MAX}")
    if not 0 < len(made.salt) <= SALT_SIZE_MAX:
        raise BadUser(name, f"a salt has 1 to {SALT_SIZE_MAX} bytes")
    size = new_hash(MECHANISMS[made.mechanism]).digest_size
    if (len(made.stored_key), len(made.server_key)) != (size, size):
        raise BadUser(name, f"keys of {made.mechanism} have {size} bytes")


def _text(data: bytes) -> str:
    return b64encode(data).decode()


def _bytes(text: str) -> bytes:
    return b64decode(text, validate=True)
