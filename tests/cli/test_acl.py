"""`holdfast acl`: who may what, through a broker, in Kafka's words."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from click.testing import Result
from tests.support.guarded import Guarded
from typer.testing import CliRunner

from holdfast.cli.acl.work import Meant, rules_of
from holdfast.cli.main import app
from holdfast.errors import Rejected
from holdfast.security.rules import PatternType

COLUMNS = ["resource", "name", "pattern", "principal", "host", "operation", "permission"]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    made = Guarded(tmp_path_factory.mktemp("acl"))
    with made.process:
        yield made


def acl(place: Guarded, *arguments: str, code: int = 0) -> Result:
    done = CliRunner().invoke(app, ["acl", *arguments, "--bootstrap", f"127.0.0.1:{place.plain}"])
    assert done.exit_code == code, done.output
    return done


def rows(place: Guarded, *arguments: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in acl(place, *arguments, "--json").stdout.splitlines()]


def test_rules_are_made_listed_and_taken_back(place: Guarded) -> None:
    """X7, X11: for a producer, a consumer, a prefix and a denial; a table for people, JSON for programs."""
    acl(place, "add", "--allow-principal", "User:a", "--producer", "--topic", "orders")
    made = acl(place, "add", "--allow-principal", "User:b", "--consumer", "--topic", "orders", "--group", "billing")
    assert "GROUP" in made.stdout
    assert made.stdout.splitlines()[0].split() == COLUMNS
    prefixed = ["--topic", "logs-", "--resource-pattern-type", "prefixed", "--operation", "describe-configs"]
    [one] = rows(place, "add", "--deny-principal", "User:*", "--host", "10.0.0.7", *prefixed)
    assert one == {
        "resource": "TOPIC",
        "name": "logs-",
        "pattern": "PREFIXED",
        "principal": "User:*",
        "host": "10.0.0.7",
        "operation": "DESCRIBE_CONFIGS",
        "permission": "DENY",
    }
    assert {each["operation"] for each in rows(place, "list", "--principal", "User:a")} == {
        "WRITE",
        "DESCRIBE",
        "CREATE",
    }
    assert len(rows(place, "list", "--topic", "orders")) == 5
    assert rows(place, "list", "--topic", "logs-today", "--resource-pattern-type", "match") == [one]
    assert len([each for each in rows(place, "list") if each["principal"] != "User:keeper"]) == 7
    gone = rows(place, "remove", "--allow-principal", "User:a", "--producer", "--topic", "orders", "--yes")
    assert {each["principal"] for each in gone} == {"User:a"}
    assert len(rows(place, "remove", "--topic", "orders", "--yes")) == 2
    assert [each["resource"] for each in rows(place, "list") if each["name"] != "kept"] == ["TOPIC", "GROUP"]
    assert "no rule matches" in acl(place, "remove", "--topic", "orders", "--yes", code=1).output


def test_what_cannot_be_meant_is_said(place: Guarded) -> None:
    """X11: in one sentence, before a broker is asked; what is there is removed only when that was said."""
    acl(place, "add", "--allow-principal", "User:keeper", "--group", "kept")
    for arguments, told in (
        (["add", "--topic", "t"], "say who"),
        (["add", "--allow-principal", "User:a"], "say what it is about"),
        (["add", "--allow-principal", "a", "--topic", "t"], "write User:NAME"),
        (["add", "--allow-principal", "User:a", "--topic", "t", "--operation", "reed"], "did you mean read?"),
        (["add", "--allow-principal", "User:a", "--group", "g", "--operation", "write"], "nobody can write a group"),
        (["add", "--allow-principal", "User:a", "--consumer", "--topic", "t"], "a consumer needs --topic and --group"),
        (["add", "--allow-principal", "User:a", "--producer", "--group", "t"], "a producer needs --topic"),
        (["add", "--allow-principal", "User:a", "--topic", "t", "--resource-pattern-type", "match"], "none of literal"),
        (["remove"], "say what it is about"),
        (["remove", "--group", "kept"], "Say so with --yes"),
    ):
        assert told in acl(place, *arguments, code=1).output


def test_the_cluster_is_named_literally() -> None:
    """X11: whatever the pattern of topics beside it is."""
    meant = Meant(topics=["t"], cluster=True, pattern="prefixed", allowed=["User:a"], operations=["create"])
    assert {rule.pattern for rule in rules_of(meant)} == {PatternType.PREFIXED, PatternType.LITERAL}
    with pytest.raises(Rejected):
        rules_of(Meant(cluster=True, allowed=["User:a"], operations=["read"]))
