"""What `holdfast acl` means: options of a command line as rules, and as filters of rules."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import product
from typing import Any, TypeVar

from holdfast.errors import Rejected, nearest
from holdfast.security.principal import Principal
from holdfast.security.rules import (
    ALL_HOSTS,
    CLUSTER,
    SUPPORTED,
    Operation,
    PatternType,
    Permission,
    Resource,
    ResourceType,
    Rule,
    RuleFilter,
)

E = TypeVar("E", bound=IntEnum)

_PRODUCER = {
    ResourceType.TOPIC: (Operation.WRITE, Operation.DESCRIBE, Operation.CREATE),
    ResourceType.TRANSACTIONAL_ID: (Operation.WRITE, Operation.DESCRIBE),
}
_CONSUMER = {ResourceType.TOPIC: (Operation.READ, Operation.DESCRIBE), ResourceType.GROUP: (Operation.READ,)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Meant:
    """What the options of a command say."""

    topics: Sequence[str] = ()
    groups: Sequence[str] = ()
    transactional_ids: Sequence[str] = ()
    cluster: bool = False
    pattern: str = "literal"
    allowed: Sequence[str] = ()
    denied: Sequence[str] = ()
    hosts: Sequence[str] = ()
    operations: Sequence[str] = ()
    producer: bool = False
    consumer: bool = False

    def resources(self) -> list[Resource]:
        named = {
            ResourceType.TOPIC: self.topics,
            ResourceType.GROUP: self.groups,
            ResourceType.TRANSACTIONAL_ID: self.transactional_ids,
        }
        found = [Resource(kind, name) for kind, names in named.items() for name in names]
        return [*found, CLUSTER] if self.cluster else found


def rules_of(meant: Meant) -> list[Rule]:
    """The rules to make, or to remove."""
    who = _principals(meant)
    if not who:
        raise Rejected("say who: --allow-principal User:NAME or --deny-principal User:NAME; everybody is 'User:*'")
    hosts = meant.hosts or [ALL_HOSTS]
    pattern = word(PatternType, meant.pattern, "--resource-pattern-type", ("LITERAL", "PREFIXED"))
    made = [
        Rule(kind, name, _pattern_of(kind, pattern), principal, host, operation, permission)
        for (kind, name), operation in _done(meant)
        for (permission, principal), host in product(who, hosts)
    ]
    return sorted(set(made))


def filters_of(meant: Meant) -> list[RuleFilter]:
    """Which rules are meant: exactly those that `rules_of` would make, or, without anybody, all about the resources."""
    if meant.allowed or meant.denied or meant.producer or meant.consumer:
        return [_exactly(rule) for rule in rules_of(meant)]
    kinds = ("LITERAL", "PREFIXED", "ANY", "MATCH")
    pattern = word(PatternType, meant.pattern, "--resource-pattern-type", kinds)
    operations = [word(Operation, each, "--operation") for each in meant.operations] or [Operation.ANY]
    hosts: Sequence[str | None] = meant.hosts or [None]
    return [
        RuleFilter(kind, name, _pattern_of(kind, pattern), None, host, operation)
        for (kind, name), host, operation in product(_resources(meant), hosts, operations)
    ]


def wanted_of(meant: Meant, principals: Sequence[str]) -> list[RuleFilter]:
    """What to list: of these resources and users, or of all."""
    pattern = word(PatternType, meant.pattern, "--resource-pattern-type", ("LITERAL", "PREFIXED", "ANY", "MATCH"))
    resources: Sequence[tuple[ResourceType, str | None]] = meant.resources() or [(ResourceType.ANY, None)]
    who: Sequence[str | None] = [str(Principal.parse(each)) for each in principals] or [None]
    return [
        RuleFilter(kind, name, pattern if name is not None else PatternType.ANY, principal)
        for (kind, name), principal in product(resources, who)
    ]


def facts_of(rules: Iterable[Rule]) -> list[dict[str, Any]]:
    names = ("resource", "name", "pattern", "principal", "host", "operation", "permission")
    return [dict(zip(names, rule.to_row(), strict=True)) for rule in rules]


def word(kind: type[E], text: str, option: str, allowed: Sequence[str] = ()) -> E:
    """One of Kafka's words, whatever its case: `Describe`, `describe-configs`, `DescribeConfigs`."""
    known = [each for each in kind if (each.name in allowed if allowed else each.name != "ANY")]
    names = {each.name.replace("_", ""): each for each in known}
    found = names.get(text.upper().replace("_", "").replace("-", ""))
    if found is None:
        words = [each.name.lower() for each in known]
        raise Rejected(f"{option} {text} is none of {', '.join(words)}{nearest(text, words)}")
    return found


def _principals(meant: Meant) -> list[tuple[Permission, Principal]]:
    allowed = [(Permission.ALLOW, Principal.parse(each)) for each in meant.allowed]
    return allowed + [(Permission.DENY, Principal.parse(each)) for each in meant.denied]


def _resources(meant: Meant) -> list[Resource]:
    found = meant.resources()
    if not found:
        raise Rejected("say what it is about: --topic, --group, --transactional-id or --cluster; all topics are '*'")
    return found


def _done(meant: Meant) -> list[tuple[Resource, Operation]]:
    """Each resource with each thing that is done to it."""
    resources = _resources(meant)
    if (meant.producer or meant.consumer) and meant.operations:
        raise Rejected("--producer and --consumer say what is done: leave out --operation")
    if meant.consumer and not (meant.topics and meant.groups):
        raise Rejected("a consumer needs --topic and --group")
    if meant.producer and not meant.topics:
        raise Rejected("a producer needs --topic")
    roles = [role for is_meant, role in ((meant.producer, _PRODUCER), (meant.consumer, _CONSUMER)) if is_meant]
    if roles:
        return [(each, one) for each in resources for role in roles for one in role.get(each.kind, ())]
    operations = [word(Operation, each, "--operation") for each in meant.operations] or [Operation.ALL]
    for each, operation in product(resources, operations):
        if operation not in (Operation.ALL, *SUPPORTED[each.kind]):
            able = ", ".join(one.name.lower() for one in SUPPORTED[each.kind])
            raise Rejected(f"nobody can {operation.name.lower()} a {each.kind.name.lower()}: there are {able}")
    return list(product(resources, operations))


def _pattern_of(kind: ResourceType, pattern: PatternType) -> PatternType:
    """The cluster has one name."""
    return PatternType.LITERAL if kind is ResourceType.CLUSTER else pattern


def _exactly(rule: Rule) -> RuleFilter:
    who = str(rule.principal)
    return RuleFilter(rule.kind, rule.name, rule.pattern, who, rule.host, rule.operation, rule.permission)
