"""`may` against a model that looks at all rules, one by one, as Kafka's StandardAuthorizer reads."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from holdfast.security.principal import Principal, Session
from holdfast.security.rules import (
    CLUSTER,
    SUPPORTED,
    BadRule,
    Operation,
    PatternType,
    Permission,
    Resource,
    ResourceType,
    Rule,
    RuleFilter,
    Rules,
    authorized_operations,
    may,
    may_any,
)

ALICE = Session(Principal("alice"), "10.0.0.1", "SASL")
NAMES = ["a", "ab", "abc", "b", "*", "hardcode", "hard"]
HOSTS = ["*", "10.0.0.1", "10.0.0.2", "::1"]
USERS = ["alice", "bob", "*", "Alice"]
KINDS = [ResourceType.TOPIC, ResourceType.GROUP]
OPERATIONS = [each for each in Operation if each is not Operation.ANY]
ASKED = [each for each in OPERATIONS if each is not Operation.ALL]

RULES = st.builds(
    Rule,
    kind=st.sampled_from(KINDS),
    name=st.sampled_from(NAMES),
    pattern=st.sampled_from([PatternType.LITERAL, PatternType.PREFIXED]),
    principal=st.sampled_from(USERS).map(Principal),
    host=st.sampled_from(HOSTS),
    operation=st.sampled_from(OPERATIONS),
    permission=st.sampled_from([Permission.ALLOW, Permission.ALLOW, Permission.DENY]),
)
SESSIONS = st.builds(
    Session,
    principal=st.sampled_from(["alice", "bob", "root", "*"]).map(Principal),
    host=st.sampled_from(["10.0.0.1", "10.0.0.2", "::1"]),
    listener=st.just("SASL"),
)


def _rule(text: str) -> Rule:
    """`allow alice READ TOPIC:orders`, a prefix with a `+` behind it."""
    permission, user, operation, resource = text.split()
    kind, _, name = resource.partition(":")
    return Rule(
        ResourceType[kind],
        name.removesuffix("+"),
        PatternType.PREFIXED if name.endswith("+") else PatternType.LITERAL,
        Principal(user),
        "*",
        Operation[operation],
        Permission[permission.upper()],
    )


def _result(rule: Rule, session: Session, operation: Operation, resource: Resource) -> str:
    """StandardAuthorizerData.findResult: what one rule says."""
    if rule.principal not in (session.principal, Principal("*")):
        return ""
    if rule.host not in (session.host, "*"):
        return ""
    if rule.operation is not Operation.ALL:
        implying = {operation}
        if rule.permission is Permission.ALLOW and operation is Operation.DESCRIBE:
            implying |= {Operation.READ, Operation.WRITE, Operation.DELETE, Operation.ALTER}
        if rule.permission is Permission.ALLOW and operation is Operation.DESCRIBE_CONFIGS:
            implying |= {Operation.ALTER_CONFIGS}
        if rule.operation not in implying:
            return ""
    return rule.permission.name


def _is_about(rule: Rule, resource: Resource) -> bool:
    if rule.kind is not resource.kind:
        return False
    if rule.pattern is PatternType.PREFIXED:
        return resource.name.startswith(rule.name)
    return rule.name in (resource.name, "*")


def _model(
    rules: list[Rule], super_users: set[str], is_open: bool, session: Session, operation: Operation, resource: Resource
) -> bool:
    if session.principal.name in super_users:
        return True
    about = [rule for rule in rules if _is_about(rule, resource)]
    results = {_result(rule, session, operation, resource) for rule in about}
    if "DENY" in results:
        return False
    if "ALLOW" in results:
        return True
    return is_open and not about


@settings(max_examples=100, deadline=None)
@given(
    st.lists(RULES, max_size=12),
    st.booleans(),
    SESSIONS,
    st.sampled_from(ASKED),
    st.sampled_from(KINDS),
    st.sampled_from(["a", "ab", "abc", "abcd", "b", "*", "*x", "c"]),
)
def test_may_says_what_the_model_says(
    rules: list[Rule], is_open: bool, session: Session, operation: Operation, kind: ResourceType, name: str
) -> None:
    """X7: literal, prefixed, all; hosts; deny over allow; implied operations; super users; default deny."""
    made = Rules(rules, [Principal("root")], is_open=is_open)
    resource = Resource(kind, name)
    assert may(made, session, operation, resource) == _model(rules, {"root"}, is_open, session, operation, resource)


def _model_any(
    rules: list[Rule], super_users: set[str], is_open: bool, session: Session, operation: Operation, kind: ResourceType
) -> bool:
    """Authorizer.authorizeByResourceType, as Kafka has it."""
    if _model(rules, super_users, is_open, session, operation, Resource(kind, "hardcode")):
        return True
    meant = [
        rule
        for rule in rules
        if rule.kind is kind
        and rule.host in (session.host, "*")
        and rule.principal in (session.principal, Principal("*"))
        and rule.operation in (operation, Operation.ALL)
    ]
    literal, prefixed = PatternType.LITERAL, PatternType.PREFIXED
    denied = {(rule.pattern, rule.name) for rule in meant if rule.permission is Permission.DENY}
    allowed = {(rule.pattern, rule.name) for rule in meant if rule.permission is Permission.ALLOW}
    if (literal, "*") in denied:
        return False
    if (literal, "*") in allowed:
        return True
    for pattern, name in allowed:
        if pattern is literal and (literal, name) in denied:
            continue
        if not any((prefixed, name[: end + 1]) in denied for end in range(len(name))):
            return True
    return False


@settings(max_examples=100, deadline=None)
@given(st.lists(RULES, max_size=10), st.booleans(), SESSIONS, st.sampled_from(ASKED), st.sampled_from(KINDS))
@example([_rule("deny * WRITE TOPIC:*")], True, ALICE, Operation.WRITE, ResourceType.TOPIC)
@example(
    [_rule("allow alice WRITE TOPIC:abc"), _rule("deny alice WRITE TOPIC:a+")],
    False,
    ALICE,
    Operation.WRITE,
    ResourceType.TOPIC,
)
def test_any_resource_of_a_type_says_what_kafka_says(
    rules: list[Rule], is_open: bool, session: Session, operation: Operation, kind: ResourceType
) -> None:
    """X7: what an idempotent producer needs: Write on any topic, also one that does not exist yet."""
    made = Rules(rules, [Principal("root")], is_open=is_open)
    assert may_any(made, session, operation, kind) == _model_any(rules, {"root"}, is_open, session, operation, kind)


@settings(deadline=None)
@given(st.lists(RULES, max_size=8), SESSIONS, st.sampled_from(["a", "abc"]))
def test_authorized_operations_are_those_that_may_be_done(rules: list[Rule], session: Session, name: str) -> None:
    """X8: as Kafka's bits, of what can be done to the resource at all."""
    made = Rules(rules)
    for kind in KINDS:
        bits = authorized_operations(made, session, Resource(kind, name))
        for each in Operation:
            is_shown = each in SUPPORTED[kind] and may(made, session, each, Resource(kind, name))
            assert bool(bits >> each & 1) == is_shown
    assert authorized_operations(Rules((), [session.principal]), session, CLUSTER) == 0b1111110100000 & ~(1 << 6)


