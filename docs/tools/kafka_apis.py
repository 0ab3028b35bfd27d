"""Writes docs/reference/kafka-apis.md from the broker's tables: `make docs`. With --check it only compares."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from kafka_differences import DIFFERENCES, OF_KAFKA_ONLY
from publish import publish

from holdfast.broker.api.features import FEATURES
from holdfast.broker.configs.broker import MEANINGS
from holdfast.broker.configs.dynamic import BROKER_CONFIGS
from holdfast.broker.configs.group import group_configs
from holdfast.broker.configs.kafka import FOREIGN
from holdfast.broker.configs.topic import TOPIC_CONFIGS
from holdfast.broker.guard.rights import RIGHTS
from holdfast.broker.settings import BrokerSettings
from holdfast.broker.table import advertised
from holdfast.protocol.api import APIS, Key
from holdfast.protocol.codes import Code

PAGE = Path(__file__).parents[1] / "reference" / "kafka-apis.md"
BROKER = Path(__file__).parents[2] / "src" / "holdfast" / "broker"
NOTICE = "<!-- Written by docs/tools/kafka_apis.py from the code. Do not edit: change the code, then `make docs`. -->"

REMARKS = {
    Key.PRODUCE: "versions below {min_version} are listed, since some clients look for them, and refused when used",
    Key.DESCRIBE_ACLS: "with `authorizer.class.name`; else answered: security is disabled",
    Key.CREATE_ACLS: "with `authorizer.class.name`; else answered: security is disabled",
    Key.DELETE_ACLS: "with `authorizer.class.name`; else answered: security is disabled",
    Key.ALTER_CONFIGS: "topics, groups, and of brokers the defaults of topics",
    Key.INCREMENTAL_ALTER_CONFIGS: "topics, groups, and of brokers the defaults of topics",
    Key.DESCRIBE_CONFIGS: "topics, groups and brokers",
    Key.ALTER_REPLICA_LOG_DIRS: "to where a partition is already; there is one directory, or one store",
    Key.SASL_HANDSHAKE: "on a listener with SASL; others answer ILLEGAL_SASL_STATE",
    Key.SASL_AUTHENTICATE: "on a listener with SASL; others answer ILLEGAL_SASL_STATE",
    Key.CREATE_DELEGATION_TOKEN: "refused: there are no such tokens",
    Key.RENEW_DELEGATION_TOKEN: "refused: there are no such tokens",
    Key.EXPIRE_DELEGATION_TOKEN: "refused: there are no such tokens",
    Key.DESCRIBE_DELEGATION_TOKEN: "refused: there are no such tokens",
    Key.DESCRIBE_QUORUM: "one voter: this broker",
    Key.UNREGISTER_BROKER: "refused: there is one broker",
    Key.GET_TELEMETRY_SUBSCRIPTIONS: "no metrics are asked of clients",
    Key.PUSH_TELEMETRY: "refused: nothing was asked for",
    Key.ADD_RAFT_VOTER: "refused: one voter",
    Key.REMOVE_RAFT_VOTER: "refused: one voter",
    Key.ELECT_LEADERS: "there is one broker: no election is ever needed",
    Key.ALTER_PARTITION_REASSIGNMENTS: "there is one broker: nothing moves",
    Key.LIST_PARTITION_REASSIGNMENTS: "there is one broker: nothing moves",
    Key.DESCRIBE_CLIENT_QUOTAS: "what was set is shown",
    Key.ALTER_CLIENT_QUOTAS: "of users, client ids and addresses; who has used theirs up waits",
    Key.UPDATE_FEATURES: "levels come with the release",
}


def lines() -> Iterator[str]:
    yield from [NOTICE, "# Kafka's APIs", ""]
    yield from ["What the broker tells clients that it can do, in its answer to ApiVersions.", ""]
    yield "The rights are asked where there is an authorizer; what each of them is asked for is in"
    yield from ["[who may what](../guides/security.md#who-may-what).", ""]
    yield from ["| number | API | versions | rights | remark |", "|---|---|---|---|---|"]
    rows = advertised()
    for row in rows:
        remark = REMARKS.get(row.key, "").format(min_version=row.min_version)
        asked = ", ".join(sorted(f"{each.operation.name} {each.kind.name}" for each in RIGHTS[row.key].asked))
        yield f"| {row.key:d} | {row.name} | {row.min_version} to {row.max_version} | {asked} | {remark} |"
    yield ""
    absent = [each.name for each in APIS.values() if each not in rows]
    if absent:
        yield from [f"Known, but not answered yet: {', '.join(absent)}.", ""]
    yield from differences({int(row.key) for row in rows})
    yield from features()
    yield from topic_configs()
    yield from dynamic_configs()
    yield from foreign_configs()
    yield from error_codes()


def differences(answered: set[int]) -> Iterator[str]:
    yield from ["## Where Apache Kafka 4.3 answers otherwise", ""]
    yield from ["| what | Apache Kafka | here | why |", "|---|---|---|---|"]
    yield from (f"| {' | '.join(row)} |" for row in DIFFERENCES)
    absent = [f"{name} ({key})" for key, name in OF_KAFKA_ONLY.items() if key not in answered]
    if absent:
        yield from ["", f"Not listed in ApiVersions, and so not used by clients: {', '.join(absent)}."]
    if 88 not in answered:
        yield "A Kafka Streams application with `group.protocol=streams` stops with UnsupportedVersionException; with"
        yield "`classic`, its default, it runs."
    yield ""


def dynamic_configs() -> Iterator[str]:
    yield from ["## Configs of brokers and groups that can be set while the broker runs", ""]
    brokers = ", ".join(f"`{name}`" for name in BROKER_CONFIGS)
    yield f"Of one broker, or of all (`--entity-default`): {brokers}."
    yield "Topics without a value of their own follow at once."
    groups = ", ".join(f"`{name}`" for name in group_configs(BrokerSettings()))
    yield from [f"Of a group: {groups}.", "They are kept in the cluster's metadata; everything else is refused.", ""]


def foreign_configs() -> Iterator[str]:
    yield from ["## Kafka's broker configs that are no settings here", ""]
    yield "DescribeConfigs of a broker lists every name that Kafka 4.3 has: the [settings](settings.md), the defaults"
    yield "of topics, and these. Some have a true value; others have none, and their documentation says why."
    yield from ["", "| configs | why |", "|---|---|"]
    for reason in dict.fromkeys(each.reason for each in FOREIGN.values()):
        rows = [each for each in FOREIGN.values() if each.reason == reason]
        names = ", ".join(f"`{each.name}`" + (f" = `{each.value}`" if each.value else "") for each in rows)
        yield f"| {names} | {reason} |"
    yield ""


def features() -> Iterator[str]:
    yield from ["## Features", "", "| feature | levels | level |", "|---|---|---|"]
    for name, feature in FEATURES.items():
        yield f"| `{name}` | {feature.lowest} to {feature.highest} | {feature.level} |"
    yield ""


def topic_configs() -> Iterator[str]:
    yield from ["## Topic configs", ""]
    yield "Every config does what Kafka says of it, or what it asks for is so in any case. Where only the default is"
    yield "taken, every other value is refused with a sentence, as is a config that nobody knows."
    yield from ["", "| config | default | effect |", "|---|---|---|"]
    for config in TOPIC_CONFIGS.values():
        of_broker = config.broker_name in MEANINGS
        default = f"the broker's `{config.broker_name}`" if of_broker else f"`{config.default}`"
        effect = f"only this: {config.effect}" if config.fixed else config.effect
        yield f"| `{config.name}` | {default if config.default else 'empty'} | {effect} |"
    yield ""
    defaults = BrokerSettings().topic_defaults()
    named = [
        f"`{each.broker_name}` `{defaults[each.name]}`" for each in TOPIC_CONFIGS.values() if each.name in defaults
    ]
    yield from [f"The broker's defaults: {', '.join(named)}.", ""]
    assert all(each.broker_name in MEANINGS for each in TOPIC_CONFIGS.values() if each.name in defaults)


def error_codes() -> Iterator[str]:
    yield from ["## Error codes", "", "Those that the broker sends.", "", "| number | code |", "|---|---|"]
    text = "".join(path.read_text() for path in BROKER.rglob("*.py"))
    sent = {Code[name] for name in re.findall(r"\bCode\.([A-Z_]+)", text)}
    yield from (f"| {code:d} | {code.name} |" for code in sorted(sent))


if __name__ == "__main__":
    publish(PAGE, "\n".join([*lines(), ""]))
