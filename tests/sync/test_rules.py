"""Rules (ACLs) that name a topic are followed, where that is asked for."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
from tests.support.guarded import Guarded
from tests.sync.process import Live
from tests.sync.test_refused import wait_until

from holdfast.client import Client
from holdfast.client.errors import Refused
from holdfast.security.principal import Principal
from holdfast.security.rules import Operation, PatternType, Permission, ResourceType, Rule, RuleFilter
from holdfast.sync.run import Sync
from holdfast.sync.settings import SyncSettings
from holdfast.testing import running_broker

_numbers = itertools.count()


class Ends:
    """Two brokers with an authorizer, and a client of each that may do everything."""

    def __init__(self, a: Guarded, b: Guarded) -> None:
        self.addresses = tuple(f"127.0.0.1:{each.plain}" for each in (a, b))
        self.at_a, self.at_b = (Client(each, "test") for each in self.addresses)

    def sync(
        self, topic: str, *, acls: bool = True, configs: bool = True, once: bool = True, both: bool = False
    ) -> Sync:
        settings = SyncSettings(patterns=(topic,), refresh_s=0.1, acls=acls, configs=configs, once=once, both=both)
        return Sync(self.addresses[0], self.addresses[1], settings)


@pytest.fixture(scope="module")
def ends(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ends]:
    a, b = (Guarded(tmp_path_factory.mktemp(name)) for name in "ab")
    with a.process, b.process:
        found = Ends(a, b)
        with found.at_a, found.at_b:
            yield found


@pytest.fixture
def topic() -> str:
    return f"ruled-{next(_numbers)}"


def allow(topic: str, user: str, operation: Operation = Operation.READ, **more: PatternType) -> Rule:
    pattern = more.get("pattern", PatternType.LITERAL)
    return Rule(ResourceType.TOPIC, topic, pattern, Principal(user), "*", operation, Permission.ALLOW)


def rules(client: Client, topic: str) -> set[Rule]:
    return set(client.rules(RuleFilter(kind=ResourceType.TOPIC, name=topic, pattern=PatternType.LITERAL)))


def test_what_is_added_and_removed_is_followed_and_choices_stay(ends: Ends, topic: str) -> None:
    """S8, X7: those that name the topic; what only the target has stays, and so does what is said of all topics."""
    ends.at_a.create_topics({topic: 1})
    first, second, own = (allow(topic, user) for user in ("first", "second", "own"))
    ends.at_a.add_rules([first, allow(topic[:4], "prefixed", pattern=PatternType.PREFIXED), allow("*", "all")])
    live = Live(ends.sync(topic, once=False))
    try:
        wait_until(lambda: rules(ends.at_b, topic) == {first})
        ends.at_b.add_rules([own])
        ends.at_a.add_rules([second])
        ends.at_a.remove_rules([RuleFilter(ResourceType.TOPIC, topic, PatternType.LITERAL, "User:first")])
        wait_until(lambda: rules(ends.at_b, topic) == {own, second})
    finally:
        live.stop()
    assert not ends.at_b.rules(RuleFilter(principal="User:prefixed"))
    assert not ends.at_b.rules(RuleFilter(principal="User:all"))


def test_a_change_while_no_sync_ran(ends: Ends, topic: str) -> None:
    """S8: what was seen is saved in the target; a sync that does not look at rules in between forgets nothing."""
    ends.at_a.create_topics({topic: 1})
    first, second = (allow(topic, user, Operation.WRITE) for user in ("first", "second"))
    ends.at_a.add_rules([first])
    ends.sync(topic).run()
    assert rules(ends.at_b, topic) == {first}
    ends.at_a.add_rules([second])
    ends.at_a.remove_rules([RuleFilter(ResourceType.TOPIC, topic, PatternType.LITERAL, "User:first")])
    ends.sync(topic, acls=False).run()
    assert rules(ends.at_b, topic) == {first}
    ends.sync(topic).run()
    assert rules(ends.at_b, topic) == {second}


def test_configs_that_were_not_followed_are_no_change_later(ends: Ends, topic: str) -> None:
    """S8: a sync of rules alone looks at configs once: what was chosen for the target stays when they are followed."""
    ends.at_a.create_topics({topic: 1}, {"retention.ms": "111111"})
    ends.at_a.add_rules([allow(topic, "first")])
    ends.sync(topic, configs=False).run()
    ends.at_b.alter_configs(topic, [("retention.ms", "222222")])
    ends.sync(topic).run()
    assert ends.at_b.own_configs(topic) == {"retention.ms": "222222"}


def test_both_ways_a_change_comes_to_rest(ends: Ends, topic: str) -> None:
    """S8: each side gets what it lacks, and what is removed at one stays removed."""
    for client, user in ((ends.at_a, "at-a"), (ends.at_b, "at-b")):
        client.create_topics({topic: 1})
        client.add_rules([allow(topic, user)])
    live = Live(ends.sync(topic, once=False, both=True))
    try:
        wait_until(
            lambda: rules(ends.at_a, topic) == rules(ends.at_b, topic) == {allow(topic, "at-a"), allow(topic, "at-b")}
        )
        ends.at_b.remove_rules([RuleFilter(ResourceType.TOPIC, topic, PatternType.LITERAL, "User:at-a")])
        wait_until(lambda: rules(ends.at_a, topic) == rules(ends.at_b, topic) == {allow(topic, "at-b")})
    finally:
        live.stop()
    assert rules(ends.at_a, topic) == rules(ends.at_b, topic) == {allow(topic, "at-b")}


def test_without_an_authorizer_it_is_said(ends: Ends, topic: str) -> None:
    """S8: who asks for rules to be followed is told that there are none, at once."""
    ends.at_a.create_topics({topic: 1})
    with running_broker() as bare:
        settings = SyncSettings(patterns=(topic,), once=True, acls=True, give_up_s=20)
        with pytest.raises(Refused, match="authorizer"):
            Sync(ends.addresses[0], bare.bootstrap, settings).run()
