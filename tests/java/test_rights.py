"""Rights as Apache Kafka has them: asked the same by the same users, it refuses with the same codes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.broker.test_every_api import TOPIC, codes
from tests.broker.test_rights import ASKED, REFUSALS, asked
from tests.broker.wire import Wire, create_topic, wait_for
from tests.java.jvm import run_process
from tests.support.guarded import PASSWORD, Guarded, GuardedKafka, GuardedPorts, rule

from holdfast.broker.guard.rights import RIGHTS, Right
from holdfast.protocol.api import APIS, Key
from holdfast.security.rules import Permission

ACLS = "org.apache.kafka.tools.AclCommand"
LOGINS = {Key.SASL_HANDSHAKE, Key.SASL_AUTHENTICATE}
SLOW = {Key.DESCRIBE_SHARE_GROUP_OFFSETS, Key.ALTER_SHARE_GROUP_OFFSETS}  # Kafka makes a topic first.


@pytest.fixture(scope="module")
def ours(needs_java: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    guarded = Guarded(tmp_path_factory.mktemp("ours"))
    with guarded.process:
        yield guarded


def newest(place: GuardedPorts) -> dict[int, int]:
    answer = place.ask(Key.API_VERSIONS, 3, client_software_name="t", client_software_version="1")
    return {each.api_key: each.max_version for each in answer.api_keys}


def commits(wire: Wire) -> bool:
    """Whether a group can be made; Kafka makes a topic first."""
    wire.ask(Key.FIND_COORDINATOR, 4, key_type=0, coordinator_keys=["every"])
    rows = [{"name": TOPIC, "partitions": [{"partition_index": 0, "committed_offset": 0}]}]
    answer = wire.ask(Key.OFFSET_COMMIT, 8, group_id="every", generation_id_or_member_epoch=-1, topics=rows)
    return not answer.topics[0].partitions[0].error_code


def refusals(place: GuardedPorts, user: str, key: Key, version: int, topic_id: Any) -> set[int]:
    with place.wire(user) as wire:
        return REFUSALS & {int(code) for code in codes(asked(wire, key, version, topic_id))}


@pytest.mark.long
def test_what_kafka_refuses_is_refused_with_the_same_codes(ours: Guarded, tmp_path: Path) -> None:
    """X7, X8: without rights; with those of an API's row; and with all of them but one. The test of X7."""
    theirs = GuardedKafka(tmp_path)
    cases: list[tuple[Key, Right | None, bool]] = [(key, None, has_all) for key in RIGHTS for has_all in (False, True)]
    cases += [(key, right, True) for key, right in ASKED]
    with theirs.process:
        found: list[dict[str, set[int]]] = []
        common = {key: min(version, newest(ours).get(key, -1)) for key, version in newest(theirs).items()}
        for place in (ours, theirs):
            with Wire(place.plain) as wire:
                topic_id = create_topic(wire, TOPIC)
                wait_for(partial(commits, wire))
            asking = []
            for key, denied, has_all in cases:
                if key in LOGINS or common.get(key, -1) < 0 or (has_all and key in SLOW):
                    continue
                user = place.user()
                place.allow(user, *(RIGHTS[key].asked if has_all else ()))
                if denied is not None:
                    place.ask(Key.CREATE_ACLS, 3, creations=[rule(user, denied, permission=Permission.DENY)])
                name = f"{APIS[key].name} without {denied or ('' if has_all else 'any')}"
                asking.append((name, user, key))
            last = place.user()
            place.allow(last, *RIGHTS[Key.METADATA].asked)  # Kafka answers before its rules count: when these do,
            while refusals(place, last, Key.METADATA, 12, topic_id):  # so do all before them.
                time.sleep(0.1)
            found.append({name: refusals(place, user, key, common[key], topic_id) for name, user, key in asking})
    assert {name: codes for name, codes in found[0].items() if codes != found[1][name]} == {}


@pytest.mark.usefixtures("needs_java")
def test_rules_are_made_shown_and_taken_back_by_kafkas_own_tool(ours: Guarded, tmp_path: Path) -> None:
    """X7: kafka-acls, unmodified: what it calls a producer and a consumer may do what they need, and no more."""
    given = ("--bootstrap-server", f"127.0.0.1:{ours.plain}")
    producer, consumer = ours.user(), ours.user()
    with Wire(ours.plain) as root:
        create_topic(root, "tooled")
    made = run_process(
        ACLS, *given, "--add", "--allow-principal", f"User:{producer}", "--producer", "--topic", "tooled"
    )
    assert made.returncode == 0, made.stdout + made.stderr
    made = run_process(
        ACLS, *given, "--add", "--allow-principal", f"User:{consumer}", "--consumer", "--topic", "tool",
        "--resource-pattern-type", "prefixed", "--group", "*",
    )  # fmt: skip
    assert made.returncode == 0, made.stdout + made.stderr
    shown = run_process(ACLS, *given, "--list", "--topic", "tooled", "--resource-pattern-type", "match")
    assert f"principal=User:{producer}, host=*, operation=WRITE, permissionType=ALLOW" in shown.stdout
    assert "resourceType=TOPIC, name=tool, patternType=PREFIXED" in shown.stdout
    config = tmp_path / "client.properties"
    module = "org.apache.kafka.common.security.plain.PlainLoginModule"
    config.write_text(
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n"
        f'sasl.jaas.config={module} required username="{producer}" password="{PASSWORD}";\n'
    )
    mine = ("--bootstrap-server", f"127.0.0.1:{ours.sasl}", "--command-config", str(config))
    refused = run_process(ACLS, *mine, "--list")
    assert "ClusterAuthorizationException" in refused.stdout + refused.stderr
    gone = run_process(ACLS, *given, "--remove", "--force", "--topic", "tooled")
    assert gone.returncode == 0, gone.stdout + gone.stderr
    left = run_process(ACLS, *given, "--list", "--principal", f"User:{producer}")
    assert "TOPIC" not in left.stdout
