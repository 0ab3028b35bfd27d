"""Rules (Kafka's ACLs) as values, and `may`: the one function that says what somebody may do.

What Kafka's StandardAuthorizer allows is allowed here, what it refuses is refused:

1. A super user may everything, whatever rules say.
2. A deny that matches wins, wherever it stands.
3. Otherwise one allow that matches suffices.
4. Otherwise a resource that no rule names is open if `allow.everyone.if.no.acl.found` says so; all others are closed.

A rule names a resource literally, by a prefix, or all of its type (`*`, literal); a principal or `User:*`; a host by
its address, or `*`. Allowed Read, Write, Delete or Alter imply Describe, allowed AlterConfigs implies DescribeConfigs;
a deny implies nothing. `may` is a look-up: by type, then name, then each length that a prefix has, then principal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Final, NamedTuple

from holdfast.errors import Rejected
from holdfast.security.principal import Principal, Session, host_of

ALL_NAMES: Final = "*"
ALL_HOSTS: Final = "*"
EVERYBODY: Final = Principal("*")
CLUSTER_NAME: Final = "kafka-cluster"


class ResourceType(IntEnum):
    """What a right is about. The numbers are Kafka's."""

    ANY = 1  # In filters only.
    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7


class PatternType(IntEnum):
    """How a rule's name is meant. The numbers are Kafka's."""

    ANY = 1  # In filters only, as MATCH: every rule that has a say about a name.
    MATCH = 2
    LITERAL = 3
    PREFIXED = 4


class Operation(IntEnum):
    """What is done. The numbers are Kafka's."""

    ANY = 1  # In filters only.
    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12
    CREATE_TOKENS = 13
    DESCRIBE_TOKENS = 14
    TWO_PHASE_COMMIT = 15


class Permission(IntEnum):
    """The numbers are Kafka's."""

    ANY = 1  # In filters only.
    DENY = 2
    ALLOW = 3


# What can be done to a resource at all: what clients are shown as "authorized operations" is among these.
SUPPORTED: Final[Mapping[ResourceType, tuple[Operation, ...]]] = {
    ResourceType.TOPIC: (
        Operation.READ,
        Operation.WRITE,
        Operation.CREATE,
        Operation.DELETE,
        Operation.ALTER,
        Operation.DESCRIBE,
        Operation.DESCRIBE_CONFIGS,
        Operation.ALTER_CONFIGS,
    ),
    ResourceType.GROUP: (
        Operation.READ,
        Operation.DELETE,
        Operation.DESCRIBE,
        Operation.DESCRIBE_CONFIGS,
        Operation.ALTER_CONFIGS,
    ),
    ResourceType.CLUSTER: (
        Operation.CREATE,
        Operation.ALTER,
        Operation.DESCRIBE,
        Operation.CLUSTER_ACTION,
        Operation.DESCRIBE_CONFIGS,
        Operation.ALTER_CONFIGS,
        Operation.IDEMPOTENT_WRITE,
    ),
    ResourceType.TRANSACTIONAL_ID: (Operation.WRITE, Operation.DESCRIBE, Operation.TWO_PHASE_COMMIT),
    ResourceType.DELEGATION_TOKEN: (Operation.DESCRIBE,),
    ResourceType.USER: (Operation.CREATE_TOKENS, Operation.DESCRIBE_TOKENS),
}

_IMPLIED: Final = {
    Operation.READ: Operation.DESCRIBE,
    Operation.WRITE: Operation.DESCRIBE,
    Operation.DELETE: Operation.DESCRIBE,
    Operation.ALTER: Operation.DESCRIBE,
    Operation.ALTER_CONFIGS: Operation.DESCRIBE_CONFIGS,
}
_EVERY_BIT: Final = -1


class BadRule(Rejected):
    """A rule that says nothing, or what nobody could obey."""


class Resource(NamedTuple):
    """What something is done to."""

    kind: ResourceType
    name: str


CLUSTER: Final = Resource(ResourceType.CLUSTER, CLUSTER_NAME)


