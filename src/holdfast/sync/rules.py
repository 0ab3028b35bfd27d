"""Rules (ACLs) that name a topic that is copied, followed as its configs are: what is added or removed at the source.

A rule is carried as one more thing that is set for its topic, so that what was seen of them is saved with the configs.
When they are looked at for the first time, the target gets those that it lacks, and loses none.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Iterable, Mapping

from holdfast.client import Client
from holdfast.security.principal import Principal
from holdfast.security.rules import Operation, PatternType, Permission, ResourceType, Rule, RuleFilter
from holdfast.sync.sides import Side

log = logging.getLogger(__name__)

PREFIX = "acl "
_LOOKED = PREFIX + "all"  # Set for a topic whose rules were looked at, also where it has none.


def rules_of(client: Client, topics: Collection[str]) -> dict[str, dict[str, str]]:
    """What is to be set for each topic by its rules. Only those that name it: others are about more than it."""
    found = {name: {_LOOKED: ""} for name in topics}
    for rule in client.rules(RuleFilter(kind=ResourceType.TOPIC, pattern=PatternType.LITERAL)):
        if rule.name in found:
            found[rule.name][_text(rule)] = ""
    return found


def rules_in(seen: Mapping[str, str]) -> dict[str, str]:
    """The rules among what was seen of a topic."""
    return {name: text for name, text in seen.items() if name.startswith(PREFIX)}


def carry_rules(
    topic: str, before: Mapping[str, str], now: Mapping[str, str], side: Side, target: Client
) -> tuple[list[str], list[str]]:
    """Add and remove at the target what was added and removed at the source: what that was."""
    had, has = _rules(topic, before), _rules(topic, now)
    there = set(target.rules(RuleFilter(kind=ResourceType.TOPIC, name=topic, pattern=PatternType.LITERAL)))
    added, removed = sorted(has - had - there), sorted((had - has) & there)
    if added:
        target.add_rules(added)
    if removed:
        target.remove_rules(map(_just, removed))
    if added or removed:
        told = topic, side.address, len(added), len(removed)
        log.info("topic %s at %s follows its source's rules: %d added, %d removed", *told)
    return [_text(each) for each in added], [_text(each) for each in removed]


def _just(rule: Rule) -> RuleFilter:
    """This one, and no other."""
    return RuleFilter(
        rule.kind, rule.name, rule.pattern, str(rule.principal), rule.host, rule.operation, rule.permission
    )


def _text(rule: Rule) -> str:
    return PREFIX + json.dumps([str(rule.principal), rule.host, rule.operation.name, rule.permission.name])


def _rules(topic: str, texts: Iterable[str]) -> set[Rule]:
    return {_rule(topic, each) for each in texts if each.startswith(PREFIX) and each != _LOOKED}


def _rule(topic: str, text: str) -> Rule:
    principal, host, operation, permission = json.loads(text.removeprefix(PREFIX))
    return Rule(
        ResourceType.TOPIC,
        topic,
        PatternType.LITERAL,
        Principal.parse(principal),
        host,
        Operation[operation],
        Permission[permission],
    )