@settings(deadline=None)
@given(
    st.permutations([_rule("allow alice ALL TOPIC:a"), _rule("deny * READ TOPIC:*"), _rule("allow * READ TOPIC:a+")])
)
def test_a_deny_wins_wherever_it_stands(rules: list[Rule]) -> None:
    """X7: and it implies nothing: who may not read may still describe."""
    made = Rules(rules)
    assert not may(made, ALICE, Operation.READ, Resource(ResourceType.TOPIC, "a"))
    assert may(made, ALICE, Operation.DESCRIBE, Resource(ResourceType.TOPIC, "a"))


def test_a_verdict_names_its_rule() -> None:
    """X10: what the audit line says."""
    made = Rules([_rule("allow alice READ TOPIC:or+"), _rule("deny alice WRITE TOPIC:orders")], [Principal("root")])
    orders = Resource(ResourceType.TOPIC, "orders")
    said = [made.judge(ALICE, each, orders) for each in (Operation.READ, Operation.WRITE, Operation.ALTER)]
    assert [each.is_allowed for each in said] == [True, False, False]
    assert [str(each.by) for each in said] == [
        "ALLOW User:alice READ TOPIC:PREFIXED:or from *",
        "DENY User:alice WRITE TOPIC:LITERAL:orders from *",
        "no rule allows it",
    ]
    assert made.judge(replace(ALICE, principal=Principal("root")), Operation.WRITE, orders).by == "super user"