@dataclass(frozen=True, slots=True, order=True)
class Rule:
    """One ACL."""

    kind: ResourceType
    name: str
    pattern: PatternType
    principal: Principal
    host: str
    operation: Operation
    permission: Permission

    def __post_init__(self) -> None:
        if ResourceType.ANY is self.kind or self.pattern not in (PatternType.LITERAL, PatternType.PREFIXED):
            raise BadRule(f"a rule names one kind of resource, and LITERAL or PREFIXED, not {self.pattern.name}")
        if Operation.ANY is self.operation or Permission.ANY is self.permission:
            raise BadRule("a rule names an operation, or ALL, and says ALLOW or DENY; ANY is for filters")
        if not self.name:
            raise BadRule("a rule names a resource; all of them are *")
        if not self.host:
            raise BadRule("a rule names a host by its address; all of them are *")
        if self.kind is ResourceType.CLUSTER and self.name not in (CLUSTER_NAME, ALL_NAMES):
            raise BadRule(f"the cluster's name in rules is {CLUSTER_NAME}, not {self.name!r}")

    def __str__(self) -> str:
        what = f"{self.kind.name}:{self.pattern.name}:{self.name}"
        return f"{self.permission.name} {self.principal} {self.operation.name} {what} from {self.host}"

    def to_row(self) -> list[str]:
        return [
            self.kind.name,
            self.name,
            self.pattern.name,
            str(self.principal),
            self.host,
            self.operation.name,
            self.permission.name,
        ]

    @classmethod
    def from_row(cls, row: list[Any]) -> Rule:
        kind, name, pattern, principal, host, operation, permission = row
        who = Principal.parse(principal)
        return cls(
            ResourceType[kind], name, PatternType[pattern], who, host, Operation[operation], Permission[permission]
        )


@dataclass(frozen=True, slots=True)
class RuleFilter:
    """Which rules are meant. None and ANY match all; texts match exactly, but for names under MATCH."""

    kind: ResourceType = ResourceType.ANY
    name: str | None = None
    pattern: PatternType = PatternType.ANY
    principal: str | None = None
    host: str | None = None
    operation: Operation = Operation.ANY
    permission: Permission = Permission.ANY

    def matches(self, rule: Rule) -> bool:
        return (
            self.kind in (ResourceType.ANY, rule.kind)
            and self.pattern in (PatternType.ANY, PatternType.MATCH, rule.pattern)
            and self._matches_name(rule)
            and (self.principal is None or self.principal == str(rule.principal))
            and (self.host is None or self.host == rule.host)
            and self.operation in (Operation.ANY, rule.operation)
            and self.permission in (Permission.ANY, rule.permission)
        )

    def _matches_name(self, rule: Rule) -> bool:
        if self.name is None or self.name == rule.name:
            return True
        if self.pattern is not PatternType.MATCH:
            return False
        return self.name.startswith(rule.name) if rule.pattern is PatternType.PREFIXED else rule.name == ALL_NAMES


class _Entry(NamedTuple):
    """A rule as it is looked up."""

    host: str  # As `host_of` writes it.
    grants: int  # The operations it is about, and those implied, as bits.
    is_deny: bool
    rule: Rule


_ByPrincipal = dict[str, list[_Entry]]  # By the principal's name. In tables only: nobody changes it once it is made.


@dataclass(slots=True)
class _Table:
    """The rules about one type of resource."""

    literal: dict[str, _ByPrincipal] = field(default_factory=dict)  # By name; `*` is all.
    prefixed: dict[int, dict[str, _ByPrincipal]] = field(default_factory=dict)  # By the prefix's length, then itself.

    def add(self, rule: Rule) -> None:
        by_name = self.literal
        if rule.pattern is PatternType.PREFIXED:
            by_name = self.prefixed.setdefault(len(rule.name), {})
        entry = _Entry(host_of(rule.host), _grants(rule), rule.permission is Permission.DENY, rule)
        by_name.setdefault(rule.name, {}).setdefault(rule.principal.name, []).append(entry)

    def about(self, name: str) -> Iterator[_ByPrincipal]:
        """Everything that has a say about a name."""
        exact = self.literal.get(name)
        if exact is not None:
            yield exact
        everything = self.literal.get(ALL_NAMES)
        if everything is not None and name != ALL_NAMES:
            yield everything
        for length, by_prefix in self.prefixed.items():
            found = by_prefix.get(name[:length])
            if found is not None:
                yield found


class Verdict(NamedTuple):
    """What was decided, and by what."""

    is_allowed: bool
    by: Rule | str  # A rule, or what stands in its place.


_SUPER_USER: Final = Verdict(is_allowed=True, by="super user")
_OPEN: Final = Verdict(is_allowed=True, by="no rule names it")
_CLOSED: Final = Verdict(is_allowed=False, by="no rule allows it")
_NO_TABLE: Final = _Table()


class Rules:
    """All rules of a cluster, and those whom they do not bind. Never changes; it is made anew, in a thread if many."""

    __slots__ = ("_tables", "is_open", "rules", "super_users")

    def __init__(
        self, rules: Iterable[Rule] = (), super_users: Iterable[Principal] = (), *, is_open: bool = False
    ) -> None:
        """`is_open`: `allow.everyone.if.no.acl.found`."""
        self.rules = frozenset(rules)
        self.super_users = frozenset(super_users)
        self.is_open = is_open
        self._tables: dict[ResourceType, _Table] = {}
        for rule in self.rules:
            self._tables.setdefault(rule.kind, _Table()).add(rule)

    def __repr__(self) -> str:
        return f"Rules({len(self.rules)} rules, {len(self.super_users)} super users)"

    def judge(self, session: Session, operation: Operation, resource: Resource) -> Verdict:
        """Whether it may be done, and which rule says so."""
        if session.principal in self.super_users:
            return _SUPER_USER
        bit, host = 1 << operation, session.host
        who = (session.principal.name, EVERYBODY.name) if session.principal != EVERYBODY else (EVERYBODY.name,)
        allowed: Rule | None = None
        is_named = False
        for by_principal in self._tables.get(resource.kind, _NO_TABLE).about(resource.name):
            is_named = True
            for name in who:
                for entry in by_principal.get(name, ()):
                    if not entry.grants & bit or entry.host not in (ALL_HOSTS, host):
                        continue
                    if entry.is_deny:
                        return Verdict(is_allowed=False, by=entry.rule)
                    allowed = entry.rule
        if allowed is not None:
            return Verdict(is_allowed=True, by=allowed)
        return _OPEN if self.is_open and not is_named else _CLOSED

    def entries(self, session: Session, operation: Operation, kind: ResourceType) -> Iterator[_Entry]:
        """The rules of a type that name this session and exactly this operation, or all."""
        table = self._tables.get(kind, _NO_TABLE)
        who = {session.principal.name, EVERYBODY.name}
        for by_name in (table.literal, *table.prefixed.values()):
            for by_principal in by_name.values():
                for name in who:
                    for entry in by_principal.get(name, ()):
                        is_meant = entry.rule.operation in (operation, Operation.ALL)
                        if is_meant and entry.host in (ALL_HOSTS, session.host):
                            yield entry


def may(rules: Rules, session: Session, operation: Operation, resource: Resource) -> bool:
    """Whether somebody may do something to a resource. Every question is asked here."""
    return rules.judge(session, operation, resource).is_allowed


def may_any(rules: Rules, session: Session, operation: Operation, kind: ResourceType) -> bool:
    """Whether there can be a resource of the type to which somebody may do it: what an idempotent producer needs.

    As Kafka's `authorizeByResourceType`: a name nobody has is asked first (super users, and clusters without rules);
    then an allow counts unless a deny covers all of it: the same name, or a prefix of it.
    """
    if may(rules, session, operation, Resource(kind, "hardcode")):
        return True
    allowed: list[Rule] = []
    names: set[str] = set()
    prefixes: set[str] = set()
    for entry in rules.entries(session, operation, kind):
        rule = entry.rule
        if not entry.is_deny:
            allowed.append(rule)
        elif rule.pattern is PatternType.PREFIXED:
            prefixes.add(rule.name)
        elif rule.name == ALL_NAMES:
            return False
        else:
            names.add(rule.name)
    return any(_is_left(rule, names, prefixes) for rule in allowed)


def _is_left(allowed: Rule, names: set[str], prefixes: set[str]) -> bool:
    if allowed.pattern is PatternType.LITERAL:
        if allowed.name == ALL_NAMES:
            return True
        if allowed.name in names:
            return False
    return not any(allowed.name[:end] in prefixes for end in range(1, len(allowed.name) + 1))


def authorized_operations(rules: Rules, session: Session, resource: Resource) -> int:
    """What clients are told they may do to a resource, as Kafka's bits."""
    allowed = (each for each in SUPPORTED[resource.kind] if may(rules, session, each, resource))
    return sum(1 << each for each in allowed)


def _grants(rule: Rule) -> int:
    if rule.operation is Operation.ALL:
        return _EVERY_BIT
    bits = 1 << rule.operation
    implied = _IMPLIED.get(rule.operation)
    if implied is not None and rule.permission is Permission.ALLOW:
        bits |= 1 << implied
    return bits