def test_a_host_is_an_address_in_any_of_its_forms() -> None:
    """X7: a rule for Java's 0:0:0:0:0:0:0:1 is one for ::1."""
    rule = replace(_rule("allow alice READ TOPIC:a"), host="0:0:0:0:0:0:0:1")
    resource = Resource(ResourceType.TOPIC, "a")
    assert may(Rules([rule]), replace(ALICE, host="::1"), Operation.READ, resource)
    assert not may(Rules([rule]), ALICE, Operation.READ, resource)


@settings(deadline=None)
@given(RULES)
def test_a_rule_is_read_back(rule: Rule) -> None:
    """X7: as a row of the log of users and rules."""
    assert Rule.from_row(rule.to_row()) == rule


@pytest.mark.parametrize(
    "change",
    [
        {"kind": ResourceType.ANY},
        {"pattern": PatternType.MATCH},
        {"pattern": PatternType.ANY},
        {"operation": Operation.ANY},
        {"permission": Permission.ANY},
        {"name": ""},
        {"host": ""},
        {"kind": ResourceType.CLUSTER},
    ],
)
def test_a_rule_that_says_nothing_is_refused(change: dict[str, object]) -> None:
    """X7: ANY and MATCH are for filters; the cluster has one name."""
    with pytest.raises(BadRule):
        replace(_rule("allow alice READ TOPIC:a"), **change)  # type: ignore[arg-type]


def _model_matches(asked: RuleFilter, rule: Rule) -> bool:
    """ResourcePatternFilter.matches and AccessControlEntryFilter.matches."""
    if asked.kind is not ResourceType.ANY and asked.kind is not rule.kind:
        return False
    if asked.pattern not in (PatternType.ANY, PatternType.MATCH) and asked.pattern is not rule.pattern:
        return False
    if asked.name is not None:
        if asked.pattern is PatternType.ANY or asked.pattern is rule.pattern:
            if asked.name != rule.name:
                return False
        elif rule.pattern is PatternType.LITERAL:
            if asked.name != rule.name and rule.name != "*":
                return False
        elif not asked.name.startswith(rule.name):
            return False
    if asked.principal is not None and asked.principal != f"User:{rule.principal.name}":
        return False
    if asked.host is not None and asked.host != rule.host:
        return False
    if asked.operation is not Operation.ANY and asked.operation is not rule.operation:
        return False
    return asked.permission is Permission.ANY or asked.permission is rule.permission


FILTERS = st.builds(
    RuleFilter,
    kind=st.sampled_from([ResourceType.ANY, *KINDS]),
    name=st.none() | st.sampled_from(NAMES),
    pattern=st.sampled_from(PatternType),
    principal=st.none() | st.sampled_from(["User:alice", "User:*"]),
    host=st.none() | st.sampled_from(HOSTS),
    operation=st.sampled_from([Operation.ANY, Operation.ANY, Operation.READ, Operation.ALL]),
    permission=st.sampled_from(Permission),
)


@settings(max_examples=100, deadline=None)
@given(FILTERS, RULES)
def test_a_filter_matches_what_kafka_matches(asked: RuleFilter, rule: Rule) -> None:
    """X7: what kafka-acls --list and --remove mean, also with MATCH and ANY."""
    assert asked.matches(rule) == _model_matches(asked, rule)


def test_a_thousand_rules_of_others_cost_a_question_nothing() -> None:
    """X12: it is a look-up: the entries it looks at are those of the principal and of everybody. The test of X12."""
    rules = [_rule(f"allow user{at} READ TOPIC:a") for at in range(1000)]
    made = Rules([*rules, _rule("allow alice READ TOPIC:a")])
    looked = [entry for found in made._tables[ResourceType.TOPIC].about("a") for entry in found.get("alice", ())]
    assert len(looked) == 1
    assert may(made, ALICE, Operation.READ, Resource(ResourceType.TOPIC, "a"))
